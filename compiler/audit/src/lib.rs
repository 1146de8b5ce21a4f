//! From what was served and measured back to the lock.
//!
//! Pure: it is told what lies in a folder, and says whether that is what the lock pins. Whoever has
//! the folder reads it (`host`). Nothing here trusts a name, a size that a file system reports of
//! something else, or a client that says that it is done.
//!
//! - [`checkpoint`]: a staged checkpoint beside the locked list of files; [`survey`] is what was seen.
//! - [`run`]: a folder of results beside the lock. [`gather`] takes in what lies there: [`evidence`] of
//!   emitted scripts, [`results`], [`log`]s, commands and environments. [`declared`] is what the lock says of
//!   a process, and [`mod@compare`] sets both side by side; [`acceptance`], [`coverage`] and [`scores`] judge
//!   what was measured.

pub mod acceptance;
pub mod attestation;
pub mod checkpoint;
pub mod compare;
pub mod coverage;
pub mod declared;
pub mod evidence;
mod facets;
mod figures;
pub mod found;
pub mod gather;
pub mod image;
pub mod log;
pub mod nodes;
pub mod python;
pub mod results;
pub mod run;
pub mod scores;
pub mod shards;
pub mod shell;
pub mod survey;
mod which;

#[cfg(test)]
mod tests {
    use crate::gather::{Gathered, logged_arguments};
    use crate::{python, shell};

    /// What the readers take, changed at random: nothing panics, whatever is left of it.
    #[test]
    fn readers_take_any_text() {
        let seeds = [
            r#"vllm serve m --x $'a\n\x41\u20ac' "b \" c" 'd' \"#,
            "server_args=ServerArgs(a='x', b=[1, {'c': (2, None)}], d=<E.F: 'g'>, h=P('i'))",
            "non-default args: {'model_tag': 'm', 'port': 8888, 'c': {'n': 3}}",
            r#"{"metadata":{"benchmark_phase":"profiling","request_start_ns":1},"metrics":{"time_to_first_token":{"value":1}}}"#,
            "Decode batch, #running-req: 3, accept len: 3.39, vllm:spec_decode_num_drafts_total{a=\"b\"} 5e3",
        ];
        let mut state = 88_172_645_463_325_252_u64;
        let mut random = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state
        };
        for round in 0..20_000 {
            let mut bytes = seeds[round % seeds.len()].as_bytes().to_vec();
            for _ in 0..random() % 4 {
                let at = usize::try_from(random()).unwrap_or(0) % bytes.len();
                match random() % 3 {
                    0 => bytes[at] = random().to_le_bytes()[0],
                    1 => bytes.truncate(at + 1),
                    _ => bytes.insert(at, b"'\"\\([{<$=,\0"[usize::try_from(random() % 11).unwrap_or(0)]),
                }
            }
            let text = String::from_utf8_lossy(&bytes);
            let _ = shell::commands(&text);
            let _ = python::value(&text);
            let _ = logged_arguments(&text);
            let mut all = Gathered::default();
            all.line("x.log", &text);
            all.record("profile_export.jsonl", &text);
            all.dump("x_command.txt", &bytes);
            all.dump("environ", &bytes);
            all.document("x.json", &text, String::new());
        }
    }
}
