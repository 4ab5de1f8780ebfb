//! Counts for monitoring, in the text form of Prometheus.

use super::app::App;
use isoform_core::{Code, Result};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Counts since the start.
#[derive(Debug, Default)]
pub(super) struct Metrics {
    /// Answers by the first digit of their status, from 1 to 5.
    answers: [AtomicU64; 5],
    /// Problems, by the name of their code.
    problems: Mutex<BTreeMap<&'static str, u64>>,
    /// Connections that were accepted.
    pub(super) connections: AtomicU64,
    /// Connections that stand now.
    pub(super) standing: AtomicU64,
    /// Connections that were turned away since there were too many.
    pub(super) turned_away: AtomicU64,
    /// Formats that came from peers.
    pub(super) copied: AtomicU64,
    /// Failed attempts to copy from peers.
    pub(super) unreached: AtomicU64,
    /// What peers said that cannot be so: lists, and descriptions that they list and do not have.
    pub(super) refused: AtomicU64,
}

impl Metrics {
    /// An answer of this status, and the code of the problem that it is.
    pub(super) fn answered(&self, status: u16, problem: Option<Code>) {
        if let Some(code) = problem {
            *self.problems().entry(code.name()).or_default() += 1;
        }
        if let Some(count) = self.answers.get(usize::from(status / 100).wrapping_sub(1)) {
            count.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn problems(&self) -> MutexGuard<'_, BTreeMap<&'static str, u64>> {
        self.problems.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A text between quotation marks.
fn quoted(text: &str) -> String {
    text.chars().filter(|c| !matches!(c, '"' | '\\') && !c.is_control()).collect()
}

/// All counts.
pub(super) fn text(app: &App) -> Result<String> {
    let mut text = String::new();
    let mut write = |name: &str, kind: &str, help: &str, values: &[(String, u64)]| {
        _ = writeln!(text, "# HELP isoform_{name} {help}\n# TYPE isoform_{name} {kind}");
        for (labels, value) in values {
            _ = writeln!(text, "isoform_{name}{labels} {value}");
        }
    };
    let metrics = &app.metrics;
    let one = |count: &AtomicU64| [(String::new(), count.load(Ordering::Relaxed))];
    let answers: Vec<(String, u64)> = (1..)
        .zip(&metrics.answers)
        .map(|(digit, count)| (format!("{{status=\"{digit}xx\"}}"), count.load(Ordering::Relaxed)))
        .collect();
    write("formats", "gauge", "Formats in the store.", &[(String::new(), app.store.count()?)]);
    write("answers_total", "counter", "Answers, by status.", &answers);
    let problems = metrics.problems().clone();
    let problems: Vec<_> = problems.into_iter().map(|(name, count)| (format!("{{code=\"{name}\"}}"), count)).collect();
    write("problems_total", "counter", "Requests that were refused or failed, by the code of the error.", &problems);
    let waiting = [(String::new(), app.answers.bytes() as u64)];
    write("waiting_bytes", "gauge", "Bytes of answers that clients have not taken yet.", &waiting);
    let ended = [(String::new(), app.answers.ended())];
    write("ended_total", "counter", "Connections that ended since their answers were not taken.", &ended);
    let kinds = [("looks", &app.looks), ("comparisons", &app.comparisons), ("changes", &app.changes)];
    let places = kinds.iter().flat_map(|(kind, places)| {
        let (used, waiting) = places.taken();
        let entry = |state: &str, count: usize| (format!("{{kind=\"{kind}\",state=\"{state}\"}}"), count as u64);
        [entry("used", used), entry("waiting", waiting)]
    });
    write("places", "gauge", "Requests that have a place to work, or wait for one.", &places.collect::<Vec<_>>());
    write("connections_total", "counter", "Connections that were accepted.", &one(&metrics.connections));
    write("connections", "gauge", "Connections that stand now.", &one(&metrics.standing));
    write("turned_away_total", "counter", "Connections beyond the limit.", &one(&metrics.turned_away));
    let ages = app.copied.iter().map(|copied| {
        let labels = format!("{{what=\"{}\",peer=\"{}\"}}", copied.what, quoted(&copied.url));
        (labels, copied.age())
    });
    let help = "Seconds since everything had come from a peer, or since the start.";
    write("copy_age_seconds", "gauge", help, &ages.collect::<Vec<_>>());
    write("copied_total", "counter", "Formats that came from peers.", &one(&metrics.copied));
    write("unreached_total", "counter", "Failed attempts to copy from peers.", &one(&metrics.unreached));
    write("refused_total", "counter", "Impossible answers of peers.", &one(&metrics.refused));
    Ok(text)
}
