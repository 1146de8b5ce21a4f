//! Progress of long work: a bar on a terminal, a plain line elsewhere, nothing when nobody looks.

use std::io::{IsTerminal as _, Write as _};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use indicatif::{HumanBytes, HumanDuration, ProgressBar, ProgressDrawTarget, ProgressStyle};

/// How long nothing is said where there is no bar, while bytes are counted.
const SILENCE: Duration = Duration::from_secs(10);

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
    /// Lines that say bytes, their rate and the time that is left: when it began and when it last spoke.
    rate: Option<(Instant, Mutex<Instant>)>,
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
        Self { bar, lines, rate: None, done: std::sync::atomic::AtomicU64::new(0), total }
    }

    /// Starts counting bytes towards `total`, with their rate and the time that is left.
    #[must_use]
    pub fn bytes(show: Show, total: u64) -> Self {
        let mut progress = Self::start(show, "bytes", total);
        if progress.lines.take().is_some() {
            let now = Instant::now();
            progress.rate = Some((now, Mutex::new(now)));
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
        // Whoever finds the lock taken leaves the line to who has it.
        if let Some((began, spoke)) = &self.rate
            && let Ok(mut spoke) = spoke.try_lock()
            && spoke.elapsed() >= SILENCE
        {
            *spoke = Instant::now();
            let _ = writeln!(std::io::stderr(), "{}", rate(before + by, self.total, began.elapsed()));
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

/// Says how far a reading is, how fast it goes and how long it will take.
fn rate(done: u64, total: u64, took: Duration) -> String {
    let each_second = done as f64 / took.as_secs_f64().max(0.001);
    let left = Duration::from_secs_f64((total.saturating_sub(done) as f64 / each_second.max(1.0)).min(1e9));
    let (done, total, speed) = (HumanBytes(done), HumanBytes(total), HumanBytes(each_second as u64));
    format!("{done} of {total}, {speed}/s, {} left", HumanDuration(left))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_bytes_rate_and_what_is_left() {
        let said = rate(10 << 30, 40 << 30, Duration::from_secs(10));
        assert_eq!(said, "10.00 GiB of 40.00 GiB, 1.00 GiB/s, 30 seconds left");
        assert_eq!(rate(0, 1, Duration::ZERO), "0 B of 1 B, 0 B/s, 1 second left");
    }
}
