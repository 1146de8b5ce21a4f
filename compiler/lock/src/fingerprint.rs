//! The digest of a plan: a tree, so that a difference can say which group changed.

use std::collections::BTreeMap;

use recipe::plan::{Group, Mount, Plan, Ready, Replica, Role, Step, Word};
use serde_json::json;

use crate::Digest;
use crate::canonical::{write_map, write_string, write_value};
use crate::words::to_json;

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
    // A group takes some kilobytes; to grow there step by step would copy it as often.
    let mut text = String::with_capacity(16 << 10);
    let digests: Vec<Digest> = plan
        .groups
        .iter()
        .map(|group| {
            text.clear();
            write_group(group, &mut text);
            Digest::of(text.as_bytes())
        })
        .collect();
    text.clear();
    write_plan(plan, &digests, &mut text);
    let names = group_names(plan);
    Fingerprint { plan: Digest::of(text.as_bytes()), groups: names.into_iter().zip(digests).collect() }
}

// Thousands of plans are digested, so canonical JSON is written as it goes, without a tree: fields
// stand in their canonical order, which a test compares with the one of `canonical`.

fn write_plan(plan: &Plan, groups: &[Digest], out: &mut String) {
    out.push_str("{\"allocate\":");
    write_option(plan.allocate.as_ref(), out, |words, out| write_words(words, out));
    out.push_str(",\"container\":");
    write_words(&plan.container, out);
    out.push_str(",\"files\":");
    write_list(&plan.files, out, |file, out| {
        out.push('[');
        write_word(&file.path, out);
        out.push(',');
        write_word(&file.text, out);
        out.push(']');
    });
    out.push_str(",\"finish\":");
    write_count(plan.finish, out);
    out.push_str(",\"groups\":");
    write_list(groups, out, |digest, out| {
        out.push_str("\"sha256:");
        out.push_str(digest.hex());
        out.push('"');
    });
    out.push_str(",\"image\":");
    write_string(&plan.image, out);
    if let Some(job) = &plan.kubernetes {
        out.push_str(",\"kubernetes\":");
        write_value(job, out);
    }
    out.push_str(",\"mode\":");
    write_string(crate::document::mode_name(plan.mode), out);
    out.push_str(",\"mounts\":");
    write_list(&plan.mounts, out, write_mount);
    out.push_str(",\"passed\":");
    write_map(plan.passed.iter(), out, write_word);
    out.push_str(",\"points\":");
    write_list(&plan.points, out, |point, out| write_map(point.iter(), out, write_value));
    out.push_str(",\"pools\":");
    write_list(&plan.pools, out, |pool, out| write_value(&json!([pool.nodes, pool.gpus]), out));
    out.push_str(",\"target\":");
    write_string(&plan.target, out);
    out.push_str(",\"version\":1}");
}

fn write_group(group: &Group, out: &mut String) {
    out.push_str("{\"after\":");
    write_list(&group.after, out, |index, out| write_count(*index, out));
    out.push_str(if group.critical {
        ",\"critical\":true,\"image\":"
    } else {
        ",\"critical\":false,\"image\":"
    });
    write_option(group.image.as_ref(), out, |image, out| write_string(image, out));
    out.push_str(",\"kind\":");
    write_string(&group.kind, out);
    out.push_str(",\"mounts\":");
    write_option(group.mounts.as_ref(), out, |list, out| write_list(list, out, write_mount));
    out.push_str(",\"name\":");
    write_string(&group.name, out);
    out.push_str(",\"ready\":");
    write_ready(&group.ready, out);
    out.push_str(",\"replicas\":");
    write_list(&group.replicas, out, write_replica);
    out.push_str(",\"role\":");
    write_string(role(group.role), out);
    out.push_str(",\"within\":");
    write_value(&json!(group.within), out);
    out.push('}');
}

