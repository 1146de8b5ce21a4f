//! Cookbooks: what upstream's pages say a model is served with.

mod agentx;
pub mod command;
pub mod generator;
pub mod matrix;
pub(crate) mod published;
mod shelf;

use std::collections::BTreeMap;
use std::rc::Rc;

use engine::Engine;
use serde::Serialize;
use serde_json::{Map, Value as Json};

use generator::Generator;
use matrix::{Matrix, MatrixCell};
pub use shelf::{Shelf, Shown};

/// A page of a cookbook, as pinned.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Page {
    /// Repository on the forge, `owner/name`.
    pub repository: String,
    /// The commit.
    pub commit: String,
    /// Path inside, with `/`.
    pub path: String,
    /// The text.
    pub text: String,
}

/// Whether evidence was made by someone else.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Class {
    /// Made by someone else.
    Independent,
    /// Made by upstream from what InferenceX submitted: alone it proves nothing.
    Circular,
}

/// One command that a page shows.
#[derive(Clone, PartialEq, Debug)]
pub struct Cell {
    /// What a reader selects to see it.
    pub selection: Map<String, Json>,
    /// The GPU that it is for, in lower case, if the page says so.
    pub hardware: Option<String>,
    /// Program and arguments.
    pub argv: Vec<String>,
    /// The environment.
    pub env: BTreeMap<String, String>,
    /// The image that the page suggests.
    pub image: Option<String>,
    /// The line of the page that the cell is known by: where its checkpoint stands.
    pub line: usize,
    /// Whether it was made by someone else.
    pub class: Class,
}

/// Why a page could not be read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Unreadable {
    /// The line, counted from 1; 0 if it is in no line.
    pub line: usize,
    /// What is not understood, as a phrase.
    pub why: String,
}

/// Returns the commands that a page shows for a GPU (`b200`). A page that is of no known form and
/// shows no command gives none. `pages` are all pages that were collected: some are put together
/// from others.
///
/// # Errors
/// If a page of a known form has something that is not understood: it may say anything, so it
/// counts as unreadable and never as silent.
pub fn cells(page: &Page, pages: &[Rc<Page>], hardware: &str) -> Result<Vec<Cell>, Unreadable> {
    let starts = |mark: &str| page.text.lines().any(|line| line.starts_with(mark));
    if starts("export const agentx") {
        return agentx::cells(&page.text, hardware);
    }
    if starts("export const config ") || starts("export const config=") {
        return matrix_cells(page, hardware);
    }
    if page.text.contains("generateCommand") {
        return generator_cells(page, hardware);
    }
    if published::is_recipe(page) {
        return match published::catalog(page, pages) {
            Some(catalog) => published::cells(page, &catalog?, hardware),
            None => Err(Unreadable {
                line: 0,
                why: "`taxonomy.yaml`, from which it is put together, was not collected".to_owned(),
            }),
        };
    }
    if [".md", ".mdx"].iter().any(|ending| page.path.ends_with(ending)) {
        return Ok(fenced_cells(page));
    }
    Ok(Vec::new())
}

fn unreadable(error: crate::script::ScriptError) -> Unreadable {
    Unreadable { line: error.line, why: error.why }
}

fn matrix_cells(page: &Page, hardware: &str) -> Result<Vec<Cell>, Unreadable> {
    let mut matrix = Matrix::read(&page.text).map_err(unreadable)?;
    let of_hardware = |cell: &&MatrixCell| {
        let named = cell.selection.get("hw").and_then(Json::as_str);
        !cell.redirect && named.is_some_and(|name| name.eq_ignore_ascii_case(hardware))
    };
    let wanted: Vec<MatrixCell> = matrix.cells().iter().filter(of_hardware).cloned().collect();
    let mut cells: Vec<Cell> = Vec::new();
    for wanted in wanted {
        for selection in matrix.selections(&wanted).map_err(unreadable)? {
            let shown = matrix.render(&wanted, &selection).map_err(unreadable)?;
            let Some(command) = command::commands(&shown.command).pop() else { continue };
            let cell = Cell {
                line: line_of_cell(&page.text, wanted.index, &command.argv),
                selection,
                hardware: Some(hardware.to_owned()),
                argv: command.argv,
                env: command.env,
                image: Some(shown.image),
                class: Class::Independent,
            };
            if !cells.iter().any(|known| known.argv == cell.argv && known.env == cell.env) {
                cells.push(cell);
            }
        }
    }
    Ok(cells)
}

