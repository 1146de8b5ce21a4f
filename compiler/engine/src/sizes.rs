//! Sizes of memory: which options are sizes, in which unit, and whose the memory is.
//!
//! Engines differ option by option, and numbers do not say it: one counts decimal gigabytes for each
//! rank, another binary ones for all ranks together.

use std::fmt;
use std::sync::LazyLock;

use crate::Engine;

const TABLE: &str = include_str!("../tables/sizes.table");

/// A unit of memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unit {
    /// Bytes.
    B,
    /// 10^6 bytes.
    MB,
    /// 10^9 bytes.
    GB,
    /// 2^20 bytes.
    MiB,
    /// 2^30 bytes.
    GiB,
}

/// Whose memory a size is of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Of {
    /// Each rank has as much.
    Rank,
    /// All ranks on a node have so much together.
    Node,
    /// All ranks of the server have so much together.
    All,
}

/// What an option takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Takes {
    /// The unit that it counts in.
    pub unit: Unit,
    /// Whose memory it says.
    pub of: Of,
    /// Whether it is memory of the host for evicted KV blocks.
    pub evicted: bool,
    /// Where the engine shows it.
    pub evidence: &'static str,
}

impl Unit {
    /// Every unit.
    pub const ALL: [Self; 5] = [Self::B, Self::MB, Self::GB, Self::MiB, Self::GiB];

    /// Reads a unit as it is written.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|unit| unit.name() == text)
    }

    /// Returns the unit as it is written.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::B => "B",
            Self::MB => "MB",
            Self::GB => "GB",
            Self::MiB => "MiB",
            Self::GiB => "GiB",
        }
    }

    /// Returns how many bytes it is.
    #[must_use]
    pub fn bytes(self) -> i64 {
        match self {
            Self::B => 1,
            Self::MB => 1_000_000,
            Self::GB => 1_000_000_000,
            Self::MiB => 1 << 20,
            Self::GiB => 1 << 30,
        }
    }
}

impl Of {
    /// Reads whose a size is, as it is written.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        [Self::Rank, Self::Node, Self::All].into_iter().find(|of| of.name() == text)
    }

    /// Returns it as it is written.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Rank => "rank",
            Self::Node => "node",
            Self::All => "all",
        }
    }
}

impl fmt::Display for Of {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str(match self {
            Self::Rank => "each rank",
            Self::Node => "all ranks of a node",
            Self::All => "all ranks together",
        })
    }
}

/// Returns what an option takes, or a member of it (`--kv-transfer-config.a.b`), or an entry of the
/// engine's configuration file (`kv_cache_config.host_cache_size`); `None` if it is no size, or
/// nobody has looked.
#[must_use]
pub fn takes(engine: Engine, place: &str) -> Option<Takes> {
    static LINES: LazyLock<Vec<(Engine, &str, Takes)>> =
        LazyLock::new(|| TABLE.lines().filter_map(line).collect());
    LINES.iter().find(|(of, there, _)| *of == engine && *there == place).map(|(_, _, takes)| *takes)
}

fn line(line: &'static str) -> Option<(Engine, &'static str, Takes)> {
    let mut cells = line.split('\t');
    let (engine, place) = (Engine::parse(cells.next()?)?, cells.next()?);
    let (unit, of) = (Unit::parse(cells.next()?)?, Of::parse(cells.next()?)?);
    let evicted = cells.next()? == "evicted";
    Some((engine, place, Takes { unit, of, evicted, evidence: cells.next().unwrap_or_default() }))
}

#[cfg(test)]
mod tests {
    use super::{Of, TABLE, Unit, takes};
    use crate::Engine;

    #[test]
    fn every_line_of_the_table_is_read() {
        for line in TABLE.lines().filter(|line| !line.starts_with('#')) {
            let cells: Vec<&str> = line.split('\t').collect();
            let engine = Engine::parse(cells[0]).unwrap_or_else(|| panic!("{line}"));
            let takes = takes(engine, cells[1]).unwrap_or_else(|| panic!("{line}"));
            assert!(!takes.evidence.is_empty(), "{line}");
        }
    }

    #[test]
    fn one_engines_option_counts_decimal_for_each_rank_and_anothers_binary_for_all() {
        let sglang = takes(Engine::Sglang, "--hicache-size").map(|takes| (takes.unit, takes.of));
        let vllm = takes(Engine::Vllm, "--kv-offloading-size").map(|takes| (takes.unit, takes.of));
        assert_eq!((sglang, vllm), (Some((Unit::GB, Of::Rank)), Some((Unit::GiB, Of::All))));
        assert_eq!(takes(Engine::Vllm, "--hicache-size"), None);
    }
}
