//! The engine's configuration file, as far as it is known what became of its members.

use diag::slugs::engine as slugs;
use serde_json::Value as Json;

use crate::finding::{About, Finding};
use crate::view::View;
use crate::{Version, meaning};

pub(crate) fn check(view: &View<'_>, findings: &mut Vec<Finding>) {
    let Some(file) = &view.launch.config else { return };
    let engine = view.table.engine();
    let version = Version::parse(&view.launch.chosen.version);
    for (path, since, instead) in meaning::config(engine) {
        let parts: Vec<String> = path.split('.').map(str::to_owned).collect();
        let there = parts.iter().try_fold(file, |json: &Json, part| json.get(part)).is_some();
        if !there || version < since {
            continue;
        }
        let finding = Finding::error(
            slugs::CONFIG_MEMBER,
            About::Config(parts),
            format!("the file of {} has no `{path}` since {since}", engine.title()),
        );
        findings.push(match instead {
            "" => finding.help("drop it: it is implied"),
            instead => finding.help(format!("write `{instead}`")),
        });
    }
}
