//! The page of `recipec report`, looked at in a real browser: what it holds, that it fetches nothing and
//! says nothing on the console, and how it looks in light and dark.
//!
//! Needs Chromium; says that it is skipped elsewhere. `RECIPEC_SCREENSHOTS=DIR` keeps the pictures.

use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use crate::support::{Sandbox, copy_tree, repository};

const AGENTS: &str = "lockfiles/agents/tiny-fp4-b200-vllm-agentic.lock.json";
const TINY: &str = "lockfiles/tiny/tiny-fp4-b200-vllm.lock.json";

/// Names that would be markup, script or a line that runs backwards.
const HOSTILE: &str =
    "<img src=http://example.invalid/x onerror=alert(1)>\"'`&\u{202e}txt</td></table><script>";

/// Two locked recipes, one run that holds, one that does not, and one that proves nothing.
fn tour() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.copy("fixtures/tour");
    sandbox.copy("fixtures/explain/audit");
    copy_tree(&repository().join("fixtures/mirror"), &sandbox.path("mirror"));
    let script = format!(
        "recipec lock --mirror mirror >/dev/null && git init -q . && git add -A && git -c user.name=a -c user.email=a@b commit -qm x && \
         python3 measure.py {AGENTS} throughput && recipec audit run run --lock {AGENTS} --output json:one.json >/dev/null; \
         sed -i 's/132400/162400/' run/aiperf_artifacts/server_metrics_export.json; \
         recipec audit run run --lock {AGENTS} --output json:two.json >/dev/null; rm -r run; \
         python3 measure.py {TINY} throughput recorded; recipec audit run run --lock {TINY} --output json:three.json >/dev/null; \
         sed -i 's/tensor-parallel-size = tp;/tensor-parallel-size = tp; enforce-eager = true;/' manifests/tiny.nix"
    );
    let ran = sandbox.bash(&script);
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    // What somebody else may have written into a document.
    let mut hostile: Value = serde_json::from_str(&sandbox.read("two.json")).unwrap();
    for name in ["path", "recipe"] {
        hostile["results"][0][name] = HOSTILE.into();
    }
    hostile["results"][0]["points"] = json!([HOSTILE]);
    for name in ["about", "ours", "theirs"] {
        hostile["results"][0]["checks"][0][name] = HOSTILE.into();
    }
    sandbox.write("four.json", hostile.to_string());
    sandbox
}

fn page(sandbox: &Sandbox) -> PathBuf {
    let with = ["one", "two", "three", "four"].map(|name| format!("--with={name}.json"));
    let mut words = vec!["report", "--html=page.html", "--mirror", "mirror"];
    words.extend(with.iter().map(String::as_str));
    let ran = sandbox.recipec(words);
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    assert!(
        ran.stdout.starts_with("wrote page.html: 2 recipes, 3 points, 12 plans; 5 of 5 wants pinned"),
        "{}",
        ran.stdout
    );
    sandbox.path("page.html")
}

/// Returns the browser, if there is one.
fn browser(test: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let found = std::env::split_paths(&path)
        .flat_map(|folder| ["chromium", "chromium-browser", "google-chrome"].map(|name| folder.join(name)))
        .find(|path| path.is_file());
    if found.is_none() {
        println!("{test}: skipped, there is no Chromium");
    }
    found
}

struct Browser<'s> {
    program: PathBuf,
    sandbox: &'s Sandbox,
}

