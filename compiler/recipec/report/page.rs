//! The page: one file, no script, nothing from outside.

use std::collections::BTreeMap;

use ::lock::Change;
use ::lock::summary::Comparison;
use diag::Severity;
use serde_json::Value;

use super::curve;
use super::facts::{Facts, PinRow, Row};
use super::html::Html;
use crate::words::count;

const STYLE: &str = include_str!("style.css");

/// The most rows of one table of changes or findings.
const ROWS: usize = 400;

/// Shapes beside words, so that colour is never all that tells verdicts apart.
const GOOD: &str = "<svg viewBox=\"0 0 10 10\" aria-hidden=\"true\"><path d=\"M1.5 5.5 4 8l4.5-6\" fill=\"none\" stroke=\"currentColor\" stroke-width=\"1.8\"/></svg>";
const BAD: &str = "<svg viewBox=\"0 0 10 10\" aria-hidden=\"true\"><path d=\"M2 2l6 6M8 2l-6 6\" fill=\"none\" stroke=\"currentColor\" stroke-width=\"1.8\"/></svg>";
const OPEN: &str = "<svg viewBox=\"0 0 10 10\" aria-hidden=\"true\"><circle cx=\"5\" cy=\"5\" r=\"3.5\" fill=\"none\" stroke=\"currentColor\" stroke-width=\"1.6\"/></svg>";

/// The sections: id, and what the navigation calls them.
const SECTIONS: [(&str, &str); 7] = [
    ("recipes", "Recipes"),
    ("acceptance", "Acceptance"),
    ("runs", "Runs"),
    ("cookbooks", "Cookbooks"),
    ("differences", "Differences"),
    ("pins", "Pins"),
    ("findings", "Findings"),
];

