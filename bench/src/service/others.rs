//! Other registries, as far as they run without a message broker.

use super::{Rounds, bare, length, timed};
use crate::channel::turns::turns;
use crate::{Line, Result};
use isoform::Format;

/// The variable with `HOST:PORT` of an Apicurio Registry that keeps its artifacts in memory.
const APICURIO: &str = "APICURIO";
/// Its interface for clients of Confluent's registry.
const API: &str = "/apis/ccompat/v7";

/// Measures an Apicurio Registry, if there is one. Says which registries are not measured, and why.
pub(super) fn run(
    formats: &[Format],
    rounds: usize,
    cores: usize,
    line: &mut impl FnMut(Line) -> Result<()>,
) -> Result<()> {
    line(Line::skipped(
        "Confluent Schema Registry, of the group service",
        "a Kafka broker, where it keeps its schemas",
    ))?;
    line(Line::skipped("Karapace, of the group service", "a Kafka broker, where it keeps its schemas"))?;
    let Ok(host) = std::env::var(APICURIO) else {
        let how = "an Apicurio Registry in memory, and APICURIO=HOST:PORT; the package registries tried here have no program of it to run; its container has";
        return line(Line::skipped("Apicurio Registry, of the group service", how));
    };
    let mut client = bare::Client::new(&host)?;
    let (mut ids, mut order) = (Vec::new(), Rounds::new(formats, rounds));
    let registered = turns(rounds, 1, |who| {
        timed(order.next(who), |format| {
            let schema = serde_json::json!({ "schema": avro(format) }).to_string();
            let path = format!("{API}/subjects/{}/versions", format.name());
            let answer = client.send("POST", &path, "application/json", schema.as_bytes())?;
            let answer: serde_json::Value = serde_json::from_slice(answer)?;
            ids.push(answer["id"].as_u64().ok_or("an answer without the number of the schema")?);
            Ok(())
        })
    })?;
    let mut ids = ids.into_iter();
    let mut order = Rounds::new(formats, rounds);
    let resolved = turns(rounds, 1, |who| {
        timed(order.next(who), |_| {
            let path = format!("{API}/schemas/ids/{}", ids.next().ok_or("fewer schemas than formats")?);
            client.get(&path, |body| length(&vec![0; body.len().min(1)], 1))
        })
    })?;
    for (measure, figures) in [("register", &registered[0]), ("resolve_cold", &resolved[0])] {
        let of = Line::of("service").word("measure", measure).word("peer", "Apicurio Registry").count("cores", cores);
        line(figures.written(of, ""))?;
    }
    Ok(())
}

/// A schema of Avro with the same name and the same names of fields.
fn avro(format: &Format) -> String {
    let fields = format
        .structure()
        .fields()
        .iter()
        .map(|field| serde_json::json!({ "name": &*field.name, "type": { "type": "array", "items": "double" } }));
    let fields: Vec<_> = fields.collect();
    serde_json::json!({ "type": "record", "name": format.name(), "fields": fields }).to_string()
}
