//! What a program that uses `tracing` says is heard by others. The outlet is that of the process: there is one test.

use isoform::emit::{self, Numbers, Outlet, Topic};
use isoform::{Result, Shared, text};
use isoform_tracing::Records;
use std::sync::{Arc, Mutex};
use tracing::{debug, field, info, info_span, warn};
use tracing_subscriber::prelude::*;

#[derive(Default)]
struct Kept(Mutex<Vec<(&'static str, Shared)>>);

impl Outlet for Kept {
    fn open(&self, name: &'static str, numbers: &Arc<Numbers>) {
        if name != "trace.quiet.part" {
            numbers.hear();
        }
    }

    fn take(&self, name: &'static str, record: Shared) -> Result<()> {
        self.0.lock().unwrap().push((name, record));
        Ok(())
    }
}

#[test]
fn events_and_spans_are_records() {
    let kept = Arc::new(Kept::default());
    emit::set_outlet(Some(kept.clone()));
    tracing::subscriber::with_default(tracing_subscriber::registry().with(Records::new()), || {
        info!(target: "river::model", depth = 0.5, step = -7_i64, count = 3_u64, wet = true, "it {}", "rains");
        let outer = info_span!(target: "river::model", "outer", station = "Old Mill", later = field::Empty);
        outer.in_scope(|| {
            let inner = info_span!(target: "river::model", "inner");
            inner.in_scope(|| warn!(target: "river::model", level = "mine", shape = ?(1, "x"), text = "a\0b"));
        });
        outer.record("later", u128::MAX);
        drop(outer);
        debug!(target: "quiet::part", "nobody listens");
        drop(info_span!(target: "quiet::part", "not measured"));
    });
    assert_eq!(Topic::named("trace.quiet.part").numbers().next(), 2, "what nobody hears is numbered");
    let records = kept.0.lock().unwrap();
    assert!(records.iter().all(|(name, _)| *name == "trace.river.model"));
    let mut lines = Vec::new();
    let mut spans = Vec::new();
    for (_, record) in records.iter() {
        let message = record.incoming().unwrap();
        let view = message.view().unwrap();
        let mut line = text::json::line(view);
        // The numbers of spans and the times differ with each run.
        for name in ["span", "parent", "nanoseconds"] {
            let Ok(number) = view.i64(name) else { continue };
            spans.push((name, number));
            line = line.replace(&format!("\"{name}\":{number}"), &format!("\"{name}\":_"));
        }
        lines.push(line);
    }
    assert_eq!(
        lines,
        [
            r#"{"level":"INFO","span":_,"message":"it rains","depth":0.5,"step":-7,"count":3,"wet":true}"#,
            r#"{"span":_,"level":"mine","shape":"(1, \"x\")","text":"a"}"#,
            r#"{"level":"INFO","span":_,"parent":_,"name":"inner","nanoseconds":_}"#,
            concat!(
                r#"{"level":"INFO","span":_,"parent":_,"name":"outer","nanoseconds":_,"station":"Old Mill","#,
                r#""later":"340282366920938463463374607431768211455"}"#
            ),
        ]
    );
    let numbers = |name| spans.iter().filter(|(of, _)| *of == name).map(|(_, number)| *number).collect::<Vec<_>>();
    let (of, parents) = (numbers("span"), numbers("parent"));
    assert!(of[0] == 0 && of[1] != 0 && of[1] == of[2] && of[3] != of[2], "{of:?}");
    assert_eq!(parents, [of[3], 0]);
}