/// Writes the page.
pub(super) fn write(facts: &Facts) -> String {
    let mut html = Html::default();
    html.raw("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
    // Nothing is fetched and nothing runs, whatever a value should manage to say.
    html.raw("<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; img-src data:\">\n");
    html.raw("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<link rel=\"icon\" href=\"data:,\">\n");
    html.raw("<title>Recipes</title>\n<style>\n").raw(STYLE).raw("</style>\n</head>\n<body>\n");
    html.raw("<a class=\"skip\" href=\"#content\">To the content</a>\n");
    head(&mut html, facts);
    html.raw("<nav aria-label=\"Sections\"><ul>");
    for (id, name) in SECTIONS {
        html.raw("<li><a href=\"#").raw(id).raw("\">").raw(name).raw("</a></li>");
    }
    html.raw("</ul></nav>\n<main id=\"content\">\n");
    recipes(&mut html, facts);
    acceptance(&mut html, facts);
    runs(&mut html, facts);
    cookbooks(&mut html, facts);
    differences(&mut html, facts);
    pins(&mut html, facts);
    findings(&mut html, facts);
    html.raw("</main>\n<footer>Written by recipec ").raw(env!("CARGO_PKG_VERSION"));
    html.raw(". The page holds no script and fetches nothing.</footer>\n</body>\n</html>\n");
    html.finish()
}

fn head(html: &mut Html, facts: &Facts) {
    html.raw("<header>\n<h1>Recipes, their pins, and what is known of them</h1>\n");
    html.raw("<p class=\"soft\">Each recipe is proved at every point on every target; what it names from outside is pinned by content.</p>\n");
    html.raw("<dl class=\"figures\">");
    let errors = facts.findings.iter().filter(|finding| finding.severity == Severity::Error).count();
    let contradicted: usize = facts.recipes.iter().map(|row| row.runs[1]).sum();
    let figures = [
        ("Recipes", facts.recipes.len(), String::new()),
        ("Points", facts.points, String::new()),
        ("Plans", facts.plans, String::new()),
        ("Pinned", facts.pinned, format!("of {}", facts.wanted)),
        ("Findings", facts.findings.len(), format!("{errors} errors")),
        ("Runs", facts.runs.len(), format!("{contradicted} contradicted")),
    ];
    for (name, figure, note) in figures {
        html.raw("<div>").element("dt", name).raw("<dd>").text(figure);
        if !note.is_empty() {
            html.raw(" ").element("small", note);
        }
        html.raw("</dd></div>");
    }
    html.raw("</dl>\n</header>\n");
}

fn section(html: &mut Html, id: &str, title: &str, about: &str) {
    html.raw("<section id=\"")
        .raw(id)
        .raw("\" aria-labelledby=\"h-")
        .raw(id)
        .raw("\">\n<h2 id=\"h-")
        .raw(id)
        .raw("\">");
    html.text(title).raw("</h2>\n<p class=\"soft\">").text(about).raw("</p>\n");
}

fn table(html: &mut Html, caption: &str, columns: &[&str]) {
    // A table that is wider than the screen is scrolled, also by keyboard.
    html.raw("<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"").text(caption).raw("\">");
    html.raw("<table><caption>").text(caption).raw("</caption><thead><tr>");
    for column in columns {
        let class = if column.starts_with('#') { " class=\"number\"" } else { "" };
        html.raw("<th scope=\"col\"").raw(class).raw(">").text(column.trim_start_matches('#')).raw("</th>");
    }
    html.raw("</tr></thead>\n<tbody>\n");
}

const END: &str = "</tbody></table></div>\n";

fn verdict(html: &mut Html, word: &str) {
    let (class, shape) = match word {
        "reproduced" | "holds" => ("good", GOOD),
        "contradicted" | "drifts" | "error" => ("bad", BAD),
        "unproven" | "unreadable" | "warning" => ("open", OPEN),
        _ => ("quiet", OPEN),
    };
    html.raw("<span class=\"verdict ").raw(class).raw("\">").raw(shape).text(word).raw("</span>");
}

fn recipes(html: &mut Html, facts: &Facts) {
    section(
        html,
        "recipes",
        "Recipes",
        "By family of model. Points are cells of the search space; pins are what a recipe names from outside.",
    );
    let mut families: BTreeMap<&str, Vec<&Row>> = BTreeMap::new();
    for row in &facts.recipes {
        families.entry(&row.family).or_default().push(row);
    }
    // Columns that would be empty everywhere are left out.
    let mut columns = vec!["Recipe", "Checkpoint", "Targets", "#Points", "#Pinned"];
    let (asked, ran) = (!facts.verdicts.is_empty(), !facts.runs.is_empty());
    columns.extend(asked.then_some("Cookbook"));
    columns.extend(ran.then_some("Runs"));
    table(html, &count(facts.recipes.len(), "recipe"), &columns);
    html.raw("</tbody>");
    for (family, rows) in families {
        html.raw("<tbody><tr><th scope=\"rowgroup\" colspan=\"")
            .text(columns.len())
            .raw("\">")
            .name(family)
            .raw("</th></tr>\n");
        for row in rows {
            recipe(html, row, asked, ran);
        }
        html.raw("</tbody>\n");
    }
    html.raw("</table></div>\n</section>\n");
}

fn recipe(html: &mut Html, row: &Row, asked: bool, ran: bool) {
    html.raw("<tr><th scope=\"row\"><code>").name(&row.key).raw("</code><span class=\"below\">");
    html.text(&row.engine).raw(", ").name(&row.manifest).raw("</span></th><td>").name(&row.checkpoint);
    html.raw("<span class=\"below\">")
        .name(&row.precision)
        .raw("</span></td><td>")
        .name(row.targets.join(", "));
    html.raw("</td>").element("td class=\"number\"", row.points);
    let pins = if row.locked { format!("{} of {}", row.pinned, row.wanted) } else { "no lock".to_owned() };
    html.element("td class=\"number\"", pins);
    if asked {
        html.raw("<td>");
        match &row.cookbook {
            Some(word) => verdict(html, word),
            None => {
                html.element("span class=\"quiet\"", "not asked");
            }
        }
        html.raw("</td>");
    }
    if ran {
        html.raw("<td>");
        let words = ["reproduced", "contradicted", "unproven"];
        for (count, word) in row.runs.iter().zip(words).filter(|(count, _)| **count > 0) {
            html.raw("<div class=\"nowrap\">").text(count).raw(" ");
            verdict(html, word);
            html.raw("</div>");
        }
        html.raw("</td>");
    }
    html.raw("</tr>\n");
}

fn acceptance(html: &mut Html, facts: &Facts) {
    section(
        html,
        "acceptance",
        "Acceptance",
        "Golden curves: how many tokens one step yields, by the number of draft tokens. Filled circles are the lengths \
         that recipes are pinned to, diamonds what runs realised.",
    );
    if facts.curves.is_empty() {
        html.element("p", "No recipe here is told an acceptance length.");
    }
    html.raw("<div class=\"curves\">\n");
    for (id, (name, curve, pinned)) in facts.curves.iter().enumerate() {
        curve::figure(html, name, curve, pinned, id);
    }
    html.raw("</div>\n</section>\n");
}

fn text<'v>(value: &'v Value, name: &str) -> &'v str {
    value.get(name).and_then(Value::as_str).unwrap_or_default()
}

fn list<'v>(value: &'v Value, name: &str) -> impl Iterator<Item = &'v Value> {
    value.get(name).and_then(Value::as_array).into_iter().flatten()
}

