//! Many clients that change one name at the same time: each is told what became of its version, and that is what stays.

use isoform_core::{Code, Format, Layout, Shape};
use isoform_service::Servers;
use isoform_service::server::{Options, Server, start};
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Barrier, Mutex};
use std::time::Duration;

const CLIENTS: usize = 12;
/// Versions that each client offers.
const EACH: usize = 8;

fn running() -> (tempfile::TempDir, Server) {
    let folder = tempfile::tempdir().unwrap();
    let options = Options::new(folder.path().join("formats.redb")).listen("127.0.0.1:0".parse().unwrap());
    (folder, start(options).unwrap())
}

fn river(fields: &[String]) -> Format {
    let shape =
        fields.iter().fold(Shape::new("River").field("step", "int"), |shape, field| shape.field(field.as_str(), "int"));
    shape.on(&Layout::NATIVE).unwrap()
}

/// What became of one version.
#[derive(Debug, PartialEq)]
enum Outcome {
    Stored(u64),
    Refused,
}

/// Offers a version until the server has a turn for it: one client may have few of them under way.
fn offer(servers: &Servers, version: &Value, turned_away: &AtomicUsize) -> Outcome {
    loop {
        match servers.add_version("river", version) {
            Ok(Ok(number)) => return Outcome::Stored(number),
            Ok(Err(_)) => return Outcome::Refused,
            Err(error) if error.code() == Code::Budget => {
                turned_away.fetch_add(1, Ordering::Relaxed);
                std::thread::sleep(Duration::from_millis(2));
            }
            Err(error) => panic!("{error}"),
        }
    }
}

/// The versions of the name, by number. The numbers have no gaps.
fn stored(servers: &Servers) -> BTreeMap<u64, Value> {
    let name = servers.name("river").unwrap();
    let versions = name["versions"].as_array().unwrap();
    let numbers: Vec<u64> = versions.iter().map(|version| version["number"].as_u64().unwrap()).collect();
    assert_eq!(numbers, (1..=versions.len() as u64).collect::<Vec<_>>());
    numbers.into_iter().zip(versions.iter().cloned()).collect()
}

/// All clients offer their versions at the same time, each over a connection of its own. Returns what became of each.
fn race(server: &Server, offers: &[Vec<Value>]) -> Vec<(Value, Outcome)> {
    let (outcomes, turned_away, begin) = (Mutex::default(), AtomicUsize::new(0), Barrier::new(offers.len()));
    std::thread::scope(|scope| {
        for versions in offers {
            let (outcomes, turned_away, begin): (&Mutex<Vec<_>>, _, _) = (&outcomes, &turned_away, &begin);
            scope.spawn(move || {
                let servers = Servers::new([server.url()]).unwrap();
                begin.wait();
                for version in versions {
                    let outcome = offer(&servers, version, turned_away);
                    outcomes.lock().unwrap().push((version.clone(), outcome));
                }
            });
        }
    });
    outcomes.into_inner().unwrap()
}

#[test]
fn no_version_is_lost_or_doubled() {
    let (_folder, server) = running();
    let servers = Servers::new([server.url()]).unwrap();
    servers.set_rule("river", "NONE".parse().unwrap()).unwrap();
    // Each has the format in it, so that formats race as well; half of them are the same for all clients.
    let version = |client: usize, number: usize| {
        let whose = if number.is_multiple_of(2) { "all".to_owned() } else { client.to_string() };
        let format = river(&[format!("f{whose}_{number}")]);
        let json: Value = serde_json::from_str(&isoform_core::text::format::to_json(&format)).unwrap();
        json!({ "formats": [json] })
    };
    let offers: Vec<Vec<Value>> =
        (0..CLIENTS).map(|client| (0..EACH).map(|number| version(client, number)).collect()).collect();
    let outcomes = race(&server, &offers);
    assert_eq!(outcomes.len(), CLIENTS * EACH);
    let stored = stored(&servers);
    // Under each number that a client was told is the client's version, and some client was told of each version.
    let token = |version: &Value| {
        let text = version["formats"][0].to_string();
        json!([isoform_core::text::format::from_json(&text).unwrap().token().to_string()])
    };
    let mut told: HashMap<u64, usize> = HashMap::new();
    for (version, outcome) in &outcomes {
        let Outcome::Stored(number) = outcome else { panic!("the rule NONE refuses nothing") };
        assert_eq!(stored[number]["formats"], token(version));
        *told.entry(*number).or_default() += 1;
    }
    assert_eq!(told.len(), stored.len(), "nothing is there that nobody was told of");
    // Equal versions are one, if they come behind each other; those of one client alone are there once.
    for (one, next) in stored.values().zip(stored.values().skip(1)) {
        assert_ne!(one["formats"], next["formats"], "an equal version is no new one");
    }
    for (version, _) in outcomes.iter().filter(|(version, _)| !version.to_string().contains("fall_")) {
        let token = token(version);
        assert_eq!(stored.values().filter(|stored| stored["formats"] == token).count(), 1);
    }
    let formats = CLIENTS * EACH / 2 + EACH / 2;
    assert_eq!(server.contents().unwrap().formats, formats as u64);
}

/// By the rule, each version must read the one before. Clients build on what was the latest when they looked, so most lose their races.
#[test]
fn the_rule_holds_however_many_race() {
    let (_folder, server) = running();
    let servers = Servers::new([server.url()]).unwrap();
    servers.set_rule("river", "BACKWARD".parse().unwrap()).unwrap();
    // A version without a default for its own field cannot read any that lacks the field; with none of them, it reads all.
    let version = |client: usize, number: usize| {
        let fields: Vec<String> = if number % 4 == 3 { vec![] } else { vec![format!("c{client}")] };
        let format = river(&fields);
        servers.put(&format).unwrap();
        let mut version = json!({ "formats": [format.token().to_string()] });
        if number % 4 == 1 {
            version["rules"] = json!({ "River": { fields[0].as_str(): { "default": number } } });
        }
        version
    };
    let offers: Vec<Vec<Value>> =
        (0..CLIENTS).map(|client| (0..EACH).map(|number| version(client, number)).collect()).collect();
    let outcomes = race(&server, &offers);
    let stored = stored(&servers);
    let (mut accepted, mut refused) = (0, 0);
    for (version, outcome) in &outcomes {
        match outcome {
            Outcome::Stored(number) => {
                accepted += 1;
                assert_eq!(stored[number]["formats"], version["formats"]);
                assert_eq!(stored[number].get("rules"), version.get("rules"));
            }
            Outcome::Refused => refused += 1,
        }
    }
    assert!(accepted > 0 && refused > 0 && accepted + refused == CLIENTS * EACH, "{accepted}, {refused}");
    for reader in 2..=stored.len() {
        let compared = servers.get(&format!("names/river/compare?reader={reader}&writer={}", reader - 1)).unwrap();
        assert_eq!(compared["compatible"], true, "version {reader}: {compared}");
    }
}
