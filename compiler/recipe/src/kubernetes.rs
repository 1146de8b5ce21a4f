//! A plan on Kubernetes: the Job that a cluster is asked for.
//!
//! The Job is data of the plan: everything but the entry, which whoever emits it adds. Reference:
//! <https://kubernetes.io/docs/reference/kubernetes-api/workload-resources/job-v1/>.

use diag::{Diagnostic, Diagnostics, slugs};
use serde_json::{Map, Value, json};

use crate::plan::Mount;
use crate::target::Target;
use crate::tree::{Node, Tree};

/// What a target says of its Jobs, evaluated.
#[derive(Debug)]
pub(crate) struct Given {
    /// Part of a Job.
    pub(crate) job: Tree,
    /// Part of a pod's specification.
    pub(crate) pod: Tree,
    /// Part of the container.
    pub(crate) container: Tree,
}

/// Returns the Job of a plan without its entry. What the target says stands over what is said here.
pub(crate) fn job(
    target: &Target,
    given: &Given,
    image: &str,
    gpus: u32,
    workspace: &str,
    mounts: &[Mount],
    out: &mut Diagnostics,
) -> Value {
    let (mut volumes, mut places) = (Vec::new(), Vec::new());
    for (number, mount) in mounts.iter().enumerate() {
        let (Some(from), Some(to)) = (mount.from.as_text(), mount.to.as_text()) else {
            out.push(undecided(target, "a mount"));
            continue;
        };
        let name = format!("mount-{number}");
        let (source, below) = volume(from, mount.create);
        let mut place = json!({ "name": name, "mountPath": to });
        if mount.readonly {
            place["readOnly"] = json!(true);
        }
        if let Some(below) = below {
            place["subPath"] = json!(below);
        }
        let mut volume = source;
        volume.insert("name".to_owned(), json!(name));
        volumes.push(Value::Object(volume));
        places.push(place);
    }
    let mut limits = Map::new();
    if let Some(resource) = &target.runtime.gpu {
        limits.insert(resource.value.clone(), json!(gpus.to_string()));
    }
    let mut container = json!({
        "name": "run",
        "image": image,
        "workingDir": workspace,
        "env": target.secrets.iter().map(|secret| from_secret(target, &secret.value)).collect::<Vec<_>>(),
        "resources": { "limits": limits },
        "volumeMounts": places,
    });
    merge(&mut container, plain(&given.container, target, out));
    let mut pod = json!({
        "restartPolicy": "Never",
        "automountServiceAccountToken": false,
        "enableServiceLinks": false,
        "volumes": volumes,
    });
    merge(&mut pod, plain(&given.pod, target, out));
    pod["containers"] = json!([container]);
    let mut job = json!({
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {},
        // A run that failed is looked at, not tried again.
        "spec": { "backoffLimit": 0 },
    });
    merge(&mut job, plain(&given.job, target, out));
    job["spec"]["template"] = json!({ "spec": pod });
    job
}

/// Returns the source of a volume, and the path below it: `claim:NAME/PATH`, `memory:SIZE`, or a
/// path of the node.
fn volume(from: &str, create: bool) -> (Map<String, Value>, Option<&str>) {
    let (source, below) = if let Some(claim) = from.strip_prefix("claim:") {
        let (claim, below) = claim.split_once('/').map_or((claim, None), |(claim, rest)| (claim, Some(rest)));
        (json!({ "persistentVolumeClaim": { "claimName": claim } }), below)
    } else if let Some(size) = from.strip_prefix("memory:") {
        (json!({ "emptyDir": { "medium": "Memory", "sizeLimit": size } }), None)
    } else {
        let kind = if create { "DirectoryOrCreate" } else { "Directory" };
        (json!({ "hostPath": { "path": from, "type": kind } }), None)
    };
    (source.as_object().cloned().unwrap_or_default(), below)
}

/// A secret is named; its value never stands in a Job.
fn from_secret(target: &Target, name: &str) -> Value {
    let secret = target.runtime.secret.as_ref().map_or("recipec", |secret| secret.value.as_str());
    json!({
        "name": name,
        "valueFrom": { "secretKeyRef": { "name": secret, "key": name, "optional": true } },
    })
}

/// Lays one value over another: members of sets one by one, lists one after the other.
fn merge(below: &mut Value, over: Value) {
    match (below, over) {
        (Value::Object(below), Value::Object(over)) => {
            for (name, value) in over {
                match below.get_mut(&name) {
                    Some(member) => merge(member, value),
                    None => {
                        below.insert(name, value);
                    }
                }
            }
        }
        (Value::Array(below), Value::Array(over)) => below.extend(over),
        (below, over) => *below = over,
    }
}

/// Returns a value as JSON; what only the run knows has no place in a Job.
fn plain(tree: &Tree, target: &Target, out: &mut Diagnostics) -> Value {
    match &tree.node {
        Node::Null => Value::Null,
        Node::Bool(value) => json!(value),
        Node::Int(number) => json!(number),
        Node::Float(number) => json!(number),
        Node::Text(text) => json!(&**text),
        Node::List(items) => items.iter().map(|item| plain(item, target, out)).collect(),
        Node::Set(fields) if crate::words::special(tree).is_none() => fields
            .iter()
            .map(|field| (field.name.to_string(), plain(&field.value, target, out)))
            .collect::<Map<_, _>>()
            .into(),
        _ => {
            let mut finding = undecided(target, "a Job");
            finding.span = tree.at.or(finding.span);
            out.push(finding);
            Value::Null
        }
    }
}

fn undecided(target: &Target, what: &str) -> Diagnostic {
    let mut finding = Diagnostic::error(
        slugs::recipe::NOT_A_WORD,
        format!("{what} of `{}` holds a value that only the run knows", target.name.value),
    )
    .why("a Job is handed to the cluster as it is, and nobody fills it in")
    .help("write a path of the node, `claim:NAME/PATH` of a volume claim, or `memory:SIZE`");
    finding.span = target.at;
    finding
}