fn runs(html: &mut Html, facts: &Facts) {
    section(html, "runs", "Runs", "Published points beside the lock that they claim to be of.");
    if facts.runs.is_empty() {
        html.raw("<p>No run was given. <code>recipec audit run DIR --lock L --output json:run.json</code> writes what ");
        html.raw("<code>recipec report --with run.json</code> shows here.</p>\n</section>\n");
        return;
    }
    let columns =
        ["Verdict", "Point", "#tokens/s/GPU", "#TTFT ms", "#TPOT ms", "#Score", "What is not as locked"];
    table(html, &count(facts.runs.len(), "result"), &columns);
    for run in &facts.runs {
        html.raw("<tr><td>");
        verdict(html, text(run, "verdict"));
        html.raw("</td><th scope=\"row\"><code>");
        let points: Vec<&str> = list(run, "points").filter_map(Value::as_str).collect();
        let point = if points.is_empty() { text(run, "recipe").to_owned() } else { points.join(", ") };
        html.name(point).raw("</code><span class=\"below\">").name(text(run, "path")).raw("</span></th>");
        for figure in ["tokens_per_second_per_gpu", "ttft_ms", "tpot_ms", "score"] {
            let value = run.get("measured").and_then(|measured| measured.get(figure)?.as_f64());
            html.element(
                "td class=\"number\"",
                value.map_or_else(String::new, |value| format!("{value:.2}")),
            );
        }
        html.raw("<td>");
        let wrong: Vec<&Value> =
            list(run, "checks").filter(|check| text(check, "verdict") != "reproduced").take(ROWS).collect();
        for check in &wrong {
            html.raw("<div>").text(text(check, "about")).raw(": ").name(text(check, "theirs"));
            if !text(check, "ours").is_empty() {
                html.raw("<span class=\"below\">the lock says ").name(text(check, "ours")).raw("</span>");
            }
            html.raw("</div>");
        }
        if wrong.is_empty() {
            let checked = list(run, "checks").count();
            html.element("span class=\"quiet\"", format!("{} hold", count(checked, "comparison")));
        }
        html.raw("</td></tr>\n");
    }
    html.raw(END).raw("</section>\n");
}

fn cookbooks(html: &mut Html, facts: &Facts) {
    section(
        html,
        "cookbooks",
        "Cookbooks",
        "What recipes say, beside what the engines' own pages say of the same model and hardware.",
    );
    if facts.verdicts.is_empty() {
        html.raw("<p>Nobody was asked. <code>--mirror DIR</code>, or <code>--with</code> what ");
        html.raw("<code>recipec verify --format json</code> wrote, shows verdicts here.</p>\n</section>\n");
        return;
    }
    // What holds is said in a line, and listed for those who want to see it.
    let (holding, open): (Vec<&Value>, Vec<&Value>) =
        facts.verdicts.iter().partition(|one| text(one, "verdict") == "holds");
    if !open.is_empty() {
        judged(html, &format!("{} to look at", count(open.len(), "verdict")), &open);
    }
    if !holding.is_empty() {
        html.raw("<details><summary>")
            .text(format!("{} that hold", count(holding.len(), "verdict")))
            .raw("</summary>\n");
        judged(html, "What holds", &holding);
        html.raw("</details>\n");
    }
    html.raw("</section>\n");
}

fn judged(html: &mut Html, caption: &str, verdicts: &[&Value]) {
    table(html, caption, &["Verdict", "Recipe", "What differs", "Evidence"]);
    for one in verdicts.iter().take(ROWS) {
        html.raw("<tr><td>");
        verdict(html, text(one, "verdict"));
        html.raw("</td><th scope=\"row\"><code>")
            .name(text(one, "recipe"))
            .raw("</code><span class=\"below\">");
        html.text(text(one, "slug")).raw("</span></th><td>");
        let differing = list(one, "facets").filter(|facet| {
            !matches!(text(facet, "verdict"), "match" | "equivalent_by_default" | "informational")
        });
        let mut any = false;
        for facet in differing.take(12) {
            any = true;
            html.raw("<div>")
                .text(text(facet, "facet"))
                .raw(": ")
                .name(shown(facet.get("ours")))
                .raw(" here, ");
            html.name(shown(facet.get("theirs"))).raw(" there</div>");
        }
        if !any {
            html.element("span class=\"quiet\"", text(one, "message").replace('`', ""));
        }
        html.raw("</td><td>");
        for evidence in list(one, "evidence").filter(|evidence| !text(evidence, "path").is_empty()).take(3) {
            let line = evidence.get("line").and_then(Value::as_u64).filter(|line| *line > 0);
            let (at, anchor) =
                line.map_or_else(Default::default, |line| (format!(":{line}"), format!("#L{line}")));
            let (path, repo) = (text(evidence, "path"), text(evidence, "repo"));
            html.raw("<div class=\"mono\">");
            if repo.is_empty() {
                html.name(format!("{path}{at}"));
            } else {
                let commit = text(evidence, "commit");
                html.link(
                    &format!("https://github.com/{repo}/blob/{commit}/{path}{anchor}"),
                    format!("{path}{at}"),
                );
            }
            html.raw("</div>");
        }
        html.raw("</td></tr>\n");
    }
    html.raw(END);
}