fn write_replica(replica: &Replica, out: &mut String) {
    out.push_str("{\"parallel\":");
    write_value(&json!(replica.parallel), out);
    out.push_str(",\"ranks\":");
    write_list(&replica.ranks, out, |rank, out| {
        out.push_str("{\"argv\":");
        write_words(&rank.argv, out);
        out.push_str(",\"env\":");
        write_map(rank.env.iter(), out, write_word);
        out.push_str(",\"ports\":");
        write_map(rank.ports.iter(), out, write_word);
        out.push_str(",\"seat\":");
        let seat = rank.seat;
        // Digests of launches that begin at the first GPU are older than its number.
        let first = (seat.first > 0).then_some(seat.first);
        write_list([seat.pool, seat.node, seat.gpus].into_iter().chain(first), out, |number, out| {
            write_count(number as usize, out);
        });
        out.push_str(",\"unset\":");
        write_list(&rank.unset, out, |name, out| write_string(name, out));
        out.push('}');
    });
    if let Step::Spanning { tasks } = replica.step {
        out.push_str(",\"tasks\":");
        write_count(tasks as usize, out);
    }
    out.push('}');
}

fn write_ready(ready: &Ready, out: &mut String) {
    match ready {
        Ready::Started => out.push_str("\"started\""),
        Ready::Ended => out.push_str("\"ended\""),
        Ready::Tcp { port } => {
            out.push_str("{\"tcp\":");
            write_word(port, out);
            out.push('}');
        }
        Ready::Ports { ports } => {
            out.push_str("{\"ports\":");
            write_words(ports, out);
            out.push('}');
        }
        Ready::Registered { node: (pool, node), port, prefill, decode } => {
            out.push_str("{\"registered\":");
            write_value(&json!([[pool, node], to_json(port), prefill, decode]), out);
            out.push('}');
        }
        Ready::Http { port, path } => {
            out.push_str("{\"http\":[");
            write_word(port, out);
            out.push(',');
            write_string(path, out);
            out.push_str("]}");
        }
    }
}

fn write_mount(mount: &Mount, out: &mut String) {
    out.push_str(if mount.create { "{\"create\":true,\"from\":" } else { "{\"create\":false,\"from\":" });
    write_word(&mount.from, out);
    out.push_str(if mount.readonly { ",\"readonly\":true,\"to\":" } else { ",\"readonly\":false,\"to\":" });
    write_word(&mount.to, out);
    out.push('}');
}

fn write_word(word: &Word, out: &mut String) {
    match word.as_text() {
        Some(text) => write_string(text, out),
        None => write_value(&to_json(word), out),
    }
}

fn write_words(words: &[Word], out: &mut String) {
    write_list(words, out, write_word);
}

fn write_list<T>(items: impl IntoIterator<Item = T>, out: &mut String, write: impl Fn(T, &mut String)) {
    out.push('[');
    for (index, item) in items.into_iter().enumerate() {
        if index > 0 {
            out.push(',');
        }
        write(item, out);
    }
    out.push(']');
}

fn write_option<T>(value: Option<T>, out: &mut String, write: impl Fn(T, &mut String)) {
    match value {
        Some(value) => write(value, out),
        None => out.push_str("null"),
    }
}

