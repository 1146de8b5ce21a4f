//! What came of one want, or why nothing did.

use diag::{Diagnostic, slugs};
use lock::pin::{File, Pin};

use crate::transport::{Fault, FaultKind, Response};

/// A want, resolved.
#[derive(Clone, PartialEq, Debug)]
pub struct Resolved {
    /// What it resolved to.
    pub pin: Pin,
    /// The files of a checkpoint or data set, sorted by path; empty for the others.
    pub files: Vec<File>,
    /// What was read from the very bytes that the pin names.
    pub facts: Facts,
    /// The content of a source file, for cookbook readers and curves.
    pub content: Option<Vec<u8>>,
    /// Warnings and notes: the want is resolved, and this is worth knowing.
    pub remarks: Vec<Diagnostic>,
}

/// Facts of a pinned thing, each with [`engine::known::Source::Pinned`].
#[derive(Clone, PartialEq, Debug)]
pub enum Facts {
    /// There are none of this kind.
    None,
    /// Of a checkpoint.
    Checkpoint(Box<engine::known::Checkpoint>),
    /// Of an image.
    Image(engine::known::Image),
}

/// Whose fault a refusal is; it decides the exit code.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Class {
    /// The manifest names what cannot be: exit code 1.
    Manifest,
    /// Nobody may be asked and there is no pin: exit code 3.
    Stale,
    /// The outside disagrees: gone, moved, lying: exit code 4.
    Outside,
    /// It could not be reached or read: exit code 5.
    Unreachable,
}

impl Class {
    /// Returns the exit code that this alone would give.
    #[must_use]
    pub fn exit_code(self) -> u8 {
        match self {
            Self::Manifest => 1,
            Self::Stale => 3,
            Self::Outside => 4,
            Self::Unreachable => 5,
        }
    }
}

/// The refusal of one want; the others are still resolved.
#[derive(Clone, PartialEq, Debug)]
pub struct Refusal {
    /// Whose fault it is.
    pub class: Class,
    /// What is wrong, why, and what to do.
    pub diagnostic: Box<Diagnostic>,
}

impl Refusal {
    /// Refuses because of the manifest.
    pub fn manifest(diagnostic: Diagnostic) -> Self {
        Self { class: Class::Manifest, diagnostic: Box::new(diagnostic) }
    }

    /// Refuses because the outside disagrees.
    pub fn outside(diagnostic: Diagnostic) -> Self {
        Self { class: Class::Outside, diagnostic: Box::new(diagnostic) }
    }

    /// Refuses because something could not be reached.
    pub fn unreachable(diagnostic: Diagnostic) -> Self {
        Self { class: Class::Unreachable, diagnostic: Box::new(diagnostic) }
    }
}

