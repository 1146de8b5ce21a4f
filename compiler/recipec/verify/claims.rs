//! `recipec verify --claims`: what the cookbooks say, all of it.

use std::collections::BTreeMap;
use std::path::Path;
use std::rc::Rc;

use ::lock::Lock;
use ::verify::claims;
use ::verify::cookbook::Page;
use diag::slugs::host::CANNOT_READ;
use diag::slugs::verify::COOKBOOK_MATCH;
use diag::{Diagnostic, Diagnostics, SourceMap};
use host::files::Root;
use serde_json::{Map, Value as Json};

use super::{Library, ask, collect};
use crate::arguments::{Options, Verify};
use crate::corpus;
use crate::outcome::{Answer, Document, Failure, Outcome};
use crate::workspace::unreadable;

/// Most bytes of a page.
const LIMIT: u64 = 4 << 20;

/// Commands as pages show them, one line each.
struct Claims(Vec<Json>);

/// Lists what pages say.
pub(super) fn run(verb: &Verify, options: &Options) -> Outcome {
    if !verb.cookbook.is_empty() {
        let pages: Result<Vec<Vec<Rc<Page>>>, Diagnostic> =
            verb.cookbook.iter().map(|folder| read(folder)).collect();
        return match pages {
            Ok(pages) => said(&pages.concat(), Diagnostics::new(), SourceMap::new()),
            Err(finding) => Outcome::refusal("verify", finding),
        };
    }
    corpus::with("verify", &verb.recipes, options, |mut loaded| {
        let mut locks: BTreeMap<String, Lock> = BTreeMap::new();
        for recipe in &loaded.corpus.recipes {
            match loaded.lock(recipe) {
                Ok(found) => locks
                    .extend(found.and_then(|found| found.lock).map(|lock| (recipe.key.value.clone(), lock))),
                Err(finding) => loaded.findings.push(finding),
            }
        }
        let answers = ask(verb, locks.values());
        let (mut library, mut pages) = (Library::new(), BTreeMap::new());
        for lock in locks.values() {
            for page in collect(Some(lock), &answers, &mut library).0.pages {
                pages.insert([page.repository.clone(), page.commit.clone(), page.path.clone()], page);
            }
        }
        let pages: Vec<Rc<Page>> = pages.into_values().collect();
        let findings = std::mem::take(&mut loaded.findings);
        said(&pages, findings, loaded.session.sources().clone())
    })
}

/// Answers with what pages say; a page that cannot be read is a finding.
fn said(pages: &[Rc<Page>], mut findings: Diagnostics, sources: SourceMap) -> Outcome {
    let mut lines = Vec::new();
    let mut unread = false;
    for (path, claims) in claims::of(pages) {
        match claims {
            Ok(claims) => lines.extend(claims),
            Err(why) => {
                unread = true;
                let message = format!("`{path}` cannot be read: {}", why.why);
                findings.push(Diagnostic::error(COOKBOOK_MATCH, message));
            }
        }
    }
    let mut outcome = Outcome::new("verify", Claims(lines)).with(findings, sources);
    outcome.failures = unread.then_some(Failure::Unreachable).into_iter().collect();
    outcome.explicit = true;
    outcome
}

/// Reads a checkout of a cookbook: recipes of vLLM with what they are put together from, or snippets
/// of SGLang's pages in either of their folders.
fn read(folder: &Path) -> Result<Vec<Rc<Page>>, Diagnostic> {
    let shown = folder.display().to_string();
    let unread = |why: String| Diagnostic::error(CANNOT_READ, format!("cannot read `{shown}`")).why(why);
    let root = Root::open(folder).map_err(|error| unread(error.to_string()))?;
    let mut paths = Vec::new();
    for (below, ending) in [
        ("models", ".yaml"),
        ("strategies", ".yaml"),
        ("kv_store", ".yaml"),
        ("docs/src/snippets", ".jsx"),
        ("docs_new/src/snippets", ".jsx"),
    ] {
        // A folder that is not there has no pages.
        paths.extend(root.walk(below, ending).unwrap_or_default());
    }
    paths.extend(root.bytes("taxonomy.yaml", LIMIT).ok().map(|_| "taxonomy.yaml".to_owned()));
    if paths.is_empty() {
        return Err(unread("it has no recipes of vLLM and no snippets of SGLang".to_owned()));
    }
    let page = |path: String| {
        let bytes = root.bytes(&path, LIMIT).map_err(|error| unreadable(&path, &error))?;
        let text = String::from_utf8_lossy(&bytes).into_owned();
        Ok(Rc::new(Page { repository: shown.clone(), commit: String::new(), path, text }))
    };
    paths.into_iter().map(page).collect()
}

impl Answer for Claims {
    fn human(&self) -> String {
        self.0.iter().map(|claim| format!("{claim}\n")).collect()
    }

    fn document(&self) -> Document {
        let mut fields = Map::new();
        fields.insert("claims".to_owned(), self.0.clone().into());
        Document::Fields(fields)
    }
}
