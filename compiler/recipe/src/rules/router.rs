//! What a point says of a router is what its plans start: results name the router that stood before
//! the servers, and a name without a router, or a router without a name, is a label that lies.

use diag::{Diagnostic, slugs};

use crate::build::Built;
use crate::plan::Role;
use crate::recipe::Recipe;

/// Looks at what stands before a server.
pub(crate) fn look(recipe: &Recipe, built: &Built) -> Option<Diagnostic> {
    let point = &built.job.point;
    let entry = recipe.scenarios.get(point.scenario).and_then(|one| one.search.get(point.entry?))?;
    let starts = built.plan.groups.iter().any(|group| group.role == Role::Router);
    let (message, at, help) = match (&entry.router, starts) {
        (Some(router), false) => (
            format!("the point names the router `{}`, and its plan starts none", router.name.value),
            router.name.at.or(entry.at),
            "start it beside the server, or take its name out",
        ),
        (None, true) => (
            "the plan starts a router that the point does not name".to_owned(),
            entry.at,
            "name it: `router = { name = …; version = …; };`",
        ),
        _ => return None,
    };
    let mut finding = Diagnostic::warning(slugs::recipe::ROUTER_NOT_AS_NAMED, message)
        .why("results say which router stood before the servers, and nobody can tell otherwise")
        .help(help);
    finding.span = at;
    Some(finding)
}