/// Turns an exchange without an answer into the refusal of `want`.
#[must_use]
pub(crate) fn of_fault(want: &str, fault: &Fault) -> Refusal {
    use slugs::upstream as slug;
    let server = &fault.server;
    let unreachable = |message: String| {
        Refusal::unreachable(Diagnostic::error(slug::UNREACHABLE, message).why(fault.detail.clone()))
    };
    let outside =
        |slug, message: String| Refusal::outside(Diagnostic::error(slug, message).why(fault.detail.clone()));
    let again = "run the command again when it answers; the old lock is untouched";
    let mut refusal = match fault.kind {
        FaultKind::Offline => Refusal {
            class: Class::Stale,
            diagnostic: Box::new(
                Diagnostic::error(slug::OFFLINE, format!("`{want}` has no pin, and `--offline` asks nobody"))
                    .help("run `recipec lock` once with network, or give `--mirror DIR`"),
            ),
        },
        FaultKind::NotMirrored => Refusal::outside(
            Diagnostic::error(slug::NOT_IN_MIRROR, format!("`{want}` is not in the mirror"))
                .why(fault.detail.clone())
                .help("add it to the mirror, or lock without `--mirror`"),
        ),
        FaultKind::Name => unreachable(format!("`{server}` cannot be found, so `{want}` is unresolved")),
        FaultKind::Connect => unreachable(format!("`{server}` does not accept connections, so `{want}` is unresolved")),
        FaultKind::Timeout => unreachable(format!("`{server}` did not answer in time about `{want}`")),
        FaultKind::Cut => unreachable(format!("`{server}` broke off its answer about `{want}`")),
        FaultKind::Tls => Refusal::unreachable(
            Diagnostic::error(slug::TLS_REFUSED, format!("the certificate of `{server}` is not trusted"))
                .why(fault.detail.clone())
                .why(format!("`{want}` is unresolved: nothing is read over a connection that could be anyone's"))
                .help("check the clock, the proxy and the server's certificate; `SSL_CERT_FILE` adds a certificate authority"),
        ),
        FaultKind::TooLarge => outside(slug::ANSWER_TOO_LARGE, format!("`{server}` sent more than an answer about `{want}` can be"))
            ,
        FaultKind::RedirectLoop | FaultKind::RedirectDowngrade => {
            outside(slug::REDIRECT_REFUSED, format!("a redirect of `{server}` is not followed, so `{want}` is unresolved"))
        }
        FaultKind::Protocol => outside(slug::UNEXPECTED_ANSWER, format!("`{server}` does not speak HTTP as it should about `{want}`")),
        FaultKind::Local => unreachable(format!("`{want}` cannot be read")),
    };
    if refusal.diagnostic.help.is_empty() {
        refusal.diagnostic.help.push(match fault.kind {
            FaultKind::Local => "check the folder and its permissions".to_owned(),
            _ if refusal.class == Class::Unreachable => again.to_owned(),
            _ => "check that the address is the service's own and that no proxy answers in its place"
                .to_owned(),
        });
    }
    refusal
}

/// Turns a status that says "not now" into a refusal; `None` for every other status.
#[must_use]
pub(crate) fn of_status(want: &str, response: &Response) -> Option<Refusal> {
    use slugs::upstream as slug;
    let server = crate::transport::server(&response.url);
    let limited = response.status == 429
        || (response.status == 403 && response.header("x-ratelimit-remaining") == Some("0"));
    if limited {
        let mut diagnostic = Diagnostic::error(
            slug::RATE_LIMITED,
            format!("`{server}` limits how often it is asked about `{want}`"),
        );
        for (name, says) in [
            ("retry-after", "it says to wait (seconds, or a date)"),
            ("x-ratelimit-reset", "the limit ends at (Unix time)"),
            ("ratelimit", "its limit"),
            ("ratelimit-limit", "its limit"),
        ] {
            if let Some(value) = response.header(name) {
                diagnostic = diagnostic.why(format!("{says}: {}", printable(value, 120)));
            }
        }
        return Some(Refusal::unreachable(
            diagnostic
                .why("this says nothing about whether it exists")
                .help("wait, or log in: a known user has a higher limit"),
        ));
    }
    (response.status >= 500 || response.status == 408).then(|| {
        Refusal::unreachable(
            Diagnostic::error(
                slug::SERVER_ERROR,
                format!("`{server}` failed (status {}) when asked about `{want}`", response.status),
            )
            .why(excerpt(&response.body))
            .help("run the command again later; the old lock is untouched"),
        )
    })
}

/// Refuses an answer that is not what the protocol promises.
pub(crate) fn unexpected(want: &str, response: &Response, why: impl Into<String>) -> Refusal {
    let server = crate::transport::server(&response.url);
    Refusal::outside(
        Diagnostic::error(
            slugs::upstream::UNEXPECTED_ANSWER,
            format!("the answer of `{server}` about `{want}` cannot be used"),
        )
        .why(why.into())
        .help("check that the address is the service's own and that no proxy or login page answers in its place"),
    )
}

/// Returns the beginning of a body that a person can read on one line.
#[must_use]
pub(crate) fn excerpt(body: &[u8]) -> String {
    let text = printable(&String::from_utf8_lossy(body.get(..600).unwrap_or(body)), 200);
    if text.is_empty() { "the answer is empty".to_owned() } else { format!("it says: {text}") }
}

/// Keeps what a terminal may show: hostile servers send control characters.
#[must_use]
pub fn printable(text: &str, most: usize) -> String {
    let mut shown: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(most).collect();
    if text.chars().count() > most {
        shown.push('…');
    }
    shown.trim().to_owned()
}
