//! A difference in words, for the reviewer who has fifteen seconds.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use serde::Serialize;
use serde_json::Value;

use crate::diff::{Cause, Change};
use crate::files::Difference;

/// The language of a summary.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Language {
    /// English.
    #[default]
    English,
    /// Simplified Chinese.
    Chinese,
}

/// What differs between two sets of locks.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Comparison {
    /// Fields that differ, in order of recipe and path.
    pub changes: Vec<Change>,
    /// Recipes that are only in the newer set.
    pub added: Vec<String>,
    /// Recipes that are only in the older set.
    pub removed: Vec<String>,
    /// Number of recipes that are in both and equal.
    pub unchanged: usize,
    /// What differs between the files of checkpoints, where both lists are at hand.
    pub files: Vec<Files>,
}

/// The files of one checkpoint before, beside those of another now.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Files {
    /// Digest of the list before, as the change of `pins.checkpoint.files` has it.
    pub old: String,
    /// Digest of the list now.
    pub new: String,
    /// What differs.
    #[serde(flatten)]
    pub difference: Difference,
}

/// Returns the difference in words, one line a fact: `4 recipes: checkpoint A to B`, `74 points
/// change argv`, `image unchanged`.
#[must_use]
pub fn words(comparison: &Comparison, language: Language) -> Vec<String> {
    let say = |english: String, chinese: String| match language {
        Language::English => english,
        Language::Chinese => chinese,
    };
    let mut lines = Vec::new();
    for (list, english, chinese) in
        [(&comparison.added, "added", "新增"), (&comparison.removed, "removed", "删除")]
    {
        if !list.is_empty() {
            let names = names(list);
            lines.push(say(
                format!("{} {english}: {names}", recipes(list.len())),
                format!("{chinese} {} 个配方：{names}", list.len()),
            ));
        }
    }
    for ((kind, old, new), recipes_with) in renamed(&comparison.changes) {
        let count = recipes_with.len();
        lines.push(say(
            format!("{}: {kind} `{old}` to `{new}`", recipes(count)),
            format!("{count} 个配方：{} `{old}` → `{new}`", kind_chinese(&kind)),
        ));
    }
    for fact in told_facts(&comparison.changes) {
        let (name, old, new) = fact;
        let (english, chinese) = name;
        lines.push(say(
            format!("checkpoint: {english} `{old}` to `{new}`"),
            format!("模型权重：{chinese} `{old}` → `{new}`"),
        ));
    }
    for Files { difference, .. } in &comparison.files {
        let Difference { added, removed, changed, unchanged } = difference;
        let paths: Vec<String> = changed
            .iter()
            .map(|[_, now]| now)
            .chain(added)
            .chain(removed)
            .map(|file| file.path.clone())
            .collect();
        let counts = (changed.len(), added.len(), removed.len());
        lines.push(say(
            format!(
                "checkpoint files: {} changed, {} added, {} removed, {unchanged} the same: {}",
                counts.0,
                counts.1,
                counts.2,
                names(&paths)
            ),
            format!(
                "模型文件：{} 个有变化，新增 {}，删除 {}，{unchanged} 个不变：{}",
                counts.0,
                counts.1,
                counts.2,
                names(&paths)
            ),
        ));
    }
    let harness = recipes_where(&comparison.changes, |change| change.path.starts_with("pins.harness"));
    if !harness.is_empty() {
        lines.push(say(
            format!(
                "{}: the client harness changed, so results before and after do not compare",
                recipes(harness.len())
            ),
            format!("{} 个配方：测试客户端有变化，前后结果不可直接比较", harness.len()),
        ));
    }
    let moved = recipes_where(&comparison.changes, |change| {
        change.path.starts_with("pins.") && change.cause == Cause::Pin
    });
    if !moved.is_empty() {
        lines.push(say(
            format!("{}: a pin moved under an unchanged name", recipes(moved.len())),
            format!("{} 个配方：名称未变，但锁定的内容变了", moved.len()),
        ));
    }
    let behaviour: [(&str, &str, fn(&str) -> bool); 3] = [
        ("argv", "命令行参数", |path| {
            is_process(path) && !path.contains(".env.") && !path.contains(".unset.")
        }),
        ("environment", "环境变量", |path| {
            is_process(path) && (path.contains(".env.") || path.contains(".unset."))
        }),
        ("the container or the allocation", "容器或资源申请", |path| {
            is_machine(path) && path != "container.image"
        }),
    ];
    for (english, chinese, is) in behaviour {
        let points = points_where(&comparison.changes, |change| {
            is(&change.path) && change.cause != Cause::EngineDefault
        });
        if points > 0 {
            let verb = if points == 1 { "changes" } else { "change" };
            let noun = if points == 1 { "point" } else { "points" };
            lines.push(say(
                format!("{points} {noun} {verb} {english}"),
                format!("{points} 个测试点的{chinese}有变化"),
            ));
        }
    }
    let defaults: BTreeSet<&str> = comparison
        .changes
        .iter()
        .filter(|change| change.cause == Cause::EngineDefault)
        .map(|change| change.path.as_str())
        .collect();
    if !defaults.is_empty() {
        let count = defaults.len();
        lines.push(say(
            format!("{count} of the engine's own defaults changed under flags that nobody sets"),
            format!("引擎自身有 {count} 个默认值发生变化，而配方没有设置这些参数"),
        ));
    }
    for (path, english, chinese) in
        [("points", "search space", "搜索空间"), ("targets", "targets", "目标集群")]
    {
        let changed = recipes_where(&comparison.changes, |change| change.path == path);
        if !changed.is_empty() {
            lines.push(say(
                format!("{}: {english} changed", recipes(changed.len())),
                format!("{} 个配方：{chinese}有变化", changed.len()),
            ));
        }
    }
    let changed = recipes_where(&comparison.changes, |_| true);
    for (kind, chinese) in [("image", "镜像"), ("checkpoint", "模型权重")] {
        let prefix = format!("pins.{kind}");
        if !changed.is_empty() && !comparison.changes.iter().any(|change| change.path.starts_with(&prefix)) {
            lines.push(say(format!("{kind} unchanged"), format!("{chinese}未变")));
        }
    }
    lines.push(if changed.is_empty() && comparison.added.is_empty() && comparison.removed.is_empty() {
        say(
            format!("nothing differs in {}", recipes(comparison.unchanged)),
            format!("{} 个配方均无变化", comparison.unchanged),
        )
    } else {
        say(
            format!("{} unchanged", recipes(comparison.unchanged)),
            format!("其余 {} 个配方无变化", comparison.unchanged),
        )
    });
    lines
}

