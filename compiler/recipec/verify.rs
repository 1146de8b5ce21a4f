//! `recipec verify`: what recipes say, set beside what upstream says.

mod claims;
mod evidence;

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use ::lock::Lock;
use ::lock::pin::{Entry, Pin};
use ::verify::claim::Subject;
use ::verify::cookbook::{Page, Shelf};
use ::verify::policy::Profile;
use ::verify::{
    Collected, Day, Neighbour, Neighbours, Outcome as Came, Policy, Standing, Verdict, report, summary,
};
use diag::slugs::cli::OPTION_NOT_READ;
use diag::slugs::verify::COOKBOOK_MATCH;
use diag::{Diagnostic, Diagnostics, Severity, page};
use recipe::Recipe;
use recipe::want::Want;
use serde_json::json;
use upstream::Class;

use crate::arguments::{Format, Options, Verify};
use crate::corpus::{self, LOCK_LIMIT, Loaded};
use crate::outcome::{Answer, Document, Failure, Outcome};
use crate::workspace::unreadable;

/// Policy of roots that have none of their own.
const POLICY: [(&str, &str); 11] = [
    ("review.json", include_str!("../../manifests/policy/review.json")),
    ("changelog.json", include_str!("../../manifests/policy/changelog.json")),
    ("engines.json", include_str!("../../manifests/policy/engines.json")),
    ("offload.json", include_str!("../../manifests/policy/offload.json")),
    ("scores.json", include_str!("../../manifests/policy/scores.json")),
    ("shipped.json", include_str!("../../manifests/policy/shipped.json")),
    ("waivers.json", include_str!("../../manifests/policy/waivers.json")),
    ("facets.json", include_str!("../../manifests/policy/facets.json")),
    ("profiles.json", include_str!("../../manifests/policy/profiles.json")),
    ("images.json", include_str!("../../manifests/policy/images.json")),
    ("deprecations.json", include_str!("../../manifests/policy/deprecations.json")),
];

/// Verdicts on recipes, and the checklist of the sign-off if it is asked for.
struct Verdicts {
    verdicts: Vec<Verdict>,
    signoff: Option<String>,
}

/// What resolving says of each want now, by name.
type Answers = BTreeMap<String, Result<upstream::Resolved, upstream::Refusal>>;

/// Pages by the want that names them and what it is pinned to, each made once.
type Library = BTreeMap<(String, String), Result<Rc<Page>, String>>;

/// Judges the recipes that are asked for.
pub(crate) fn run(verb: &Verify, options: &Options) -> Outcome {
    if verb.claims.is_some() {
        return claims::run(verb, options);
    }
    corpus::with("verify", &verb.recipes, options, |mut loaded| match judge(&mut loaded, verb) {
        Ok(Verdicts { verdicts, signoff }) => {
            let failed = summary(&verdicts);
            let mut failures: BTreeSet<Failure> =
                loaded.findings.iter().filter_map(Failure::of_error).collect();
            failures.extend(failed.disagrees.then_some(Failure::Outside));
            failures.extend(failed.unreadable.then_some(Failure::Unreachable));
            // The table says it all to people; the other formats are made of findings.
            if options.format != Format::Human || !options.output.is_empty() {
                let spans: BTreeMap<&str, _> = loaded
                    .corpus
                    .recipes
                    .iter()
                    .map(|recipe| (recipe.key.value.as_str(), recipe.key.at))
                    .collect();
                let findings: Vec<Diagnostic> = verdicts
                    .iter()
                    .filter_map(|verdict| {
                        finding(verdict, spans.get(verdict.recipe.as_str()).copied().flatten())
                    })
                    .collect();
                loaded.findings.extend(findings);
            }
            let mut outcome = loaded.finish("verify", Verdicts { verdicts, signoff });
            outcome.failures = failures;
            outcome.explicit = true;
            outcome
        }
        Err(findings) => {
            loaded.findings.extend(findings);
            loaded.finish("verify", Verdicts { verdicts: Vec::new(), signoff: None })
        }
    })
}