/// Returns the line where the checkpoint of a command stands, else where the cell begins.
fn line_of_cell(text: &str, index: usize, argv: &[String]) -> usize {
    let named = checkpoint(argv).map_or(0, |name| line_of(text, name));
    if named > 0 {
        return named;
    }
    let starts = text
        .lines()
        .enumerate()
        .filter(|(_, line)| line.trim_start().starts_with("match:") || line.contains("{ match:"));
    starts.map(|(number, _)| number + 1).nth(index).unwrap_or(1)
}

fn generator_cells(page: &Page, hardware: &str) -> Result<Vec<Cell>, Unreadable> {
    let generator = Generator::read(&page.text).map_err(unreadable)?;
    let is_hardware = |key: &str| matches!(key, "hardware" | "hw" | "gpu" | "platform");
    let keep = |key: &str, item: &str| !is_hardware(key) || item.eq_ignore_ascii_case(hardware);
    let selections = generator.selections(&keep, false).map_err(unreadable)?;
    let mut cells: Vec<Cell> = Vec::new();
    for selection in selections {
        let named = selection.iter().find(|(key, _)| is_hardware(key)).and_then(|(_, value)| value.as_str());
        if named.is_none_or(|name| !name.eq_ignore_ascii_case(hardware)) {
            continue;
        }
        // A page may refuse a selection; that is an answer about this one and not about others.
        let Ok(shown) = generator.render(&selection) else { continue };
        let Some(command) =
            command::commands(&shown).into_iter().find(|command| Engine::of_command(&command.argv).is_some())
        else {
            continue;
        };
        let line = checkpoint(&command.argv).map_or(0, |name| line_of(&page.text, name));
        let cell = Cell {
            selection: selection.into_iter().collect(),
            hardware: Some(hardware.to_owned()),
            argv: command.argv,
            env: command.env,
            image: None,
            line: line.max(1),
            class: Class::Independent,
        };
        if !cells.iter().any(|known| known.argv == cell.argv && known.env == cell.env) {
            cells.push(cell);
        }
    }
    Ok(cells)
}

fn fenced_cells(page: &Page) -> Vec<Cell> {
    let mut cells = Vec::new();
    for fence in command::fences(&page.text) {
        for command in command::commands(&fence.text) {
            if Engine::of_command(&command.argv).is_none() {
                continue;
            }
            let selection = [("heading".to_owned(), Json::from(fence.heading))];
            cells.push(Cell {
                selection: selection.into_iter().collect(),
                hardware: None,
                argv: command.argv,
                env: command.env,
                image: None,
                line: fence.line + command.line - 1,
                class: Class::Independent,
            });
        }
    }
    cells
}

/// Returns the checkpoint that a command names.
fn checkpoint(argv: &[String]) -> Option<&str> {
    let after = |name: &str| {
        argv.iter().enumerate().find_map(|(index, word)| match word.split_once('=') {
            Some((flag, value)) if flag == name => Some(value),
            _ if word == name => argv.get(index + 1).map(String::as_str),
            _ => None,
        })
    };
    after("--model-path")
        .or_else(|| after("--model"))
        .or_else(|| argv.iter().map(String::as_str).find(|word| word.contains('/') && !word.starts_with('-')))
}

/// Returns the line, counted from 1, in which `name` stands whole: not as the beginning of a
/// longer name. Quoted places come first. 0 if it is nowhere.
fn line_of(text: &str, name: &str) -> usize {
    let whole = |line: &str| {
        line.match_indices(name).any(|(at, _)| {
            let after = line.get(at + name.len()..).and_then(|rest| rest.chars().next());
            !after.is_some_and(|c| c.is_alphanumeric() || matches!(c, '-' | '_' | '.'))
        })
    };
    let quotes = ["'", "\"", "`"].map(|quote| format!("{quote}{name}{quote}"));
    let quoted = |line: &str| quotes.iter().any(|quoted| line.contains(quoted.as_str()));
    let find = |fits: &dyn Fn(&str) -> bool| text.lines().position(fits).map(|index| index + 1);
    find(&quoted).or_else(|| find(&whole)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_found_whole_and_not_inside_a_longer_one() {
        let text = "// org/name-V2 first\nconst a = 'org/name-V2';\nuse org/name here\n";
        assert_eq!(line_of(text, "org/name"), 3);
        assert_eq!(line_of(text, "org/name-V2"), 2);
        assert_eq!(line_of(text, "org/other"), 0);
    }
}
