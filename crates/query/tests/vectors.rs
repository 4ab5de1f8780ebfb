//! `vectors/query`: what every implementation makes of these queries, for records of every layout.

use isoform_core::text::json;
use isoform_core::{Layout, Shape, Verifier, View, value};
use isoform_query::{Answer, Event, Query};
use serde_json::Value;

const FILE: &str = include_str!("../../../vectors/query/queries.json");

#[test]
fn every_vector_on_every_layout() {
    let file: Value = serde_json::from_str(FILE).expect("JSON");
    let shape = Shape::parse(file["shape"].as_str().expect("a shape")).expect("a good shape");
    for layout in Layout::ALL {
        let format = shape.on(layout).expect("a shape for every layout");
        let record = json::parse(&format, &file["record"].to_string()).expect("a record");
        let body = value::body(&format, &record).expect("a record for every layout");
        let verifier = Verifier::new(&format);
        for vector in file["queries"].as_array().expect("queries") {
            let text = vector["query"].as_str().expect("a query");
            let checked = Query::parse(text).and_then(|query| Ok((query.to_string(), query.check(&format, layout)?)));
            let (normal, checked) = match checked {
                Ok(checked) => checked,
                Err(error) => {
                    assert_eq!(vector["error"], error.code().name(), "{text}: {error}");
                    assert_eq!(vector["column"], error.position().map(|at| at.column).unwrap_or(0), "{text}: {error}");
                    continue;
                }
            };
            assert_eq!(vector["normal"], normal.as_str(), "{text}");
            let mut run = checked.run();
            let event = Event::at(0, vector["time"].as_u64().unwrap_or(0));
            let answer = run.record(View::new(verifier.verify(&body).expect("a good body")), event).expect("an answer");
            let answer = match answer {
                Answer::Filtered => Value::from("filtered"),
                Answer::Passed => Value::from("passed"),
                Answer::Result(body) => {
                    let verifier = Verifier::new(checked.format());
                    let view = View::new(verifier.verify(&body).expect("a good result"));
                    serde_json::from_str(&json::line(view)).expect("JSON")
                }
            };
            assert_eq!(vector["answer"], answer, "{text}");
            assert_eq!(vector.get("faults").and_then(Value::as_u64).unwrap_or(0), run.account().faults, "{text}");
            if let Some(units) = vector.get("units") {
                let fields = checked.format().structure().fields();
                let found: Vec<_> = fields.iter().map(|field| field.unit.as_deref().unwrap_or("")).collect();
                assert_eq!(*units, Value::from(found), "{text}");
            }
        }
    }
}

#[test]
fn every_vector_of_windows_on_every_layout() {
    let file: Value = serde_json::from_str(include_str!("../../../vectors/query/windows.json")).expect("JSON");
    let shape = Shape::parse(file["shape"].as_str().expect("a shape")).expect("a good shape");
    for layout in Layout::ALL {
        let format = shape.on(layout).expect("a shape for every layout");
        let verifier = Verifier::new(&format);
        let body = |record: &Value| {
            let record = json::parse(&format, &record["record"].to_string()).expect("a record");
            value::body(&format, &record).expect("a record for every layout")
        };
        for vector in file["queries"].as_array().expect("queries") {
            let text = vector["query"].as_str().expect("a query");
            let checked = Query::parse(text).and_then(|query| Ok((query.to_string(), query.check(&format, layout)?)));
            let (normal, checked) = match checked {
                Ok(checked) => checked,
                Err(error) => {
                    assert_eq!(vector["error"], error.code().name(), "{text}: {error}");
                    assert_eq!(vector["column"], error.position().map(|at| at.column).unwrap_or(0), "{text}: {error}");
                    continue;
                }
            };
            assert_eq!(vector["normal"].as_str().unwrap_or(text), normal);
            let (mut run, results) = (checked.run(), Verifier::new(checked.format()));
            let line = |body: &[u8]| {
                let view = View::new(results.verify(body).expect("a good result"));
                serde_json::from_str::<Value>(&json::line(view)).expect("JSON")
            };
            let mut found = Vec::new();
            let records = file["records"].as_array().expect("records");
            for (sequence, record) in records.iter().enumerate() {
                let event = Event::at(sequence as u64, record["time"].as_u64().expect("a time"));
                let body = body(record);
                let view = View::new(verifier.verify(&body).expect("a good body"));
                if let Answer::Result(result) = run.record(view, event).expect("an answer") {
                    found.push(serde_json::json!([sequence, line(&result)]));
                }
            }
            let last = run.finish().expect("the last results");
            found.extend(last.iter().map(|result| serde_json::json!([records.len(), line(result)])));
            assert_eq!(vector["results"], Value::from(found), "{text}");
            assert_eq!(run.account().faults, 0, "{text}");
        }
    }
}