impl Browser<'_> {
    /// Runs the browser once over a page; returns standard output and standard error.
    fn run(&self, page: &Path, options: &[&str]) -> (String, String) {
        let output = Command::new(&self.program)
            .args(["--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run"])
            .args([
                "--disable-background-networking",
                "--disable-component-update",
                "--disable-sync",
                "--disable-extensions",
            ])
            .args([
                "--enable-logging=stderr",
                "--disable-dev-shm-usage",
                "--host-resolver-rules=MAP * ~NOTFOUND",
            ])
            .arg(format!("--user-data-dir={}", self.sandbox.path("profile").display()))
            .args(options)
            .arg(format!("file://{}", page.display()))
            .env("HOME", self.sandbox.root())
            .output()
            .unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        (text(output.stdout), text(output.stderr))
    }

    /// Returns what was asked for outside, by the browser's own log; its own calls home are not the page's.
    fn asked(&self, page: &Path) -> Vec<String> {
        let log = self.sandbox.path("net.json");
        self.run(page, &["--dump-dom", &format!("--log-net-log={}", log.display())]);
        let text = std::fs::read_to_string(&log).unwrap();
        let home = |url: &str| {
            let host = url.split('/').nth(2).unwrap_or_default();
            ["google.com", "googleapis.com", "gvt1.com", "gstatic.com"].iter().any(|own| host.ends_with(own))
        };
        let mut urls: Vec<String> = between(&text, "\"url\":\"", "\"")
            .into_iter()
            .filter(|url| url.starts_with("http") && !home(url))
            .map(str::to_owned)
            .collect();
        urls.sort();
        urls.dedup();
        urls
    }

    fn picture(&self, page: &Path, name: &str, options: &[&str]) -> Picture {
        let path = self.sandbox.path(name);
        let screenshot = format!("--screenshot={}", path.display());
        let mut all = vec![screenshot.as_str()];
        all.extend(options);
        let (_, said) = self.run(page, &all);
        let bytes = std::fs::read(&path).unwrap_or_else(|_| panic!("no picture: {said}"));
        if let Some(folder) = std::env::var_os("RECIPEC_SCREENSHOTS") {
            std::fs::write(Path::new(&folder).join(name), &bytes).unwrap();
        }
        Picture::read(&bytes)
    }
}

/// The pixels of a PNG file.
struct Picture {
    width: usize,
    channels: usize,
    rows: Vec<Vec<u8>>,
}

impl Picture {
    /// Reads what browsers write: eight bits a channel, not interlaced.
    fn read(bytes: &[u8]) -> Self {
        assert_eq!(bytes[..8], *b"\x89PNG\r\n\x1a\n");
        let number = |at: usize| u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap()) as usize;
        let (width, height, color) = (number(16), number(20), bytes[25]);
        let channels = if color == 6 { 4 } else { 3 };
        let (mut at, mut packed) = (8, Vec::new());
        while at + 8 <= bytes.len() {
            let length = number(at);
            if &bytes[at + 4..at + 8] == b"IDAT" {
                packed.extend(&bytes[at + 8..at + 8 + length]);
            }
            at += length + 12;
        }
        let mut raw = Vec::new();
        flate2::read::ZlibDecoder::new(packed.as_slice()).read_to_end(&mut raw).unwrap();
        let mut rows: Vec<Vec<u8>> = Vec::new();
        for line in raw.chunks(width * channels + 1).take(height) {
            let mut row = line[1..].to_vec();
            for x in 0..row.len() {
                let left = if x >= channels { row[x - channels] } else { 0 };
                let above = rows.last().map_or(0, |row| row[x]);
                let corner = if x >= channels { rows.last().map_or(0, |row| row[x - channels]) } else { 0 };
                let guess = match line[0] {
                    1 => left,
                    2 => above,
                    3 => u8::midpoint(left, above),
                    4 => {
                        let (a, b, c) = (i16::from(left), i16::from(above), i16::from(corner));
                        let (pa, pb, pc) = ((b - c).abs(), (a - c).abs(), (a + b - 2 * c).abs());
                        if pa <= pb && pa <= pc {
                            left
                        } else if pb <= pc {
                            above
                        } else {
                            corner
                        }
                    }
                    _ => 0,
                };
                row[x] = row[x].wrapping_add(guess);
            }
            rows.push(row);
        }
        Self { width, channels, rows }
    }

    fn at(&self, x: usize, y: usize) -> [u8; 3] {
        self.rows[y][x * self.channels..x * self.channels + 3].try_into().unwrap()
    }

    /// How many pixels are of that colour.
    fn count(&self, color: [u8; 3]) -> usize {
        (0..self.rows.len()).map(|y| (0..self.width).filter(|x| self.at(*x, y) == color).count()).sum()
    }
}

/// Returns what stands between two marks, for each place where they are.
fn between<'t>(text: &'t str, from: &str, to: &str) -> Vec<&'t str> {
    text.split(from).skip(1).filter_map(|rest| rest.split_once(to)).map(|(inside, _)| inside).collect()
}

