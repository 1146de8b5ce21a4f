//! Source texts and the places in them.

use std::sync::{Arc, OnceLock};

/// Names one file of a [`SourceMap`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct FileId(pub u32);

/// A half-open range of bytes in one file.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Span {
    /// The file that the bytes are in.
    pub file: FileId,
    /// First byte, counted from 0.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

impl Span {
    /// Returns the span of `start..end` in `file`.
    #[must_use]
    pub fn new(file: FileId, start: u32, end: u32) -> Self {
        Self { file, start, end: end.max(start) }
    }

    /// Returns the smallest span that covers both; `self` if they are in different files.
    #[must_use]
    pub fn to(self, other: Self) -> Self {
        if self.file != other.file {
            return self;
        }
        Self { file: self.file, start: self.start.min(other.start), end: self.end.max(other.end) }
    }
}

/// Where a byte stands for a person: both counted from 1, columns in Unicode scalar values.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, serde::Serialize)]
pub struct Position {
    /// Byte offset, counted from 0.
    pub byte: u32,
    /// Line, counted from 1.
    pub line: u32,
    /// Column in Unicode scalar values, counted from 1.
    pub column: u32,
}

/// One text with its path as people know it.
#[derive(Clone, Debug)]
pub struct SourceFile {
    /// The path shown to people: relative to the root, with `/`.
    pub path: Arc<str>,
    /// The whole text.
    pub text: Arc<str>,
    /// Byte offset at which each line begins; found when somebody first asks for a line.
    line_starts: OnceLock<Arc<[u32]>>,
}

/// All texts that diagnostics can point into.
#[derive(Clone, Default, Debug)]
pub struct SourceMap {
    files: Vec<SourceFile>,
}

impl SourceMap {
    /// Returns an empty map.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a text and returns its id. The same path may be added twice; the ids differ.
    pub fn add(&mut self, path: impl Into<Arc<str>>, text: impl Into<Arc<str>>) -> FileId {
        let id = FileId(u32::try_from(self.files.len()).unwrap_or(u32::MAX));
        self.files.push(SourceFile { path: path.into(), text: text.into(), line_starts: OnceLock::new() });
        id
    }

    /// Returns the file of `id`, if this map has it.
    #[must_use]
    pub fn get(&self, id: FileId) -> Option<&SourceFile> {
        self.files.get(id.0 as usize)
    }

    /// Returns every file with its id, in the order they were added.
    pub fn files(&self) -> impl Iterator<Item = (FileId, &SourceFile)> {
        (0_u32..).map(FileId).zip(&self.files)
    }

    /// Returns the text under `span`; empty where the span does not fit the text.
    #[must_use]
    pub fn text(&self, span: Span) -> &str {
        self.get(span.file)
            .and_then(|file| file.text.get(span.start as usize..span.end as usize))
            .unwrap_or("")
    }
}

impl SourceFile {
    fn line_starts(&self) -> &[u32] {
        self.line_starts.get_or_init(|| {
            let ends =
                self.text.bytes().zip(1_u32..).filter_map(|(byte, next)| (byte == b'\n').then_some(next));
            std::iter::once(0).chain(ends).collect()
        })
    }

    /// Returns the byte at which a line (counted from 1) begins; the end of the text for lines
    /// past the last.
    #[must_use]
    pub fn line_start(&self, line: u32) -> usize {
        let index = (line as usize).saturating_sub(1);
        self.line_starts().get(index).map_or(self.text.len(), |&start| start as usize)
    }

    /// Returns the byte at which a line (counted from 1) ends, before its line feed.
    #[must_use]
    pub fn line_end(&self, line: u32) -> usize {
        let next = self.line_start(line.saturating_add(1));
        match self.text.as_bytes().get(..next) {
            Some([.., b'\n']) if self.line_starts().len() > line as usize => next - 1,
            _ => next,
        }
    }

    /// Returns line and column of a byte offset; offsets past the end are taken as the end, and
    /// offsets inside a character as its first byte.
    #[must_use]
    pub fn position(&self, byte: u32) -> Position {
        let mut byte = byte.min(u32::try_from(self.text.len()).unwrap_or(u32::MAX));
        while !self.text.is_char_boundary(byte as usize) {
            byte -= 1;
        }
        let line = self.line_starts().partition_point(|&start| start <= byte).max(1);
        let start = self.line_starts().get(line - 1).copied().unwrap_or(0);
        let column = self.text.get(start as usize..byte as usize).unwrap_or("").chars().count();
        let count = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        Position { byte, line: count(line), column: count(column).saturating_add(1) }
    }
}
