//! Selectors: short descriptions of sets of plans, such as `conc>=8 tp=4`, that people can read
//! in a diff and that are read back exactly.

use std::collections::{BTreeMap, BTreeSet};

use crate::document::PlanKey;

/// The plans of one lock, each with the fields that tell them apart.
#[derive(Debug)]
pub(crate) struct Rows {
    rows: BTreeMap<PlanKey, BTreeMap<String, String>>,
}

impl Rows {
    pub(crate) fn new(rows: BTreeMap<PlanKey, BTreeMap<String, String>>) -> Self {
        Self { rows }
    }

    /// Returns the rows of these plans only.
    pub(crate) fn only(&self, keys: &BTreeSet<PlanKey>) -> Self {
        let rows = self.rows.iter().filter(|(key, _)| keys.contains(*key));
        Self { rows: rows.map(|(key, fields)| (key.clone(), fields.clone())).collect() }
    }

    pub(crate) fn keys(&self) -> BTreeSet<PlanKey> {
        self.rows.keys().cloned().collect()
    }

    /// Returns the fields by which sets may be described, best first. `hint` is the value that
    /// the set shares: a flag `--tp 4` is best described by `tp=4`.
    fn fields(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for fields in self.rows.values() {
            for name in fields.keys() {
                if !names.contains(&name.as_str()) {
                    names.push(name);
                }
            }
        }
        let rank = |name: &str| match name {
            "conc" => 0,
            "tp" => 1,
            "ep" => 2,
            "mode" => 8,
            "target" => 9,
            _ => 5,
        };
        names.retain(|name| {
            self.rows.values().all(|fields| fields.get(*name).is_none_or(|value| plain(value)))
        });
        names.sort_by_key(|name| (rank(name), *name));
        names
    }

    fn value<'a>(&'a self, key: &PlanKey, field: &str) -> &'a str {
        self.rows.get(key).and_then(|fields| fields.get(field)).map_or("-", String::as_str)
    }

    fn matches(&self, clause: &Clause, key: &PlanKey) -> bool {
        let value = self.value(key, &clause.field);
        match &clause.test {
            Test::One(values) => values.iter().any(|wanted| wanted == value),
            Test::Range(low, high) => value
                .parse::<u64>()
                .is_ok_and(|n| low.is_none_or(|low| low <= n) && high.is_none_or(|high| n <= high)),
        }
    }

    fn select(&self, clauses: &[Clause]) -> BTreeSet<PlanKey> {
        let keys = self.rows.keys().filter(|key| clauses.iter().all(|clause| self.matches(clause, key)));
        keys.cloned().collect()
    }
}

fn plain(value: &str) -> bool {
    !value.is_empty() && value.bytes().all(|b| b.is_ascii_alphanumeric() || b"._+-".contains(&b))
}

struct Clause {
    field: String,
    test: Test,
}

enum Test {
    One(Vec<String>),
    Range(Option<u64>, Option<u64>),
}

impl std::fmt::Display for Clause {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { field, test } = self;
        match test {
            Test::One(values) => write!(f, "{field}={}", values.join("|")),
            Test::Range(Some(low), Some(high)) => write!(f, "{field}={low}..{high}"),
            Test::Range(Some(low), None) => write!(f, "{field}>={low}"),
            Test::Range(None, Some(high)) => write!(f, "{field}<={high}"),
            Test::Range(None, None) => write!(f, "{field}>=0"),
        }
    }
}

/// Describes a set of plans among `rows`. `hint` is a value that the set shares.
pub(crate) fn describe(set: &BTreeSet<PlanKey>, rows: &Rows, hint: &str) -> String {
    if *set == rows.keys() {
        return "*".to_owned();
    }
    let fields = rows.fields();
    if let Some(text) = conjunction(set, rows, &fields, hint) {
        return text;
    }
    // A union of two or three readable parts is still readable; more is a list of plans.
    let mut best: Option<Vec<String>> = None;
    for field in &fields {
        let mut parts: BTreeMap<&str, BTreeSet<PlanKey>> = BTreeMap::new();
        for key in set {
            parts.entry(rows.value(key, field)).or_default().insert(key.clone());
        }
        let texts: Option<Vec<String>> =
            parts.values().map(|part| conjunction(part, rows, &fields, hint)).collect();
        if let Some(mut texts) = texts
            && best.as_ref().is_none_or(|best| texts.len() < best.len())
        {
            texts.sort();
            best = Some(texts);
        }
    }
    match best {
        Some(texts) if texts.len() <= 4 => texts.join(" or "),
        _ => set.iter().map(PlanKey::to_string).collect::<Vec<_>>().join(" or "),
    }
}

fn conjunction(set: &BTreeSet<PlanKey>, rows: &Rows, fields: &[&str], hint: &str) -> Option<String> {
    let mut clauses: Vec<Clause> = fields.iter().filter_map(|field| clause(set, rows, field)).collect();
    let hinted =
        |clause: &Clause| matches!(&clause.test, Test::One(values) if values.len() == 1 && values[0] == hint);
    clauses.sort_by_key(|clause| !hinted(clause));
    if let Some(single) = clauses.iter().find(|clause| rows.select(std::slice::from_ref(*clause)) == *set) {
        return Some(single.to_string());
    }
    if rows.select(&clauses) != *set {
        return None;
    }
    // Drop from the back what is not needed: the least telling fields stand there.
    let mut index = clauses.len();
    while index > 0 {
        index -= 1;
        let clause = clauses.remove(index);
        if rows.select(&clauses) != *set {
            clauses.insert(index, clause);
        }
    }
    Some(clauses.iter().map(Clause::to_string).collect::<Vec<_>>().join(" "))
}

