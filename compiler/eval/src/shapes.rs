//! Layouts and shapes: what attribute sets have in common, kept once.
//!
//! A layout is a sorted list of names. A shape is a layout and where its attributes were written.
//! A set is a shape and its values, so thousands of points written by one expression share both,
//! and a lookup that was made once is found again by comparing two numbers.

use crate::slot::{NodeId, Symbol};

/// Where the attributes of a shape were written.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Source {
    /// By a set expression: entry `i` of the layout has origin `first + i`.
    Written { first: u32 },
    /// By `left // right`.
    Merged { left: u32, right: u32 },
    /// Taken over from another set by a builtin such as `removeAttrs`.
    Kept { from: u32 },
    /// By a builtin called at this node.
    Made { at: NodeId },
}

/// Where one attribute was written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Written {
    /// First byte of the name; the file is that of `value`.
    pub(crate) start: u32,
    /// One past the last byte of the name.
    pub(crate) end: u32,
    /// The node of its value.
    pub(crate) value: NodeId,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    pub(crate) layout: u32,
    pub(crate) source: Source,
}

#[derive(Clone, Copy, Debug)]
struct Layout {
    start: u32,
    len: u32,
    /// Where the order by name begins in `orders`; `NONE` until somebody asks.
    order: u32,
}

const NONE: u32 = u32::MAX;
/// The most pairs of `left // right` whose outcome is remembered.
const MERGES: usize = 4096;

#[derive(Debug)]
pub(crate) struct Shapes {
    shapes: Vec<Shape>,
    layouts: Vec<Layout>,
    /// The names of every layout, sorted by symbol.
    names: Vec<Symbol>,
    /// Positions in a layout, sorted by the bytes of the names.
    orders: Vec<u32>,
    /// Open addressing over `layouts`.
    table: Vec<u32>,
    pub(crate) written: Vec<Written>,
    /// Direct-mapped: (left, right, shape of `left // right`).
    merges: Vec<(u32, u32, u32)>,
}

/// The shape of `{ }`.
pub(crate) const EMPTY: u32 = 0;

impl Shapes {
    pub(crate) fn new() -> Self {
        let mut shapes = Self {
            shapes: Vec::new(),
            layouts: Vec::new(),
            names: Vec::new(),
            orders: Vec::new(),
            table: vec![NONE; 256],
            written: Vec::new(),
            merges: Vec::new(),
        };
        let layout = shapes.layout(&[]);
        shapes.add(layout, Source::Made { at: crate::slot::NOWHERE });
        shapes
    }

    /// Returns the layout of names that are sorted by symbol and distinct.
    pub(crate) fn layout(&mut self, names: &[Symbol]) -> u32 {
        let mask = self.table.len() - 1;
        let mut at = hash(names) as usize & mask;
        while let Some(&layout) = self.table.get(at) {
            if layout == NONE {
                break;
            }
            if self.names(layout) == names {
                return layout;
            }
            at = (at + 1) & mask;
        }
        let layout = self.layouts.len() as u32;
        self.layouts.push(Layout { start: self.names.len() as u32, len: names.len() as u32, order: NONE });
        self.names.extend_from_slice(names);
        self.table[at] = layout;
        if self.layouts.len() * 2 > self.table.len() {
            self.grow();
        }
        layout
    }

    /// Adds a shape.
    pub(crate) fn add(&mut self, layout: u32, source: Source) -> u32 {
        self.shapes.push(Shape { layout, source });
        self.shapes.len() as u32 - 1
    }

    #[inline]
    pub(crate) fn get(&self, shape: u32) -> Shape {
        self.shapes[shape as usize]
    }

    /// Returns the names of a layout, sorted by symbol.
    #[inline]
    pub(crate) fn names(&self, layout: u32) -> &[Symbol] {
        let layout = &self.layouts[layout as usize];
        &self.names[layout.start as usize..(layout.start + layout.len) as usize]
    }

