//! Pins kept, taken or moved: what `recipec lock` does with what resolving gave.

use std::collections::{BTreeMap, BTreeSet};

use recipe::want::Want;
use serde::{Deserialize, Serialize};

use crate::Lock;
use crate::pin::{Entry, Pin};

/// What resolving a want gave.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Resolution {
    /// It was found.
    Pinned(Pin),
    /// It was not.
    Failed(Outcome, String),
}

/// Why a want has no new pin; decides the exit code.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Outcome {
    /// The outside answered, and not with what is wanted: gone, moved or lying. Exit code 4.
    Refused,
    /// The outside did not answer, or not to us. Exit code 5.
    Unreachable,
    /// Nobody asked: `--offline`. Exit code 3.
    NotAsked,
}

/// What became of a want.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// The pin still serves its want.
    Kept,
    /// There was no pin before.
    New,
    /// The want now resolves to something else.
    Moved,
    /// It could not be resolved; an old pin stays.
    Failed,
}

/// What became of a want, with its old and new pin.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WantState {
    /// The want.
    pub want: Want,
    /// What became of it.
    pub state: State,
    /// The pin before.
    pub old: Option<Pin>,
    /// The pin now.
    pub new: Option<Pin>,
    /// Why it failed.
    pub failure: Option<(Outcome, String)>,
}

/// The pins of a lock after resolving.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Refreshed {
    /// Pins by want name, for [`crate::build`].
    pub pins: BTreeMap<String, Entry>,
    /// What became of each want, in order of name.
    pub states: Vec<WantState>,
}

/// Returns the wants that must be asked for: those without a pin that serves them, and those that
/// `update` names (by want name, config key, or image or repository).
#[must_use]
pub fn unresolved(old: Option<&Lock>, recipe: &str, wants: &[Want], update: &[String]) -> Vec<Want> {
    let wants: BTreeSet<&Want> = wants.iter().collect();
    wants.into_iter().filter(|want| keep(old, recipe, want, update).is_none()).cloned().collect()
}

/// Returns the pins for `wants`: kept where they serve and are not named by `update`, otherwise
/// what `resolutions` (by want name) gives. A want that failed keeps its old pin if there was one;
/// without one it is written as unpinned with its reason, never invented.
#[must_use]
pub fn refresh(
    old: Option<&Lock>,
    recipe: &str,
    wants: &[Want],
    resolutions: &BTreeMap<String, Resolution>,
    update: &[String],
) -> Refreshed {
    let mut refreshed = Refreshed { pins: BTreeMap::new(), states: Vec::new() };
    let sorted: BTreeMap<String, &Want> = wants.iter().map(|want| (want.name(), want)).collect();
    for (name, want) in sorted {
        let state = settle(old, recipe, want, resolutions.get(&name), update);
        let entry = match (&state.new, &state.failure) {
            (Some(pin), _) => Entry::Pinned { want: want.clone(), pin: pin.clone() },
            (None, failure) => Entry::Unpinned {
                want: want.clone(),
                reason: failure
                    .as_ref()
                    .map_or_else(|| "not resolved yet".to_owned(), |(_, reason)| reason.clone()),
            },
        };
        refreshed.pins.insert(name, entry);
        refreshed.states.push(state);
    }
    refreshed
}

fn settle(
    old: Option<&Lock>,
    recipe: &str,
    want: &Want,
    resolution: Option<&Resolution>,
    update: &[String],
) -> WantState {
    let before = old.and_then(|lock| lock.pin(&want.name())).cloned();
    let done =
        |state, new, failure| WantState { want: want.clone(), state, old: before.clone(), new, failure };
    if let Some(pin) = keep(old, recipe, want, update) {
        return done(State::Kept, Some(pin.clone()), None);
    }
    match resolution {
        Some(Resolution::Pinned(pin)) => {
            let state = match &before {
                None => State::New,
                Some(old) if old == pin => State::Kept,
                Some(_) => State::Moved,
            };
            done(state, Some(pin.clone()), None)
        }
        Some(Resolution::Failed(outcome, reason)) => {
            done(State::Failed, before.clone(), Some((*outcome, reason.clone())))
        }
        None => done(
            State::Failed,
            before.clone(),
            Some((Outcome::NotAsked, "nobody has resolved it".to_owned())),
        ),
    }
}

/// Returns the pin that still serves its want, unless `update` asks for a new one.
fn keep<'a>(old: Option<&'a Lock>, recipe: &str, want: &Want, update: &[String]) -> Option<&'a Pin> {
    let pin = old?.pin(&want.name())?;
    let named = update.iter().any(|name| name == recipe || names(want, name));
    (!named && serves(pin, want)).then_some(pin)
}

/// Returns true if `name` names this want: its name, or the image or repository in it.
fn names(want: &Want, name: &str) -> bool {
    if want.name() == name {
        return true;
    }
    match want {
        Want::Image { reference, .. } => {
            // `nvcr.io#nvidia/x` and `nvcr.io/nvidia/x` are one name; a tag or digest may be left out.
            let slashes = reference.replace('#', "/");
            let name = name.replace('#', "/");
            let bare = slashes.split_once('@').map_or(slashes.as_str(), |(before, _)| before);
            let repository = match bare.rsplit_once(':') {
                Some((before, tag)) if !tag.contains('/') => before,
                _ => bare,
            };
            slashes == name || bare == name || repository == name
        }
        Want::Checkpoint { repository, .. }
        | Want::Dataset { repository, .. }
        | Want::Source { repository, .. } => repository == name,
    }
}

/// Returns true if a pin still serves its want: the kinds agree, and an image has every platform
/// that is needed.
fn serves(pin: &Pin, want: &Want) -> bool {
    match (pin, want) {
        (Pin::Image(image), Want::Image { platforms, .. }) => {
            platforms.iter().all(|platform| image.platforms.contains_key(platform))
        }
        (Pin::Checkpoint(_), Want::Checkpoint { .. })
        | (Pin::Dataset(_), Want::Dataset { .. })
        | (Pin::Source(_), Want::Source { .. }) => true,
        _ => false,
    }
}
