//! Kubernetes: a Job whose entry is the script, which a ConfigMap brings into the pod.

use lock::Digest;
use recipe::plan::Plan;
use serde_json::{Value, json};

use crate::bash::Bash;
use crate::parts::Parts;
use crate::quote::quote;

pub(crate) const KUBERNETES: &str = include_str!("runtime/kubernetes.sh");

/// Where the script is in the pod.
const FOLDER: &str = "/recipec";

/// A plan's Job, with the pinned image in it.
#[derive(Debug)]
pub(crate) struct Container {
    job: Value,
    /// Where the checked-out repository is in the pod.
    directory: String,
}

/// Returns the working directory of a Job's container.
pub(crate) fn directory(job: &Value) -> Option<&str> {
    job.pointer("/spec/template/spec/containers/0/workingDir")?.as_str()
}

/// Puts the pinned image into a plan's Job. `None` if the plan has no Job.
pub(crate) fn container(plan: &Plan, reference: &str) -> Option<Container> {
    let mut job = plan.kubernetes.clone()?;
    let directory = directory(&job)?.to_owned();
    *job.pointer_mut("/spec/template/spec/containers/0/image")? = json!(reference);
    Some(Container { job, directory })
}

/// Writes the part in the pod.
pub(crate) fn write(bash: &mut Bash, plan: &Plan, container: &Container) -> Parts {
    bash.comment("In the pod.");
    bash.function("pod", |bash| {
        let secrets: Vec<String> = plan.secrets.iter().map(|name| quote(name)).collect();
        bash.line(&format!("pod_begin {}", secrets.join(" ")));
        bash.line(&format!("GITHUB_WORKSPACE={}", quote(&container.directory)));
        bash.line("host_holes");
        bash.line("job_holes");
        bash.line("hand_over");
        bash.line("inside \"${handed[@]}\"");
    });
    Parts { node: false, import: false }
}

impl Container {
    /// Returns the YAML file of a plan: the script in a ConfigMap, and the Job.
    pub(crate) fn file(&self, script: &str, plan: &Plan, digest: &Digest) -> String {
        let name = name(plan, digest);
        let namespace = self.job.pointer("/metadata/namespace").cloned();
        let mut metadata = json!({
            "name": name,
            "labels": {
                "app.kubernetes.io/managed-by": "recipec",
                "app.kubernetes.io/name": label(&plan.recipe),
            },
            "annotations": { "recipec/plan": digest.to_string() },
        });
        if let Some(namespace) = namespace {
            metadata["namespace"] = namespace;
        }
        let mut job = self.job.clone();
        job["metadata"] = metadata.clone();
        let pod = &mut job["spec"]["template"];
        pod["metadata"] = json!({ "labels": metadata["labels"] });
        push(
            &mut pod["spec"]["volumes"],
            json!({ "name": "recipec", "configMap": { "name": name, "defaultMode": 0o555 } }),
        );
        let container = &mut pod["spec"]["containers"][0];
        container["command"] = json!(["bash", format!("{FOLDER}/run.sh"), "pod"]);
        push(
            &mut container["volumeMounts"],
            json!({ "name": "recipec", "mountPath": FOLDER, "readOnly": true }),
        );
        for (name, field) in [
            ("RECIPEC_NODE", "spec.nodeName"),
            ("RECIPEC_POD", "metadata.uid"),
            ("RECIPEC_RUN", "metadata.name"),
        ] {
            push(
                &mut container["env"],
                json!({ "name": name, "valueFrom": { "fieldRef": { "fieldPath": field } } }),
            );
        }
        let config =
            json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "immutable": true });
        let mut text = yaml(&config);
        text.push_str("data:\n  run.sh: |\n");
        for line in script.lines() {
            if !line.is_empty() {
                text.push_str("    ");
                text.push_str(line);
            }
            text.push('\n');
        }
        text.push_str("---\n");
        text.push_str(&yaml(&job));
        text
    }
}

fn push(list: &mut Value, item: Value) {
    match list {
        Value::Array(items) => items.push(item),
        other => *other = json!([item]),
    }
}

/// Returns a name of at most 63 characters that differs between plans: what a person looks for, and
/// the beginning of the plan's digest.
fn name(plan: &Plan, digest: &Digest) -> String {
    let job = plan.job.map_or_else(|| "point".to_owned(), |job| job.to_string());
    let short = digest.hex().get(..10).unwrap_or_default().to_owned();
    let rest = format!("-{}-{job}-{short}", crate::evidence::mode(plan));
    let mut front = label(&plan.recipe);
    front.truncate(63_usize.saturating_sub(rest.len()));
    format!("{}{rest}", front.trim_end_matches('-'))
}

/// Returns a text as a name of Kubernetes' (RFC 1123): lower case, digits, dashes, at most 63 of them.
fn label(text: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
    let plain: String = text.chars().map(plain).take(63).collect();
    let plain = plain.trim_matches('-');
    if plain.is_empty() { "recipe".to_owned() } else { plain.to_owned() }
}

/// Writes an object as a YAML document: JSON's scalars, one member a line, which every reader of
/// YAML takes alike.
fn yaml(value: &Value) -> String {
    let mut text = String::new();
    block(value, 0, &mut text);
    text
}

fn block(value: &Value, indent: usize, to: &mut String) {
    let pad = " ".repeat(indent);
    match value {
        Value::Object(members) => {
            for (name, value) in members {
                to.push_str(&pad);
                to.push_str(&scalar(&Value::String(name.clone())));
                to.push(':');
                entry(value, indent, to);
            }
        }
        Value::Array(items) => {
            for item in items {
                let mut inner = String::new();
                match item {
                    Value::Object(members) if !members.is_empty() => block(item, indent + 2, &mut inner),
                    Value::Array(items) if !items.is_empty() => block(item, indent + 2, &mut inner),
                    other => inner = format!("  {}\n", scalar(other)),
                }
                to.push_str(&pad);
                to.push_str("- ");
                to.push_str(inner.trim_start_matches(' '));
            }
        }
        other => to.push_str(&scalar(other)),
    }
}

fn entry(value: &Value, indent: usize, to: &mut String) {
    let nested = match value {
        Value::Object(members) => !members.is_empty(),
        Value::Array(items) => !items.is_empty(),
        _ => false,
    };
    if nested {
        to.push('\n');
        block(value, indent + 2, to);
    } else {
        to.push(' ');
        to.push_str(&scalar(value));
        to.push('\n');
    }
}

/// Plain where it is a name or path that no reader of YAML takes for anything else; else in JSON's quotes.
fn scalar(value: &Value) -> String {
    let Value::String(text) = value else { return value.to_string() };
    let first = text.chars().next().is_some_and(|c| c.is_ascii_alphabetic() || c == '/');
    let rest = text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '/' | '.' | '_' | '-'));
    let word = ["true", "false", "null", "yes", "no", "on", "off", "y", "n"];
    if first && rest && !word.contains(&text.to_ascii_lowercase().as_str()) {
        text.clone()
    } else {
        value.to_string()
    }
}
