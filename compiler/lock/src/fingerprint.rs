//! The digest of a plan: a tree, so that a difference can say which group changed.

use std::collections::BTreeMap;

use recipe::plan::{Group, Mount, Plan, Ready, Replica, Role, Word};
use serde_json::{Map, Value, json};

use crate::words::to_json;
use crate::{Digest, canonical};

/// Digest of a plan, and of each of its groups.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fingerprint {
    /// sha256 over the canonical JSON of the common fields and of the groups' digests in order.
    pub plan: Digest,
    /// Digest of each group, by its name; a name that stands twice gets its place: `server#2`.
    pub groups: BTreeMap<String, Digest>,
}

/// Returns the digests of a plan. Holes stay unexpanded, no pinned digest is in them (a moved tag
/// changes pins, not plans), and neither the config key nor the place in the matrix is (renaming
/// or adding a point changes no other plan).
#[must_use]
pub fn fingerprint(plan: &Plan) -> Fingerprint {
    let digests: Vec<Digest> =
        plan.groups.iter().map(|group| Digest::of(canonical(&group_json(group)).as_bytes())).collect();
    let mut common = json!({
        "version": 1,
        "target": plan.target,
        "mode": plan.mode,
        "points": plan.points,
        "image": plan.image,
        "allocate": plan.allocate.as_ref().map(|words| list(words)),
        "container": list(&plan.container),
        "passed": table(&plan.passed),
        "mounts": mounts(&plan.mounts),
        "pools": plan.pools.iter().map(|pool| json!([pool.nodes, pool.gpus])).collect::<Vec<_>>(),
        "files": plan.files.iter().map(|file| json!([to_json(&file.path), to_json(&file.text)])).collect::<Vec<_>>(),
        "finish": plan.finish,
        "groups": digests,
    });
    if let Some(job) = &plan.kubernetes {
        common["kubernetes"] = job.clone();
    }
    let names = group_names(plan);
    Fingerprint {
        plan: Digest::of(canonical(&common).as_bytes()),
        groups: names.into_iter().zip(digests).collect(),
    }
}

/// Returns a name for each group, in order; a name that stands twice gets its place.
pub(crate) fn group_names(plan: &Plan) -> Vec<String> {
    let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
    plan.groups
        .iter()
        .map(|group| {
            let count = seen.entry(&group.name).or_insert(0);
            *count += 1;
            if *count == 1 { group.name.clone() } else { format!("{}#{count}", group.name) }
        })
        .collect()
}

fn list(words: &[Word]) -> Value {
    words.iter().map(to_json).collect()
}

fn table(words: &BTreeMap<String, Word>) -> Value {
    Value::Object(words.iter().map(|(name, word)| (name.clone(), to_json(word))).collect::<Map<_, _>>())
}

fn mounts(mounts: &[Mount]) -> Value {
    mounts
        .iter()
        .map(|mount| {
            json!({
                "from": to_json(&mount.from),
                "to": to_json(&mount.to),
                "readonly": mount.readonly,
                "create": mount.create,
            })
        })
        .collect()
}

fn group_json(group: &Group) -> Value {
    json!({
        "role": role(group.role),
        "name": group.name,
        "kind": group.kind,
        "image": group.image,
        "mounts": group.mounts.as_ref().map(|list| mounts(list)),
        "replicas": group.replicas.iter().map(replica_json).collect::<Vec<_>>(),
        "after": group.after,
        "ready": ready_json(&group.ready),
        "within": group.within,
        "critical": group.critical,
    })
}

fn replica_json(replica: &Replica) -> Value {
    let ranks: Vec<Value> = replica
        .ranks
        .iter()
        .map(|rank| {
            json!({
                "seat": [rank.seat.pool, rank.seat.node, rank.seat.gpus],
                "argv": list(&rank.argv),
                "env": table(&rank.env),
                "unset": rank.unset,
                "ports": table(&rank.ports),
            })
        })
        .collect();
    json!({ "parallel": replica.parallel, "ranks": ranks })
}

fn ready_json(ready: &Ready) -> Value {
    match ready {
        Ready::Started => json!("started"),
        Ready::Tcp { port } => json!({ "tcp": to_json(port) }),
        Ready::Http { port, path } => json!({ "http": [to_json(port), path] }),
        Ready::Ended => json!("ended"),
    }
}

/// Returns the word for a role: for engines, the word that `serve` receives.
#[must_use]
pub fn role(role: Role) -> &'static str {
    use recipe::plan::Phase;
    match role {
        Role::Serve(Phase::Agg) => "agg",
        Role::Serve(Phase::Prefill) => "prefill",
        Role::Serve(Phase::Decode) => "decode",
        Role::Router => "router",
        Role::Gateway => "gateway",
        Role::Sidecar => "sidecar",
        Role::Discovery => "discovery",
        Role::KvStore => "kv-store",
        Role::Stage => "stage",
        Role::Meter => "meter",
        Role::Proxy => "proxy",
        Role::Client => "client",
        Role::Eval => "eval",
    }
}
