//! Counts for monitoring, in the text form of Prometheus.

use super::app::App;
use isoform_core::Result;
use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering};

/// Counts since the start.
#[derive(Debug, Default)]
pub(super) struct Metrics {
    /// Answers by the first digit of their status, from 1 to 5.
    answers: [AtomicU64; 5],
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
    pub(super) fn answered(&self, status: u16) {
        if let Some(count) = self.answers.get(usize::from(status / 100).wrapping_sub(1)) {
            count.fetch_add(1, Ordering::Relaxed);
        }
    }
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
    write("connections_total", "counter", "Connections that were accepted.", &one(&metrics.connections));
    write("connections", "gauge", "Connections that stand now.", &one(&metrics.standing));
    write("turned_away_total", "counter", "Connections beyond the limit.", &one(&metrics.turned_away));
    write("copied_total", "counter", "Formats that came from peers.", &one(&metrics.copied));
    write("unreached_total", "counter", "Failed attempts to copy from peers.", &one(&metrics.unreached));
    write("refused_total", "counter", "Impossible answers of peers.", &one(&metrics.refused));
    Ok(text)
}
