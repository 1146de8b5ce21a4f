//! From what was served and measured back to the lock.
//!
//! Pure: it is told what lies in a folder, and says whether that is what the lock pins. Whoever has
//! the folder reads it (`host`). Nothing here trusts a name, a size that a file system reports of
//! something else, or a client that says that it is done.

pub mod checkpoint;
pub mod found;
pub mod image;
pub mod shards;
pub mod survey;