#[test]
fn a_browser_finds_everything_on_the_page_and_nothing_that_runs() {
    let Some(program) = browser("a_browser_finds_everything_on_the_page_and_nothing_that_runs") else {
        return;
    };
    let sandbox = tour();
    let page = page(&sandbox);
    let browser = Browser { program, sandbox: &sandbox };
    let (dom, said) = browser.run(&page, &["--dump-dom"]);
    assert!(!said.contains(":CONSOLE"), "{said}");
    assert_eq!(browser.asked(&page), [""; 0]);
    // What the page before would have asked for is seen where a page does ask, and says something.
    sandbox.write("other.html", "<img src=http://example.invalid/x><script>console.log('said')</script>");
    assert_eq!(browser.asked(&sandbox.path("other.html")), ["http://example.invalid/x"]);
    let (_, said) = browser.run(&sandbox.path("other.html"), &["--dump-dom"]);
    assert!(said.contains(":CONSOLE"), "{said}");
    // Whatever anybody wrote is text.
    for mark in [
        "<script",
        "<img",
        "onerror=\"",
        "<iframe",
        "<object",
        "<link rel=\"stylesheet",
        "javascript:",
        "\u{202e}",
    ] {
        assert!(!dom.contains(mark), "{mark}");
    }
    assert!(dom.contains("&lt;img src=http://example.invalid/x onerror=alert(1)&gt;"));
    // Corpus, verdicts, pins, curve and difference.
    for text in [
        "<code><bdi>tiny-fp4-b200-vllm-agentic</bdi></code>",
        "tiny-org/tiny-moe-NVFP4",
        "sha256:45c86ca2811f1367aaeb41f1315cf2ca3ca33295aeeff3c29c223f3a90d4591e",
        "2084572b0f1fcd38a8ff90e8b5db2c2737eaf74a",
        "acceptance length: <bdi>2.624 (1 + 162400 accepted drafts / 100000 steps",
        "is pinned to 2.32 at 3 draft tokens",
        "server.--enforce-eager",
        "models/tiny-org/tiny-moe.yaml:31",
    ] {
        assert!(dom.contains(text), "{text} is not on the page");
    }
    // Every word for a verdict has a shape beside it.
    for verdict in between(&dom, "<span class=\"verdict ", "</span>") {
        assert!(verdict.contains("<svg") && verdict.ends_with(|c: char| c.is_alphabetic()), "{verdict}");
    }
    accessible(&dom);
}

/// What a screen reader and a keyboard need.
fn accessible(dom: &str) {
    assert!(dom.contains("<html lang=\"en\">") && dom.contains("<title>Recipes</title>"));
    assert_eq!(dom.matches("<h1").count(), 1);
    for landmark in [
        "<header>",
        "<nav aria-label=",
        "<main id=\"content\">",
        "<footer>",
        "<a class=\"skip\" href=\"#content\">",
    ] {
        assert_eq!(dom.matches(landmark).count(), 1, "{landmark}");
    }
    let tables = between(dom, "<table>", "</table>");
    assert!(tables.len() >= 7, "{}", tables.len());
    for table in &tables {
        assert!(table.starts_with("<caption>"), "a table without a caption: {table:.80}");
        let heads = between(table, "<th ", ">");
        assert_eq!(heads.len() + 1, table.matches("<th").count(), "each but `thead` says what it heads");
        assert!(heads.iter().all(|head| head.contains("scope=")), "{heads:?}");
    }
    // What scrolls can be reached by keyboard, and says what it is.
    let regions = between(dom, "<div class=\"scroll\"", ">");
    assert!(
        regions.iter().filter(|region| region.contains("tabindex=\"0\" role=\"region\" aria-label=")).count()
            >= 6
    );
    for drawing in between(dom, "role=\"img\"", "</svg>") {
        assert!(drawing.contains("<title id=") && drawing.contains("<desc id="), "{drawing:.80}");
    }
    // Each place that the navigation names is there, and each label that is pointed at.
    for id in between(dom, "href=\"#", "\"") {
        assert!(dom.contains(&format!("id=\"{id}\"")), "{id}");
    }
    for label in between(dom, "aria-labelledby=\"", "\"").into_iter().flat_map(str::split_whitespace) {
        assert_eq!(dom.matches(&format!(" id=\"{label}\"")).count(), 1, "{label}");
    }
}