/// A value in a few words.
fn shown(value: Option<&Value>) -> String {
    match value {
        None | Some(Value::Null) => "nothing".to_owned(),
        Some(Value::String(text)) => text.clone(),
        Some(Value::Bool(true)) => "given".to_owned(),
        Some(other) => other.to_string(),
    }
}

fn differences(html: &mut Html, facts: &Facts) {
    let about = format!("What these manifests change against the locks of {}.", facts.since);
    section(html, "differences", "Differences", &about);
    match &facts.differences {
        Err(why) => {
            html.raw("<p>Nothing to compare with: ").text(why).raw("</p>\n");
        }
        Ok(comparison) => compared(html, comparison),
    }
    html.raw("</section>\n");
}

fn compared(html: &mut Html, comparison: &Comparison) {
    for line in ::lock::summary::words(comparison, ::lock::summary::Language::English) {
        html.raw("<p>").text(line.replace('`', "")).raw("</p>\n");
    }
    let mut recipes: BTreeMap<&str, Vec<&Change>> = BTreeMap::new();
    for change in &comparison.changes {
        recipes.entry(&change.recipe).or_default().push(change);
    }
    for (recipe, changes) in recipes {
        html.raw("<details><summary><code>").name(recipe).raw("</code> <span class=\"soft\">");
        html.text(count(changes.len(), "field")).raw("</span></summary>\n");
        table(html, &format!("What changes in {recipe}"), &["Field", "Before", "Now", "#Points"]);
        for change in changes.iter().take(ROWS) {
            html.raw("<tr><th scope=\"row\"><code>").name(&change.path).raw("</code></th><td><code>");
            html.name(shown(Some(&change.old))).raw("</code></td><td><code>").name(shown(Some(&change.new)));
            html.raw("</code></td>").element("td class=\"number\"", change.points.len()).raw("</tr>\n");
        }
        html.raw(END).raw("</details>\n");
    }
}

fn pins(html: &mut Html, facts: &Facts) {
    section(
        html,
        "pins",
        "Pins",
        "What names resolved to, by content. What nobody has resolved is listed with its reason.",
    );
    let kinds = [
        ("image", "Images"),
        ("checkpoint", "Checkpoints"),
        ("data set", "Data sets"),
        ("source", "Sources"),
    ];
    for (kind, title) in kinds {
        let rows: Vec<&PinRow> = facts.pins.iter().filter(|pin| pin.kind == kind).collect();
        if rows.is_empty() {
            continue;
        }
        let pinned = rows.iter().filter(|pin| !pin.pins.is_empty()).count();
        html.raw("<h3>").raw(title).raw("</h3>\n");
        table(html, &format!("{pinned} of {} pinned", rows.len()), &["Name", "Content", "#Recipes"]);
        for pin in rows {
            html.raw("<tr><th scope=\"row\">").name(&pin.name).raw("</th><td>");
            for line in &pin.pins {
                html.raw("<div class=\"mono\">").name(line).raw("</div>");
            }
            if pin.pins.is_empty() {
                html.raw("<span class=\"verdict open\">")
                    .raw(OPEN)
                    .raw("no pin</span><span class=\"below\">");
                html.text(pin.reason.replace('`', "")).raw("</span>");
            }
            html.raw("</td>").element("td class=\"number\"", pin.recipes).raw("</tr>\n");
        }
        html.raw(END);
    }
    if facts.pins.is_empty() {
        html.raw("<p>There is no lock yet. <code>recipec lock</code> writes them.</p>\n");
    }
    html.raw("</section>\n");
}

fn findings(html: &mut Html, facts: &Facts) {
    section(
        html,
        "findings",
        "Findings",
        "What recipec check says of these manifests. Each name has a page: recipec explain NAME.",
    );
    if facts.findings.is_empty() {
        html.element("p", "Nothing was found.").raw("</section>\n");
        return;
    }
    table(html, &count(facts.findings.len(), "finding"), &["Severity", "Name", "What", "Where"]);
    for finding in facts.findings.iter().take(ROWS) {
        html.raw("<tr><td>");
        verdict(html, finding.severity.word());
        html.raw("</td><th scope=\"row\"><code>").text(finding.slug).raw("</code></th><td>");
        html.name(finding.message.replace('`', ""))
            .raw("</td><td class=\"mono\">")
            .name(&finding.place)
            .raw("</td></tr>\n");
    }
    html.raw(END);
    if facts.findings.len() > ROWS {
        html.element("p class=\"soft\"", format!("and {} more", facts.findings.len() - ROWS));
    }
    html.raw("</section>\n");
}
