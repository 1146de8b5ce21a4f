//! From what was served and measured back to the lock.
//!
//! Pure: it is told what lies in a folder, and says whether that is what the lock pins. Whoever has
//! the folder reads it (`host`). Nothing here trusts a name, a size that a file system reports of
//! something else, or a client that says that it is done.
//!
//! - [`checkpoint`]: a staged checkpoint beside the locked list of files; [`survey`] is what was seen.
//! - [`run`]: a folder of results beside the lock. [`gather`] takes in what lies there: [`evidence`] of
//!   emitted scripts, [`results`], [`log`]s, commands and environments. [`declared`] is what the lock says of
//!   a process, and [`mod@compare`] sets both side by side; [`acceptance`], [`coverage`] and [`scores`] judge
//!   what was measured.

pub mod acceptance;
pub mod attestation;
pub mod checkpoint;
pub mod compare;
pub mod coverage;
pub mod declared;
pub mod evidence;
mod facets;
mod figures;
pub mod found;
pub mod gather;
pub mod image;
pub mod log;
pub mod nodes;
pub mod python;
pub mod results;
pub mod run;
pub mod scores;
pub mod shards;
pub mod shell;
pub mod survey;
mod which;