fn write_count(count: usize, out: &mut String) {
    out.push_str(&count.to_string());
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

#[cfg(test)]
mod tests {
    use recipe::plan::{Hole, Mode, Parallel, Phase, Pool, Rank, Seat};
    use serde_json::{Map, Value};

    use super::*;
    use crate::canonical;

    /// The same document as a tree, which decides what canonical JSON of it is.
    fn plan_json(plan: &Plan, digests: &[Digest]) -> Value {
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
        common
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
                let mut seat = vec![rank.seat.pool, rank.seat.node, rank.seat.gpus];
                seat.extend((rank.seat.first > 0).then_some(rank.seat.first));
                json!({
                    "seat": seat,
                    "argv": list(&rank.argv),
                    "env": table(&rank.env),
                    "unset": rank.unset,
                    "ports": table(&rank.ports),
                })
            })
            .collect();
        let mut all = json!({ "parallel": replica.parallel, "ranks": ranks });
        if let Step::Spanning { tasks } = replica.step {
            all["tasks"] = json!(tasks);
        }
        all
    }

    fn ready_json(ready: &Ready) -> Value {
        match ready {
            Ready::Started => json!("started"),
            Ready::Tcp { port } => json!({ "tcp": to_json(port) }),
            Ready::Ports { ports } => json!({ "ports": list(ports) }),
            Ready::Registered { node: (pool, node), port, prefill, decode } => {
                json!({ "registered": [[pool, node], to_json(port), prefill, decode] })
            }
            Ready::Http { port, path } => json!({ "http": [to_json(port), path] }),
            Ready::Ended => json!("ended"),
        }
    }

    fn word(text: &str) -> Word {
        Word::from(text)
    }

    #[test]
    fn what_is_written_as_it_goes_is_the_canonical_form_of_the_whole() {
        let mut holed = Word::hole(Hole::Job);
        holed.push_text("/\"quoted\"\n");
        let mount = Mount { from: holed.clone(), to: word("/to"), readonly: true, create: false };
        let names = ["plain", "\u{fb33}", "\u{1f600}", "\u{e9}"];
        let env: BTreeMap<String, Word> = names.iter().map(|name| ((*name).to_owned(), word("x"))).collect();
        let rank = Rank {
            seat: Seat { pool: 1, node: 2, first: 4, gpus: 4 },
            argv: vec![word("a"), holed.clone(), word("")],
            env: env.clone(),
            unset: ["B", "A"].into_iter().map(str::to_owned).collect(),
            ports: [("http".to_owned(), Word::hole(Hole::JobPort { base: 1, modulus: 2 }))].into(),
        };
        let parallel = Parallel { tp: 4, pp: 1, ep: 2, dp_attn: true, dcp: 1, pcp: 1 };
        let group = |ready: Ready, all: bool| Group {
            role: Role::Serve(Phase::Agg),
            name: "server".to_owned(),
            kind: "server \u{1}".to_owned(),
            image: all.then(|| "image".to_owned()),
            mounts: all.then(|| vec![mount.clone()]),
            replicas: vec![Replica {
                parallel: all.then_some(parallel),
                ranks: vec![rank.clone(), Rank { seat: Seat { first: 0, ..rank.seat }, ..rank.clone() }],
                step: if all { Step::Spanning { tasks: 16 } } else { Step::EachRank },
            }],
            after: vec![0, 1],
            ready,
            within: all.then_some(7),
            critical: all,
        };
        let http = Ready::Http { port: word("80"), path: "/health".to_owned() };
        let mut plan = Plan {
            recipe: "x".to_owned(),
            target: "t".to_owned(),
            mode: Mode::Eval,
            job: Some(0),
            points: vec![Map::from_iter([
                ("conc".to_owned(), json!(0.80)),
                ("a\tb".to_owned(), json!(null)),
            ])],
            image: "image".to_owned(),
            allocate: Some(vec![word("salloc")]),
            container: vec![holed.clone()],
            kubernetes: Some(json!({ "z": 1, "a": [1.0, "x"] })),
            passed: env,
            secrets: Default::default(),
            mounts: vec![mount.clone()],
            pools: vec![Pool { nodes: 1, gpus: 4 }],
            groups: vec![
                group(http, true),
                group(Ready::Started, false),
                group(Ready::Ended, false),
                group(Ready::Ports { ports: vec![word("1"), holed.clone()] }, true),
                group(Ready::Registered { node: (0, 1), port: word("8000"), prefill: 2, decode: 1 }, true),
                group(Ready::Tcp { port: holed.clone() }, true),
            ],
            files: vec![recipe::plan::File { path: word("p"), text: word("t\n") }],
            finish: 1,
            wants: Default::default(),
        };
        for _ in 0..2 {
            for group in &plan.groups {
                let mut text = String::new();
                write_group(group, &mut text);
                assert_eq!(text, canonical(&group_json(group)));
            }
            let digests = [Digest::of(b"one"), Digest::of(b"two")];
            let mut text = String::new();
            write_plan(&plan, &digests, &mut text);
            assert_eq!(text, canonical(&plan_json(&plan, &digests)));
            (plan.allocate, plan.kubernetes, plan.files, plan.groups) = (None, None, vec![], vec![]);
        }
    }
}