#[test]
fn the_page_is_drawn_in_light_and_in_dark_and_on_a_narrow_screen() {
    let Some(program) = browser("the_page_is_drawn_in_light_and_in_dark_and_on_a_narrow_screen") else {
        return;
    };
    let sandbox = tour();
    let page = page(&sandbox);
    let browser = Browser { program, sandbox: &sandbox };
    let size = "--window-size=1280,1800";
    let light = browser.picture(&page, "report-light.png", &[size]);
    let dark = browser.picture(&page, "report-dark.png", &[size, "--blink-settings=preferredColorScheme=0"]);
    assert_eq!((light.at(3, 3), dark.at(3, 3)), ([0xfc, 0xfc, 0xfa], [0x14, 0x17, 0x1a]));
    // The golden line, the pinned point, and a run that is off are there in their colours.
    for (picture, colors) in [
        (&light, [[0x0b, 0x57, 0xa4], [0x1d, 0x21, 0x25], [0xad, 0x22, 0x18]]),
        (&dark, [[0x7a, 0xb8, 0xf5], [0xe4, 0xe6, 0xe8], [0xff, 0x8a, 0x80]]),
    ] {
        for color in colors {
            assert!(picture.count(color) > 40, "{color:02x?}: {}", picture.count(color));
        }
    }
    // On a telephone nothing is wider than the screen: the outermost column is paper.
    let narrow = browser.picture(&page, "report-narrow.png", &["--window-size=500,2000"]);
    let edge = narrow.width - 2;
    let other = (80..narrow.rows.len()).filter(|y| narrow.at(edge, *y) != [0xfc, 0xfc, 0xfa]).count();
    assert!(other < 20, "{other} rows reach the edge");
}

#[test]
fn colours_can_be_read_in_light_and_in_dark() {
    let style = std::fs::read_to_string(repository().join("compiler/recipec/report/style.css")).unwrap();
    let (light, dark) = style.split_once("prefers-color-scheme: dark").unwrap();
    let dark = dark.split_once("}\n}").unwrap().0;
    for scheme in [light, dark] {
        let color = |name: &str| {
            let text = scheme.split_once(&format!("--{name}: #")).unwrap().1;
            let part = |at: usize| f64::from(u8::from_str_radix(&text[at..at + 2], 16).unwrap()) / 255.0;
            let linear = |value: f64| {
                if value <= 0.04045 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
            };
            0.2126 * linear(part(0)) + 0.7152 * linear(part(2)) + 0.0722 * linear(part(4))
        };
        let paper = color("paper");
        for name in ["ink", "soft", "accent", "good", "bad", "open", "on", "off"] {
            let (one, other) = (color(name).max(paper), color(name).min(paper));
            let contrast = (one + 0.05) / (other + 0.05);
            assert!(contrast >= 4.5, "{name}: {contrast:.2}");
        }
    }
}

#[test]
fn a_page_is_the_same_byte_for_byte_and_goes_where_it_is_told() {
    let sandbox = tour();
    let path = page(&sandbox);
    let first = std::fs::read(&path).unwrap();
    assert_eq!(std::fs::read(page(&sandbox)).unwrap(), first);
    let text = String::from_utf8(first).unwrap();
    let root = sandbox.root().display().to_string();
    assert!(!text.contains(&root), "the folder of the machine is on the page");
    let ran = sandbox.recipec(["report", "--html"]).exits(0);
    assert!(ran.stdout.starts_with("<!doctype html>") && ran.stdout.ends_with("</html>\n"));
    let ran = sandbox.recipec(["report", "--format", "json", "--with", "one.json"]).exits(0);
    let value: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(
        (&value["command"], &value["points"], &value["pinned"]),
        (&json!("report"), &json!(3), &json!(5))
    );
    assert_eq!(value["recipes"][0]["runs"], json!({"reproduced": 1, "contradicted": 0, "unproven": 0}));
    // A document of another kind, and a key that is not there, are mistakes of the command line.
    assert_eq!(sandbox.recipec(["report", "--with", "manifests/tiny.nix"]).code, 2);
    assert_eq!(sandbox.recipec(["report", "nothing-here"]).code, 2);
    // Without any revision there is nothing to compare with, and the rest is shown.
    sandbox.bash("rm -rf .git");
    let ran = sandbox.recipec(["report", "--html"]).exits(0);
    assert!(ran.stdout.contains("id=\"differences\""));
}
