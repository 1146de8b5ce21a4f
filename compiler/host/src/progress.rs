//! Progress of long work: a bar on a terminal, a plain line elsewhere, nothing when nobody looks.

use std::io::{IsTerminal as _, Write as _};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Who looks at the progress.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Show {
    /// Nobody.
    #[default]
    Nothing,
    /// Whoever looks at stderr: a bar if it is a terminal, else a plain line now and then.
    Stderr,
}

/// A count of things done out of a total.
#[derive(Debug)]
pub struct Progress {
    bar: Option<ProgressBar>,
    /// Plain lines instead of a bar: what is counted, and after how many a line is due.
    lines: Option<(String, u64)>,
    done: std::sync::atomic::AtomicU64,
    total: u64,
}

impl Progress {
    /// Starts counting towards `total`; `what` is a plural, such as `wants`.
    #[must_use]
    pub fn start(show: Show, what: &str, total: u64) -> Self {
        let terminal = std::io::stderr().is_terminal();
        let bar = (show == Show::Stderr && terminal).then(|| {
            let bar = ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::stderr());
            let style = ProgressStyle::with_template("{bar:24} {pos}/{len} {prefix} {wide_msg}");
            bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
            bar.set_prefix(what.to_owned());
            bar
        });
        let lines =
            (show == Show::Stderr && !terminal && total > 20).then(|| (what.to_owned(), total.div_ceil(5)));
        Self { bar, lines, done: std::sync::atomic::AtomicU64::new(0), total }
    }

    /// Starts counting bytes towards `total`, with their rate and the time that is left.
    #[must_use]
    pub fn bytes(show: Show, total: u64) -> Self {
        let mut progress = Self::start(show, "bytes", total);
        // A gigabyte is read before anyone has begun to wait.
        if total < 1 << 30 {
            progress.lines = None;
        }
        if let Some(bar) = &progress.bar {
            let form = "{bar:24} {bytes}/{total_bytes} {bytes_per_sec}, {eta} left";
            bar.set_style(
                ProgressStyle::with_template(form).unwrap_or_else(|_| ProgressStyle::default_bar()),
            );
        }
        progress
    }

    /// Says that more is done, and what.
    pub fn advance(&self, by: u64, now: &str) {
        if let Some(bar) = &self.bar {
            bar.set_message(now.to_owned());
            bar.inc(by);
        }
        let before = self.done.fetch_add(by, std::sync::atomic::Ordering::Relaxed);
        if let Some((what, every)) = &self.lines
            && before / every != (before + by) / every
            && before + by < self.total
        {
            let _ = writeln!(std::io::stderr(), "{} of {} {what}", before + by, self.total);
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
