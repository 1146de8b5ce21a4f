//! Pages that were read, so that each is read once however many recipes it speaks of.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use engine::Engine;

use super::{Cell, Page, Unreadable, cells};
use crate::facet::{Served, Setting};

/// Repository, commit and path.
type Place = [String; 3];

/// A command of a page in the terms of its engine.
#[derive(Clone, Debug)]
pub struct Shown {
    /// The command.
    pub cell: Rc<Cell>,
    /// What it serves.
    pub served: Rc<Served>,
}

/// Pages that were read.
#[derive(Default, Debug)]
pub struct Shelf {
    cells: RefCell<BTreeMap<(Place, String), Vec<Rc<Cell>>>>,
    shown: RefCell<BTreeMap<(Place, String, Engine, String), Vec<Shown>>>,
    named: RefCell<BTreeMap<(Place, String), bool>>,
}

impl Shelf {
    /// Returns the commands that a page shows for a GPU with an engine.
    ///
    /// # Errors
    /// As [`cells`] has them.
    pub fn shown(
        &self,
        page: &Page,
        pages: &[Rc<Page>],
        hardware: &str,
        setting: &Setting<'_>,
    ) -> Result<Vec<Shown>, Unreadable> {
        let key = (place(page), hardware.to_owned(), setting.engine, setting.version.to_owned());
        if let Some(known) = self.shown.borrow().get(&key) {
            return Ok(known.clone());
        }
        let shown: Vec<Shown> = self
            .cells(page, pages, hardware)?
            .into_iter()
            .filter(|cell| Engine::of_command(&cell.argv) == Some(setting.engine))
            .map(|cell| {
                let served = Rc::new(Served::read(setting, &cell.argv, &cell.env, None));
                Shown { cell, served }
            })
            .collect();
        self.shown.borrow_mut().insert(key, shown.clone());
        Ok(shown)
    }

    fn cells(&self, page: &Page, pages: &[Rc<Page>], hardware: &str) -> Result<Vec<Rc<Cell>>, Unreadable> {
        let key = (place(page), hardware.to_owned());
        if let Some(known) = self.cells.borrow().get(&key) {
            return Ok(known.clone());
        }
        let found: Vec<Rc<Cell>> = cells(page, pages, hardware)?.into_iter().map(Rc::new).collect();
        self.cells.borrow_mut().insert(key, found.clone());
        Ok(found)
    }

    /// Returns whether a page names a word, in whatever case.
    #[must_use]
    pub fn names(&self, page: &Page, word: &str) -> bool {
        let key = (place(page), word.to_owned());
        *self.named.borrow_mut().entry(key).or_insert_with(|| page.text.to_lowercase().contains(word))
    }
}

fn place(page: &Page) -> Place {
    [page.repository.clone(), page.commit.clone(), page.path.clone()]
}