fn judge(loaded: &mut Loaded<'_, '_>, verb: &Verify) -> Result<Verdicts, Diagnostics> {
    let policy = policy(loaded)?;
    let profile = profile(&policy, verb.profile.as_deref())?;
    let dossier = verb.evidence.as_deref().map(evidence::read).transpose().map_err(one)?;
    let day = day(verb)?.or_else(|| dossier.as_ref()?.day());
    let before = verb.append_only.as_deref().map(|name| crate::diff::locks_at(loaded, name)).transpose()?;
    let rules = rules(verb)?;
    let corpus = std::mem::take(&mut loaded.corpus);
    let mut locks: BTreeMap<&str, Lock> = BTreeMap::new();
    for recipe in &corpus.recipes {
        if let Some(found) = loaded.lock(recipe).map_err(one)? {
            loaded.findings.extend(found.findings);
            locks.extend(found.lock.map(|lock| (recipe.key.value.as_str(), lock)));
        }
    }
    let answers = ask(verb, locks.values());
    let (shelf, mut library) = (Rc::new(Shelf::default()), Library::new());
    let everyone = corpus.recipes.iter().chain(&loaded.others);
    let neighbours = Rc::new(Neighbours {
        all: everyone.filter_map(|recipe| Neighbour::of(recipe, &corpus.targets)).collect(),
        partial: loaded.unread,
    });
    let mut verdicts = Vec::new();
    for recipe in &corpus.recipes {
        let lock = locks.get(recipe.key.value.as_str());
        let known = lock.map(|lock| lock.known.clone()).unwrap_or_default();
        let (plans, findings) = recipe::plans(&mut loaded.session, &corpus, recipe, &known);
        loaded.findings.extend(findings);
        let Some(subject) = Subject::of(recipe, &corpus.targets, &plans, &known) else { continue };
        let (mut collected, missing) = collect(lock, &answers, &mut library);
        collected.neighbours = neighbours.clone();
        collected.shelf = shelf.clone();
        let mut found = ::verify::judge(&subject, lock, &collected, &policy, profile, day);
        // Without the page nobody knows what it says: that is not silence.
        if collected.pages.is_empty() && !missing.is_empty() {
            found.retain(|verdict| verdict.slug != COOKBOOK_MATCH.as_str());
            found.extend(missing.into_iter().map(|message| unread(recipe, message)));
        }
        if let Some(dossier) = &dossier {
            let pinned = evidence::pinned(lock, &subject.image);
            found.extend(::verify::evidence::judge(&subject, dossier, &policy, pinned.as_deref()));
        }
        if let Some(before) = &before {
            found.push(::verify::evidence::growth(&subject, before.get(&subject.recipe), lock));
        }
        found.retain(|verdict| rules.is_empty() || rules.contains(verdict.slug));
        verdicts.extend(found);
    }
    if let Some(dossier) = &dossier {
        let found = ::verify::evidence::pull_request(dossier, &policy).into_iter();
        verdicts.extend(found.filter(|verdict| rules.is_empty() || rules.contains(verdict.slug)));
    }
    let signoff = match dossier.filter(|_| verb.signoff) {
        None => None,
        Some(dossier) => Some(
            ::verify::evidence::fill_in(&dossier, &verdicts, &policy)
                .map_err(|why| one(Diagnostic::error(OPTION_NOT_READ, why)))?,
        ),
    };
    loaded.corpus = corpus;
    Ok(Verdicts { verdicts, signoff })
}

fn one(finding: Diagnostic) -> Diagnostics {
    [finding].into_iter().collect()
}

/// Reads manifests/policy; files that the root lacks are those that recipec was built with.
fn policy(loaded: &Loaded<'_, '_>) -> Result<Policy, Diagnostics> {
    let mut files: BTreeMap<String, String> =
        POLICY.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect();
    let root = &loaded.workspace.root;
    let own = root
        .walk("manifests/policy", ".json")
        .map_err(|error| one(unreadable("manifests/policy", &error)))?;
    for path in own {
        let bytes = root.bytes(&path, LOCK_LIMIT).map_err(|error| one(unreadable(&path, &error)))?;
        let name = path.trim_start_matches("manifests/policy/").to_owned();
        files.insert(name, String::from_utf8_lossy(&bytes).into_owned());
    }
    Policy::read(&files)
}

