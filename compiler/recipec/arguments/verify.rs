//! The command line of `recipec verify`.

use std::path::PathBuf;

use clap::Args;

use super::Recipes;

/// Set what recipes say beside what upstream says
#[derive(Args, Default, Debug)]
pub(crate) struct Verify {
    #[command(flatten)]
    pub(crate) recipes: Recipes,
    /// What a verdict is made of: `review` (the default) or `strict`, or another of manifests/policy
    #[arg(long, value_name = "NAME")]
    pub(crate) profile: Option<String>,
    /// The day that dated rules are judged at
    #[arg(long, value_name = "YYYY-MM-DD")]
    pub(crate) at: Option<String>,
    /// Also judge the results, the run and the pull request in this folder, as the forge's tools download
    /// them (`recipec explain sweep-complete`)
    #[arg(long, value_name = "DIR")]
    pub(crate) evidence: Option<PathBuf>,
    /// Write the checklist of the sign-off with what is proven ticked
    #[arg(long, requires = "evidence")]
    pub(crate) signoff: bool,
    /// Also demand that recipes only grew since this revision
    #[arg(long, value_name = "REV")]
    pub(crate) append_only: Option<String>,
    /// Judge nothing, and list what the cookbooks say: every command with what is selected to see it
    #[arg(long, value_name = "WHAT", value_parser = ["commands"])]
    pub(crate) claims: Option<String>,
    /// With `--claims`: read this checkout of a cookbook in place of the pages that locks pin
    #[arg(long, value_name = "DIR", requires = "claims")]
    pub(crate) cookbook: Vec<PathBuf>,
    /// Judge by this rule alone; several may be given
    #[arg(long = "rule", value_name = "SLUG")]
    pub(crate) rules: Vec<String>,
    /// Read upstream from this folder and ask nobody else
    #[arg(long, value_name = "DIR")]
    pub(crate) mirror: Option<PathBuf>,
    /// Ask nobody; what would have to be asked is unreadable or left out
    #[arg(long, conflicts_with = "mirror")]
    pub(crate) offline: bool,
}
