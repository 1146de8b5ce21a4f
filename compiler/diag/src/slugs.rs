//! The slugs, one module a stage. A new slug is one line here and one page.

pub mod audit;
pub mod cli;
pub mod emit;
pub mod engine;
pub mod eval;
pub mod host;
pub mod lock;
pub mod recipe;
pub mod syntax;
pub mod upstream;
pub mod verify;
