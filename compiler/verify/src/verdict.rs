//! Verdicts: what came of asking upstream, each with its evidence.

use std::fmt;
use std::str::FromStr;

use serde::Serialize;
use serde_json::Value as Json;

use crate::cookbook::Class;
use crate::facet::FacetVerdict;

/// What came of asking.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// The claim holds.
    Holds,
    /// Upstream says something else.
    Drifts,
    /// Upstream says nothing.
    Silent,
    /// What upstream says could not be read.
    Unreadable,
}

impl Outcome {
    /// Returns the word for it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::Drifts => "drifts",
            Self::Silent => "silent",
            Self::Unreadable => "unreadable",
        }
    }
}

/// One verdict on one claim of a recipe.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Verdict {
    /// Config key.
    pub recipe: String,
    /// Ids of the points that it is about.
    pub points: Vec<String>,
    /// The rule.
    pub slug: &'static str,
    /// What came of it.
    pub verdict: Outcome,
    /// For the cookbook: argument by argument.
    pub facets: Vec<FacetVerdict>,
    /// For the cookbook: the cell that the plans were set beside.
    pub cell: Option<Json>,
    /// Where it was read.
    pub evidence: Vec<Evidence>,
    /// What was found, as a phrase.
    pub message: String,
    /// True if the finding is announced and not yet in force, or the rule demands nothing here:
    /// shown, and no failure.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub advisory: bool,
}

/// A place where something was read.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
pub struct Evidence {
    /// Repository, registry reference or policy file.
    pub repo: String,
    /// The commit or digest; empty for policy.
    pub commit: String,
    /// Path inside.
    pub path: String,
    /// Line, counted from 1; 0 if it is no text.
    pub line: usize,
    /// Whether it was made by someone else.
    pub class: Class,
}

/// A day, `YYYY-MM-DD`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Day {
    year: u16,
    month: u8,
    day: u8,
}

impl FromStr for Day {
    type Err = String;

    /// Reads `YYYY-MM-DD`; what follows a `T`, as in a time stamp, is left out.
    fn from_str(text: &str) -> Result<Self, String> {
        let fail = || format!("`{text}` is no day; a day is written YYYY-MM-DD");
        let date = text.split('T').next().unwrap_or(text);
        let mut parts = date.split('-');
        let mut next = |width: usize| -> Option<u16> {
            let part = parts.next()?;
            (part.len() == width && part.bytes().all(|b| b.is_ascii_digit()))
                .then(|| part.parse().ok())
                .flatten()
        };
        let (year, month, day) =
            (next(4).ok_or_else(fail)?, next(2).ok_or_else(fail)?, next(2).ok_or_else(fail)?);
        let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
        let longest = match month {
            1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
            4 | 6 | 9 | 11 => 30,
            2 => 28 + u16::from(leap),
            _ => 0,
        };
        if parts.next().is_some() || day == 0 || day > longest {
            return Err(fail());
        }
        Ok(Self {
            year,
            month: u8::try_from(month).map_err(|_| fail())?,
            day: u8::try_from(day).map_err(|_| fail())?,
        })
    }
}

impl fmt::Display for Day {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:04}-{:02}-{:02}", self.year, self.month, self.day)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_days_of_the_calendar_are_days() {
        assert_eq!(
            "2026-08-03T10:00:00Z".parse::<Day>().map(|day| day.to_string()),
            Ok("2026-08-03".to_owned())
        );
        assert!("2024-02-29".parse::<Day>().is_ok());
        for text in ["2026-02-29", "2026-8-3", "2026-13-01", "", "2026-08-03-1", "2026-08-00"] {
            assert!(text.parse::<Day>().is_err(), "{text}");
        }
    }
}
