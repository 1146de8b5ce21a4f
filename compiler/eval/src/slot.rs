//! What one slot of the heap holds: a value, or how to get one.

/// Index of a slot in the heap.
pub(crate) type SlotId = u32;
/// Index of a node of the code.
pub(crate) type NodeId = u32;
/// An interned attribute name.
pub(crate) type Symbol = u32;

/// The node that stands for "nowhere in a text"; its span is unknown.
pub(crate) const NOWHERE: NodeId = 0;

/// One slot: sixteen bytes.
///
/// Every value carries the node that made it in bytes that would otherwise be padding, so that an
/// error can point at where each operand came from without any cost to programs that have none.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Slot {
    Null {
        at: NodeId,
    },
    Bool {
        at: NodeId,
        value: bool,
    },
    Int {
        at: NodeId,
        value: i64,
    },
    Float {
        at: NodeId,
        value: f64,
    },
    /// Bytes of the heap's text.
    String {
        at: NodeId,
        start: u32,
        len: u32,
    },
    /// A path below the root, as bytes of the heap's text; it begins with `/`.
    Path {
        at: NodeId,
        start: u32,
        len: u32,
    },
    /// `len` slots from `start` on; `site` says where the elements were written.
    List {
        site: u32,
        start: SlotId,
        len: u32,
    },
    /// As many slots from `start` on as the shape has names, in the order of its layout.
    Attrs {
        at: NodeId,
        shape: u32,
        start: SlotId,
    },
    Lambda {
        lambda: u32,
        env: SlotId,
    },
    /// A builtin that has got `count` of its arguments, which begin at `start`.
    Builtin {
        which: u16,
        count: u8,
        at: NodeId,
        start: SlotId,
    },

    // What follows is not yet a value.
    /// An expression to evaluate. Never copied to a second slot: that would repeat the work.
    Delayed {
        code: NodeId,
        env: SlotId,
    },
    /// The function in one slot applied to what is in another.
    Call {
        at: NodeId,
        function: SlotId,
        argument: SlotId,
    },
    /// The value is in another slot.
    Ref {
        slot: SlotId,
    },
    /// Its evaluation has begun and not ended.
    Busy,
    /// The first slot of a frame: where the enclosing frame begins.
    Frame {
        parent: SlotId,
    },
}

impl Slot {
    /// Returns true if nothing is left to evaluate at the top.
    #[inline]
    pub(crate) fn is_value(self) -> bool {
        !matches!(
            self,
            Self::Delayed { .. } | Self::Call { .. } | Self::Ref { .. } | Self::Busy | Self::Frame { .. }
        )
    }

    /// Returns the name of the value's type, with its article.
    pub(crate) fn described(self) -> &'static str {
        match self {
            Self::Null { .. } => "null",
            Self::Bool { .. } => "a Boolean",
            Self::Int { .. } => "an integer",
            Self::Float { .. } => "a float",
            Self::String { .. } => "a string",
            Self::Path { .. } => "a path",
            Self::List { .. } => "a list",
            Self::Attrs { .. } => "a set",
            Self::Lambda { .. } | Self::Builtin { .. } => "a function",
            _ => "an unevaluated expression",
        }
    }
}

/// A value of the language, or an expression still to evaluate. It means something only to the
/// [`Session`](crate::Session) that gave it, and is cheap to copy.
#[derive(Clone, Copy, Debug)]
pub struct Value(pub(crate) Slot);