/// Returns the tightest clause over `field` that the set fulfils, if it says anything.
fn clause(set: &BTreeSet<PlanKey>, rows: &Rows, field: &str) -> Option<Clause> {
    let values: BTreeSet<&str> = set.iter().map(|key| rows.value(key, field)).collect();
    let all: BTreeSet<&str> = rows.rows.keys().map(|key| rows.value(key, field)).collect();
    if values == all {
        return None;
    }
    let numbers = |texts: &BTreeSet<&str>| -> Option<BTreeSet<u64>> {
        texts.iter().map(|text| text.parse().ok()).collect()
    };
    if values.len() > 1
        && let (Some(some), Some(all)) = (numbers(&values), numbers(&all))
        && let (Some(&low), Some(&high)) = (some.first(), some.last())
        && all.range(low..=high).eq(some.iter())
    {
        let low = (all.first() != Some(&low)).then_some(low);
        let high = (all.last() != Some(&high)).then_some(high);
        return Some(Clause { field: field.to_owned(), test: Test::Range(low, high) });
    }
    let values = values.into_iter().map(str::to_owned).collect();
    Some(Clause { field: field.to_owned(), test: Test::One(values) })
}

/// Reads a selector back; `None` if it is none, or names a plan that is not there.
pub(crate) fn parse(selector: &str, rows: &Rows) -> Option<BTreeSet<PlanKey>> {
    if selector == "*" {
        return Some(rows.keys());
    }
    let mut set = BTreeSet::new();
    for part in selector.split(" or ") {
        if part.contains('/') {
            let key: PlanKey = part.parse().ok()?;
            if !rows.rows.contains_key(&key) {
                return None;
            }
            set.insert(key);
            continue;
        }
        let clauses: Option<Vec<Clause>> = part.split(' ').map(parse_clause).collect();
        set.extend(rows.select(&clauses?));
    }
    Some(set)
}

fn parse_clause(text: &str) -> Option<Clause> {
    let number = |text: &str| text.parse::<u64>().ok();
    let (field, test) = if let Some((field, low)) = text.split_once(">=") {
        (field, Test::Range(Some(number(low)?), None))
    } else if let Some((field, high)) = text.split_once("<=") {
        (field, Test::Range(None, Some(number(high)?)))
    } else {
        let (field, values) = text.split_once('=')?;
        match values.split_once("..") {
            Some((low, high)) => (field, Test::Range(Some(number(low)?), Some(number(high)?))),
            None => (field, Test::One(values.split('|').map(str::to_owned).collect())),
        }
    };
    Some(Clause { field: field.to_owned(), test })
}

#[cfg(test)]
mod tests {
    use super::*;
    use recipe::plan::Mode;

    fn rows() -> Rows {
        let mut rows = BTreeMap::new();
        let points = [(4, 4), (4, 8), (2, 8), (2, 16), (2, 32)];
        for mode in [Mode::Throughput, Mode::Eval] {
            for (job, (tp, conc)) in (0u32..).zip(points) {
                let key = PlanKey { target: "a".to_owned(), mode, job };
                let mode = if mode == Mode::Eval { "eval" } else { "throughput" };
                let fields = [("tp", tp.to_string()), ("conc", conc.to_string()), ("mode", mode.to_owned())];
                rows.insert(key, fields.map(|(name, value)| (name.to_owned(), value)).into());
            }
        }
        Rows::new(rows)
    }

    fn pick(rows: &Rows, wanted: impl Fn(u32, Mode) -> bool) -> BTreeSet<PlanKey> {
        rows.keys().into_iter().filter(|key| wanted(key.job, key.mode)).collect()
    }

    #[test]
    fn sets_are_described_as_a_person_would_and_read_back() {
        let rows = rows();
        let cases: [(BTreeSet<PlanKey>, &str, &str); 6] = [
            (rows.keys(), "", "*"),
            (pick(&rows, |job, _| job < 2), "4", "tp=4"),
            (pick(&rows, |job, _| job > 2), "", "conc>=16"),
            (pick(&rows, |job, mode| job > 2 && mode == Mode::Eval), "", "conc>=16 mode=eval"),
            (pick(&rows, |job, _| job == 1), "8", "conc=8 tp=4"),
            (pick(&rows, |job, _| job == 1 || job == 4), "", "conc=32 or conc=8 tp=4"),
        ];
        for (set, hint, expected) in cases {
            assert_eq!(describe(&set, &rows, hint), expected);
            assert_eq!(parse(expected, &rows), Some(set), "{expected}");
        }
    }

    #[test]
    fn every_set_is_read_back_exactly() {
        let rows = rows();
        let keys: Vec<PlanKey> = rows.keys().into_iter().collect();
        for bits in 1u32..1 << keys.len() {
            let set: BTreeSet<PlanKey> = keys
                .iter()
                .enumerate()
                .filter(|(index, _)| bits >> index & 1 == 1)
                .map(|(_, key)| key.clone())
                .collect();
            let text = describe(&set, &rows, "");
            assert_eq!(parse(&text, &rows), Some(set), "{text}");
        }
    }

    #[test]
    fn nonsense_is_no_selector() {
        for text in ["", "tp", "tp>=x", "a/eval/99", "tp=1..", "tp=4  conc=8"] {
            assert_eq!(parse(text, &rows()), None, "{text}");
        }
    }
}