/// Facts of a checkpoint that a reviewer wants to see at once, with their names in both languages.
const TOLD: [(&str, (&str, &str)); 5] = [
    ("producer", ("producer", "量化工具")),
    ("quantizationAlgorithm", ("scheme", "量化方案")),
    ("context", ("context", "上下文长度")),
    ("architecture", ("architecture", "架构")),
    ("weightBytes", ("weights", "权重大小")),
];

/// Returns what those facts were and are, where exactly one pair of values is known, and which kinds
/// of modules are quantized in another way.
fn told_facts(changes: &[Change]) -> Vec<((&'static str, &'static str), String, String)> {
    let value = |field: &str, value: &Value| match (field, value.as_u64()) {
        // Whole megabytes say whether it is the same size; the table has the bytes.
        ("weightBytes", Some(bytes)) => {
            format!("{}.{:02} GB", bytes / 1_000_000_000, bytes / 10_000_000 % 100)
        }
        _ => plain(value),
    };
    let of = |field: &str| -> BTreeSet<(String, String)> {
        let found = changes.iter().filter(|change| {
            change.path.strip_prefix("known.checkpoint").is_some_and(|rest| {
                rest.rsplit_once(']').map_or(rest, |(_, rest)| rest).strip_prefix('.') == Some(field)
            }) && !change.old.is_null()
                && !change.new.is_null()
        });
        found.map(|change| (value(field, &change.old), value(field, &change.new))).collect()
    };
    let mut told = Vec::new();
    for (field, name) in TOLD {
        told.extend(of(field).into_iter().filter(|(old, new)| old != new).map(|(old, new)| (name, old, new)));
    }
    let mut schemes: BTreeSet<(&str, String, String)> = BTreeSet::new();
    for change in changes {
        if change.path.starts_with("known.checkpoint")
            && let Some((_, kind)) = change.path.split_once(".schemes.")
        {
            let text = |value: &Value| if value.is_null() { "–".to_owned() } else { plain(value) };
            schemes.insert((kind, text(&change.old), text(&change.new)));
        }
    }
    let list = |side: fn(&(&str, String, String)) -> String| {
        schemes.iter().take(6).map(side).collect::<Vec<_>>().join(", ")
    };
    if !schemes.is_empty() {
        let (old, new) =
            (list(|(kind, old, _)| format!("{kind} {old}")), list(|(kind, _, new)| format!("{kind} {new}")));
        told.push((("modules", "各模块量化方案"), old, new));
    }
    told
}

fn is_machine(path: &str) -> bool {
    path.starts_with("container") || path.starts_with("allocate")
}

fn is_process(path: &str) -> bool {
    let other = ["pins.", "known.", "points", "targets"];
    !is_machine(path) && !other.iter().any(|prefix| path.starts_with(prefix))
}

fn recipes(count: usize) -> String {
    if count == 1 { "1 recipe".to_owned() } else { format!("{count} recipes") }
}

fn names(list: &[String]) -> String {
    const SHOWN: usize = 6;
    let mut text = list.iter().take(SHOWN).map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    if list.len() > SHOWN {
        let _ = write!(text, ", … (+{})", list.len() - SHOWN);
    }
    text
}

fn kind_chinese(kind: &str) -> &str {
    match kind {
        "image" => "镜像",
        "checkpoint" => "模型权重",
        "dataset" => "数据集",
        other => other,
    }
}

