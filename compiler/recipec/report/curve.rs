//! Golden curves, drawn, with the points that recipes are pinned to and what runs realised.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use engine::known::Curve;

use super::html::Html;

/// A recipe at its place on a curve.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Pinned {
    pub(super) recipe: String,
    /// Draft tokens in a row.
    pub(super) tokens: u32,
    /// Thinking mode: `on` or `off`.
    pub(super) mode: String,
    /// The length that runs are told.
    pub(super) length: f64,
    /// Lengths that runs realised, each with whether it is near enough.
    pub(super) realised: Vec<(f64, bool)>,
}

/// Size of the drawing, and the room for its axes.
const WIDTH: f64 = 520.0;
const HEIGHT: f64 = 250.0;
const LEFT: f64 = 30.0;
const RIGHT: f64 = 84.0;
const TOP: f64 = 16.0;
const BOTTOM: f64 = 34.0;

struct Scale {
    tokens: f64,
    length: f64,
}

impl Scale {
    fn x(&self, tokens: u32) -> f64 {
        LEFT + (f64::from(tokens) - 1.0) / (self.tokens - 1.0).max(1.0) * (WIDTH - LEFT - RIGHT)
    }

    fn y(&self, length: f64) -> f64 {
        HEIGHT - BOTTOM - (length - 1.0) / (self.length - 1.0) * (HEIGHT - TOP - BOTTOM)
    }
}

/// Writes a figure: the drawing, and the same as a table.
pub(super) fn figure(html: &mut Html, name: &str, curve: &Curve, pinned: &[Pinned], id: usize) {
    html.raw("<figure aria-labelledby=\"curve-")
        .text(id)
        .raw("\">\n<figcaption id=\"curve-")
        .text(id)
        .raw("\"><strong>");
    html.name(name).raw("</strong> <span class=\"soft\">").name(&curve.model).raw(", ").text(&curve.method);
    for part in [&curve.draft, &curve.draft_sampling].into_iter().flatten() {
        html.raw(", ").name(part);
    }
    html.raw("</span></figcaption>\n");
    drawing(html, name, curve, pinned, id);
    table(html, name, curve, pinned);
    html.raw("</figure>\n");
}

fn lengths(curve: &Curve) -> BTreeMap<&str, Vec<(u32, f64)>> {
    let read = |values: &BTreeMap<u32, String>| {
        let numbers = values.iter().filter_map(|(tokens, text)| Some((*tokens, text.parse::<f64>().ok()?)));
        numbers.filter(|(tokens, length)| (1..=64).contains(tokens) && length.is_finite()).collect()
    };
    curve.lengths.iter().map(|(mode, values)| (mode.as_str(), read(values))).collect()
}

fn drawing(html: &mut Html, name: &str, curve: &Curve, pinned: &[Pinned], id: usize) {
    let modes = lengths(curve);
    let all = || modes.values().flatten();
    let most = all().map(|(tokens, _)| *tokens).max().unwrap_or(1);
    let highest =
        all().map(|(_, length)| *length).chain(pinned.iter().map(|one| one.length)).fold(2.0, f64::max);
    let scale = Scale { tokens: f64::from(most), length: highest.ceil().min(65.0) };
    let mut svg = String::new();
    let _ = write!(
        svg,
        "<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-labelledby=\"title-{id} about-{id}\">\n<title id=\"title-{id}\">"
    );
    html.raw(&svg).text(format!("Acceptance length by number of draft tokens: {name}")).raw("</title>");
    html.raw(&format!("<desc id=\"about-{id}\">")).text(described(&modes, pinned)).raw("</desc>\n");
    grid(html, &scale, most);
    // Where two lines end close to one another, the upper label is moved up and the lower one down.
    let ends: Vec<f64> =
        modes.values().filter_map(|line| line.last().map(|(_, length)| scale.y(*length))).collect();
    let close = matches!(ends.as_slice(), [one, other] if (one - other).abs() < 13.0);
    for (mode, line) in &modes {
        let class = if *mode == "on" { "on" } else { "off" };
        let points: Vec<String> = line
            .iter()
            .map(|(tokens, length)| format!("{:.1},{:.1}", scale.x(*tokens), scale.y(*length)))
            .collect();
        html.raw(&format!(
            "<g class=\"{class}\"><polyline class=\"line {class}\" points=\"{}\"/>",
            points.join(" ")
        ));
        for (tokens, length) in line {
            html.raw(&format!(
                "<circle class=\"dot\" cx=\"{:.1}\" cy=\"{:.1}\" r=\"2.5\"/>",
                scale.x(*tokens),
                scale.y(*length)
            ));
        }
        if let Some((tokens, length)) = line.last() {
            let y = scale.y(*length);
            let upper = ends.iter().all(|end| y <= *end);
            let moved = if !close {
                0.0
            } else if upper {
                -6.0
            } else {
                7.0
            };
            html.raw(&format!(
                "<text class=\"{class}\" x=\"{:.1}\" y=\"{:.1}\">",
                scale.x(*tokens) + if pinned.iter().any(|one| one.tokens == *tokens) { 26.0 } else { 9.0 },
                y + 4.0 + moved
            ));
            html.text(format!("thinking {mode}")).raw("</text>");
        }
        html.raw("</g>\n");
    }
    marks(html, &scale, pinned);
    html.raw("</svg>\n");
}