    /// Returns the names of a shape, sorted by symbol.
    #[inline]
    pub(crate) fn names_of(&self, shape: u32) -> &[Symbol] {
        self.names(self.get(shape).layout)
    }

    #[inline]
    pub(crate) fn len(&self, shape: u32) -> u32 {
        self.layouts[self.get(shape).layout as usize].len
    }

    /// Returns the position of a name in a layout.
    #[inline]
    pub(crate) fn find(&self, layout: u32, name: Symbol) -> Option<u32> {
        let names = self.names(layout);
        if names.len() <= 8 {
            names.iter().position(|&other| other == name).map(|index| index as u32)
        } else {
            names.binary_search(&name).ok().map(|index| index as u32)
        }
    }

    /// Returns the positions of a layout's names in the order of their bytes, the order that
    /// people and `attrNames` see. `compare` orders two symbols.
    pub(crate) fn order(
        &mut self,
        layout: u32,
        mut compare: impl FnMut(Symbol, Symbol) -> std::cmp::Ordering,
    ) -> (u32, u32) {
        let Layout { start, len, order } = self.layouts[layout as usize];
        if order != NONE {
            return (order, len);
        }
        let names = &self.names[start as usize..(start + len) as usize];
        let mut positions: Vec<u32> = (0..len).collect();
        positions.sort_unstable_by(|&a, &b| compare(names[a as usize], names[b as usize]));
        let first = self.orders.len() as u32;
        self.orders.extend(positions);
        self.layouts[layout as usize].order = first;
        (first, len)
    }

    /// Returns one position of an order that [`Shapes::order`] gave.
    #[inline]
    pub(crate) fn ordered(&self, index: u32) -> u32 {
        self.orders[index as usize]
    }

    /// Returns the shape of `left // right` if it is remembered.
    #[inline]
    pub(crate) fn merged(&self, left: u32, right: u32) -> Option<u32> {
        let (l, r, shape) = *self.merges.get(merge_slot(left, right))?;
        (l == left && r == right).then_some(shape)
    }

    /// Remembers the shape of `left // right`.
    pub(crate) fn remember_merge(&mut self, left: u32, right: u32, shape: u32) {
        if self.merges.is_empty() {
            self.merges = vec![(NONE, NONE, NONE); MERGES];
        }
        self.merges[merge_slot(left, right)] = (left, right, shape);
    }

    /// Bytes held, for the limit.
    pub(crate) fn held(&self) -> usize {
        self.shapes.len() * size_of::<Shape>()
            + self.layouts.len() * 12
            + (self.names.len() + self.orders.len() + self.table.len()) * 4
            + self.written.len() * 12
    }

    fn grow(&mut self) {
        let mut table = vec![NONE; self.table.len() * 2];
        let mask = table.len() - 1;
        for layout in 0..self.layouts.len() as u32 {
            let mut at = hash(self.names(layout)) as usize & mask;
            while table[at] != NONE {
                at = (at + 1) & mask;
            }
            table[at] = layout;
        }
        self.table = table;
    }
}

fn hash(names: &[Symbol]) -> u64 {
    let mut hash = names.len() as u64;
    for &name in names {
        hash = (hash.rotate_left(5) ^ u64::from(name)).wrapping_mul(0x517c_c1b7_2722_0a95);
    }
    hash ^ (hash >> 31)
}

fn merge_slot(left: u32, right: u32) -> usize {
    let key = (u64::from(left) << 32 | u64::from(right)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (key >> 52) as usize % MERGES
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_name_lists_share_a_layout_through_growth() {
        let mut shapes = Shapes::new();
        let all: Vec<u32> = (0..2000).map(|n| shapes.layout(&[n, n + 7, n + 90])).collect();
        for (n, &layout) in (0..2000).zip(&all) {
            assert_eq!(shapes.layout(&[n, n + 7, n + 90]), layout);
            assert_eq!(shapes.find(layout, n + 7), Some(1));
            assert_eq!(shapes.find(layout, n + 8), None);
        }
    }
}