fn recipes_where(changes: &[Change], is: impl Fn(&Change) -> bool) -> BTreeSet<&str> {
    changes.iter().filter(|change| is(change)).map(|change| change.recipe.as_str()).collect()
}

fn points_where(changes: &[Change], is: impl Fn(&Change) -> bool) -> usize {
    let points: BTreeSet<&String> =
        changes.iter().filter(|change| is(change)).flat_map(|change| &change.points).collect();
    points.len()
}

/// Returns what is named differently from outside: kind, old name, new name, and who does.
fn renamed(changes: &[Change]) -> BTreeMap<(String, String, String), BTreeSet<&str>> {
    let mut found: BTreeMap<(String, String, String), BTreeSet<&str>> = BTreeMap::new();
    for change in changes {
        let Some(rest) = change.path.strip_prefix("pins.") else { continue };
        let Some((kind, field)) = rest.rsplit_once('.') else { continue };
        if !matches!(field, "reference" | "repository" | "revision" | "path") {
            continue;
        }
        let kind = kind.split('[').next().unwrap_or(kind).to_owned();
        let text = |value: &Value| value.as_str().unwrap_or("none").to_owned();
        found.entry((kind, text(&change.old), text(&change.new))).or_default().insert(&change.recipe);
    }
    found
}

/// Returns the difference as Markdown, as a comment on a pull request: the summary, then a table
/// for each set of recipes that change alike.
#[must_use]
pub fn markdown(comparison: &Comparison, language: Language) -> String {
    let mut text = String::new();
    for line in words(comparison, language) {
        let _ = writeln!(text, "- {line}");
    }
    for (recipes, changes) in alike(&comparison.changes) {
        let [field, old, new, points] = match language {
            Language::English => ["field", "old", "new", "points"],
            Language::Chinese => ["字段", "旧值", "新值", "测试点"],
        };
        let (pins, behaviour): (Vec<&&Change>, Vec<&&Change>) = changes
            .iter()
            .partition(|change| change.path.starts_with("pins.") || change.path.starts_with("known."));
        let _ = write!(
            text,
            "\n**{}**\n\n",
            names(&recipes.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>())
        );
        let _ = writeln!(text, "| {field} | {old} | {new} | {points} |\n|---|---|---|---|");
        for change in behaviour.into_iter().chain(pins) {
            let [old, new] = [&change.old, &change.new].map(|value| cell(value, 60));
            let _ = writeln!(
                text,
                "| `{}` | {old} | {new} | {} |",
                change.path.replace('|', "\\|"),
                points_text(change, &recipes)
            );
        }
    }
    text
}

/// Returns the difference for a terminal: the summary, then each field with old and new value.
#[must_use]
pub fn human(comparison: &Comparison, language: Language) -> String {
    let mut text = String::new();
    for line in words(comparison, language) {
        let _ = writeln!(text, "{line}");
    }
    for (recipes, changes) in alike(&comparison.changes) {
        let _ = write!(text, "\n{}\n", recipes.join(", "));
        for change in changes {
            let at = match points_text(change, &recipes) {
                // Of the recipe, and of no point.
                _ if change.points.is_empty() => String::new(),
                points => format!("  ({points})"),
            };
            let _ = writeln!(text, "  {}{at}", change.path);
            for (sign, value) in [("-", &change.old), ("+", &change.new)] {
                if !value.is_null() {
                    let _ = writeln!(text, "    {sign} {}", plain(value));
                }
            }
        }
    }
    text
}

fn points_text(change: &Change, recipes: &[&str]) -> String {
    let count = change.points.len() * recipes.len();
    match change.points.as_slice() {
        [one] if recipes.len() == 1 => format!("`{one}`"),
        _ => count.to_string(),
    }
}

/// Groups recipes whose changes are the same but for the points' names and number.
fn alike(changes: &[Change]) -> Vec<(Vec<&str>, Vec<&Change>)> {
    let mut of: BTreeMap<&str, Vec<&Change>> = BTreeMap::new();
    for change in changes {
        of.entry(&change.recipe).or_default().push(change);
    }
    let mut groups: Vec<(Vec<&str>, Vec<&Change>)> = Vec::new();
    for (recipe, list) in of {
        let key = |list: &[&Change]| -> Vec<(String, String, String, usize)> {
            let parts = list.iter().map(|change| {
                (change.path.clone(), change.old.to_string(), change.new.to_string(), change.points.len())
            });
            parts.collect()
        };
        match groups.iter_mut().find(|(_, known)| key(known) == key(&list)) {
            Some((recipes, _)) => recipes.push(recipe),
            None => groups.push((vec![recipe], list)),
        }
    }
    groups
}

fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// A table cell: code, shortened, with the characters that break tables or code escaped.
fn cell(value: &Value, longest: usize) -> String {
    if value.is_null() {
        return "–".to_owned();
    }
    let text: String = plain(value).replace(['\n', '\r'], " ").replace('`', "'").replace('|', "\\|");
    if text.chars().count() <= longest {
        return format!("`{text}`");
    }
    let start: String = text.chars().take(longest - 1).collect();
    format!("`{start}…`")
}