fn profile(policy: &Policy, name: Option<&str>) -> Result<Profile, Diagnostics> {
    policy.profile(name).map_err(|names| {
        let finding =
            Diagnostic::error(OPTION_NOT_READ, format!("there is no profile `{}`", name.unwrap_or_default()));
        one(finding.help(format!(
            "there are {}",
            names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
        )))
    })
}

fn day(verb: &Verify) -> Result<Option<Day>, Diagnostics> {
    let read =
        |text: &String| text.parse().map_err(|why: String| one(Diagnostic::error(OPTION_NOT_READ, why)));
    verb.at.as_ref().map(read).transpose()
}

/// Returns the rules that are asked for; all without any.
fn rules(verb: &Verify) -> Result<BTreeSet<&str>, Diagnostics> {
    let names = || diag::pages().filter(|page| page.stage == "verify").map(|page| page.slug.as_str());
    let unknown = verb.rules.iter().find(|rule| !names().any(|name| name == *rule));
    match unknown {
        None => Ok(verb.rules.iter().map(String::as_str).collect()),
        Some(rule) => {
            let finding = Diagnostic::error(OPTION_NOT_READ, format!("there is no rule `{rule}`"));
            Err(one(match diag::nearest(rule, names()) {
                Some(near) => finding.help(format!("there is `{near}`")),
                None => finding.help(format!("there are {}", names().collect::<Vec<_>>().join(", "))),
            }))
        }
    }
}

/// Asks what every pinned name resolves to now, and for every cookbook page as it was pinned.
fn ask<'l>(verb: &Verify, locks: impl Iterator<Item = &'l Lock>) -> Answers {
    let mut wants = BTreeSet::new();
    for entry in locks.flat_map(|lock| lock.pins.values()) {
        let Entry::Pinned { want, pin } = entry else { continue };
        let page = as_pinned(want, pin);
        // A commit names one content for ever: asked by the commit that is pinned, which last changed
        // the path, nobody has to walk through history.
        if !(is_commit(want) && page.is_some()) {
            wants.insert(want.clone());
        }
        wants.extend(page.filter(|_| is_commit(want) || is_cookbook(want)));
    }
    if wants.is_empty() {
        return Answers::new();
    }
    let options = host::Options {
        environment: host::Environment::of_process(),
        offline: verb.offline,
        mirror: verb.mirror.clone(),
        show: host::Show::Stderr,
        ..host::Options::default()
    };
    let wants: Vec<Want> = wants.into_iter().collect();
    let answers = host::resolve(&wants, &options).into_iter();
    answers.map(|answer| (answer.want.name(), answer.outcome)).collect()
}

/// Returns the want that names a file by the commit that is pinned.
fn as_pinned(want: &Want, pin: &Pin) -> Option<Want> {
    match (want, pin) {
        (Want::Source { purpose, repository, path, .. }, Pin::Source(source)) => Some(Want::Source {
            purpose: purpose.clone(),
            repository: repository.clone(),
            revision: source.commit.clone(),
            path: path.clone(),
        }),
        _ => None,
    }
}

fn is_cookbook(want: &Want) -> bool {
    matches!(want, Want::Source { purpose, .. } if purpose == "cookbook")
}

/// True if a want names a file by a whole commit id.
fn is_commit(want: &Want) -> bool {
    let whole = |revision: &str| revision.len() == 40 && revision.bytes().all(|b| b.is_ascii_hexdigit());
    matches!(want, Want::Source { revision, .. } if whole(revision))
}

/// Sorts the answers into pages and standings, and says which pages are missing.
fn collect(lock: Option<&Lock>, answers: &Answers, library: &mut Library) -> (Collected, Vec<String>) {
    let mut collected = Collected::default();
    let mut missing = Vec::new();
    for (name, entry) in lock.map(|lock| lock.pins.iter()).into_iter().flatten() {
        match entry {
            Entry::Unpinned { want: Want::Source { purpose, path, .. }, reason } if purpose == "cookbook" => {
                missing.push(format!("`{path}` has no pin: {reason}"));
            }
            Entry::Unpinned { .. } => {}
            Entry::Pinned { want, pin } => {
                let by_commit = || answers.get(&as_pinned(want, pin)?.name());
                if let Some(answer) = answers.get(name).or_else(by_commit) {
                    collected.standing.extend(standing(answer, pin).map(|standing| (name.clone(), standing)));
                }
                if let Some(pinned) = as_pinned(want, pin).filter(|_| is_cookbook(want)) {
                    let key = (pinned.name(), crate::lock::identity(pin));
                    let read = || page_of(&pinned, pin, answers.get(&pinned.name())).map(Rc::new);
                    match library.entry(key).or_insert_with(read).clone() {
                        Ok(page) => collected.pages.push(page),
                        Err(why) => missing.push(why),
                    }
                }
            }
        }
    }
    (collected, missing)
}