fn grid(html: &mut Html, scale: &Scale, most: u32) {
    let right = WIDTH - RIGHT;
    let mut length = 1.0;
    while length <= scale.length {
        let y = scale.y(length);
        let class = if length == 1.0 { "axis" } else { "grid" };
        html.raw(&format!(
            "<line class=\"{class}\" x1=\"{LEFT}\" x2=\"{right}\" y1=\"{y:.1}\" y2=\"{y:.1}\"/>"
        ));
        html.raw(&format!(
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{length:.0}</text>",
            LEFT - 9.0,
            y + 4.0
        ));
        length += if scale.length > 12.0 { 8.0 } else { 1.0 };
    }
    for tokens in (1..=most).step_by(if most > 16 { 8 } else { 1 }) {
        let x = scale.x(tokens);
        html.raw(&format!(
            "<text x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{tokens}</text>",
            HEIGHT - BOTTOM + 17.0
        ));
    }
    html.raw(&format!(
        "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">draft tokens</text>\n",
        LEFT + (right - LEFT) / 2.0,
        HEIGHT - 2.0
    ));
}

/// One mark a place, however many recipes are there.
fn marks(html: &mut Html, scale: &Scale, pinned: &[Pinned]) {
    let mut places: BTreeMap<(u32, String), Vec<&Pinned>> = BTreeMap::new();
    for one in pinned.iter().filter(|one| one.tokens >= 1 && f64::from(one.tokens) <= scale.tokens) {
        places.entry((one.tokens, format!("{:.2}", one.length))).or_default().push(one);
    }
    for ((tokens, text), recipes) in &places {
        let Some(first) = recipes.first() else { continue };
        let (x, y) = (scale.x(*tokens), scale.y(first.length));
        html.raw("<g><title>");
        html.text(recipes.iter().map(|one| one.recipe.as_str()).collect::<Vec<_>>().join(", "));
        html.raw(&format!("</title><circle class=\"pin\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"6\"/>"));
        html.raw(&format!("<text class=\"pin\" x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\">", y - 11.0));
        html.text(text).raw("</text>");
        for (realised, good) in recipes.iter().flat_map(|one| &one.realised) {
            let y = scale.y(realised.clamp(1.0, scale.length));
            let class = if *good { "run good" } else { "run" };
            let path = format!("M{:.1} {y:.1} l6 -6 l6 6 l-6 6 z", x + 11.0);
            html.raw(&format!("<path class=\"{class}\" d=\"{path}\"><title>"));
            html.text(format!("a run realised {realised:.2}")).raw("</title></path>");
        }
        html.raw("</g>\n");
    }
}

fn described(modes: &BTreeMap<&str, Vec<(u32, f64)>>, pinned: &[Pinned]) -> String {
    let mut text = String::new();
    for (mode, line) in modes {
        let values: Vec<String> =
            line.iter().map(|(tokens, length)| format!("{length:.2} at {tokens}")).collect();
        let _ = write!(text, "Thinking {mode}: {}. ", values.join(", "));
    }
    for one in pinned {
        let _ =
            write!(text, "{} is pinned to {:.2} at {} draft tokens. ", one.recipe, one.length, one.tokens);
    }
    text.trim_end().to_owned()
}

fn table(html: &mut Html, name: &str, curve: &Curve, pinned: &[Pinned]) {
    let modes = lengths(curve);
    let mut tokens: Vec<u32> = modes.values().flatten().map(|(tokens, _)| *tokens).collect();
    tokens.sort_unstable();
    tokens.dedup();
    html.raw("<details><summary>Values and ").text(crate::words::count(pinned.len(), "pinned recipe"));
    html.raw("</summary>\n<div class=\"scroll\"><table><caption>Acceptance lengths of ").name(name);
    html.raw("</caption><thead><tr><th scope=\"col\">thinking</th>");
    for count in &tokens {
        html.element("th scope=\"col\" class=\"number\"", count);
    }
    html.raw("</tr></thead><tbody>");
    for (mode, line) in &modes {
        html.raw("<tr>").element("th scope=\"row\"", mode);
        for count in &tokens {
            let length = line.iter().find(|(tokens, _)| tokens == count);
            html.element(
                "td class=\"number\"",
                length.map_or_else(String::new, |(_, length)| format!("{length:.2}")),
            );
        }
        html.raw("</tr>");
    }
    html.raw("</tbody></table></div>\n<ul class=\"plain\">");
    for one in pinned {
        html.raw("<li><code>").name(&one.recipe).raw("</code> ");
        html.text(format!("{:.2} at {}, thinking {}", one.length, one.tokens, one.mode));
        for (realised, good) in &one.realised {
            let word = if *good { "near enough" } else { "not near" };
            html.raw("; ").text(format!("a run realised {realised:.2}: {word}"));
        }
        html.raw("</li>");
    }
    html.raw("</ul></details>\n");
}