fn standing(answer: &Result<upstream::Resolved, upstream::Refusal>, pin: &Pin) -> Option<Standing> {
    match answer {
        Ok(now) if crate::lock::identity(&now.pin) == crate::lock::identity(pin) => Some(Standing::Same),
        Ok(now) => Some(Standing::Moved(crate::lock::identity(&now.pin))),
        Err(refusal) => match refusal.class {
            Class::Stale => None,
            Class::Manifest | Class::Outside => Some(Standing::Gone(refusal.diagnostic.message.clone())),
            Class::Unreachable => Some(Standing::Unreachable(refusal.diagnostic.message.clone())),
        },
    }
}

fn page_of(
    want: &Want,
    pin: &Pin,
    answer: Option<&Result<upstream::Resolved, upstream::Refusal>>,
) -> Result<Page, String> {
    let (Want::Source { repository, revision, path, .. }, Pin::Source(source)) = (want, pin) else {
        return Err(format!("`{}` is no page", want.name()));
    };
    let now = match answer {
        Some(Ok(now)) => now,
        Some(Err(refusal)) => return Err(refusal.diagnostic.message.clone()),
        None => return Err(format!("nobody was asked for `{path}`")),
    };
    let Some(content) = &now.content else { return Err(format!("`{path}` came without its content")) };
    if source.sha256.as_ref().is_some_and(|sha256| *sha256 != ::lock::Digest::of(content)) {
        return Err(format!("`{path}` at {revision} is not the content that the lock pins"));
    }
    Ok(Page {
        repository: repository.clone(),
        commit: revision.clone(),
        path: path.clone(),
        text: String::from_utf8_lossy(content).into_owned(),
    })
}

fn unread(recipe: &Recipe, message: String) -> Verdict {
    Verdict {
        recipe: recipe.key.value.clone(),
        points: Vec::new(),
        slug: COOKBOOK_MATCH.as_str(),
        verdict: Came::Unreadable,
        facets: Vec::new(),
        cell: None,
        evidence: Vec::new(),
        message,
        advisory: false,
    }
}

/// Returns a verdict that does not hold as a finding.
fn finding(verdict: &Verdict, at: Option<diag::Span>) -> Option<Diagnostic> {
    let slug = page(verdict.slug)?.slug;
    if verdict.verdict == Came::Holds {
        return None;
    }
    let message = format!("{}: {}", verdict.verdict.word(), verdict.message);
    let mut finding = Diagnostic::error(slug, message);
    if verdict.advisory {
        finding.severity = Severity::Note;
    }
    finding.span = at;
    for facet in verdict.facets.iter().filter(|facet| !facet.verdict.holds()) {
        finding = finding.why(format!(
            "{}: {} here, {} upstream",
            facet.facet,
            ::verify::facet::plain(&facet.ours),
            ::verify::facet::plain(&facet.theirs)
        ));
    }
    Some(finding)
}

impl Answer for Verdicts {
    fn human(&self) -> String {
        self.signoff.clone().unwrap_or_else(|| report::human(&self.verdicts))
    }

    fn document(&self) -> Document {
        let mut fields = serde_json::Map::new();
        fields.insert("verdicts".to_owned(), json!(self.verdicts));
        if let Some(signoff) = &self.signoff {
            fields.insert("signoff".to_owned(), signoff.as_str().into());
        }
        Document::Fields(fields)
    }

    fn markdown(&self) -> Option<String> {
        // Where nothing was judged, no verdict is passed.
        let markdown = || report::markdown(&self.verdicts) + "\n";
        self.signoff.clone().or_else(|| (!self.verdicts.is_empty()).then(markdown))
    }
}
