//! Where programs run: behind a tunnel, as ranks of a job, without a home, in a container.

use super::*;
use isoform::Messages;
use isoform_channel::Node;
use serde_json::Value;
use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::process::Child;

/// Passes connections on, as `ssh -L` does. Returns where it listens.
fn tunnel(to: SocketAddr) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        while let Ok((near, _)) = listener.accept() {
            let Ok(far) = TcpStream::connect(to) else { continue };
            for (mut from, mut to) in [(near.try_clone().unwrap(), far.try_clone().unwrap()), (far, near)] {
                std::thread::spawn(move || {
                    _ = std::io::copy(&mut from, &mut to);
                    _ = to.shutdown(Shutdown::Write);
                });
            }
        }
    });
    address
}

#[test]
fn a_channel_behind_a_tunnel_is_echoed_although_its_members_cannot_be_dialed() {
    // A port where nobody listens: what is on the other side of a tunnel cannot be dialed from here.
    let nowhere = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let node = Node::builder().listen("127.0.0.1:0").build().unwrap();
    let there: SocketAddr = node.addresses()[0].to_string().trim_start_matches("tcp:").parse().unwrap();
    drop(node);
    let node = Node::builder().listen(there.to_string()).advertise(nowhere.to_string()).build().unwrap();
    let channel = node.create_with("gauges", Some(&gauge())).unwrap();
    assert!(channel.id().to_string().starts_with(&format!("iso://{nowhere}/")));
    let mut source = channel.source_builder().keep(10).build::<Messages>().unwrap();
    for id in 1..=3 {
        source.submit_body(&gauge(), &gauge_body(id, 0.5)).unwrap();
    }
    let id = format!("iso://{}/gauges", tunnel(there));
    let echo = isoform(&["echo", "--json", "-n", "2", &id]);
    assert_eq!(
        (echo.status, &*echo.output),
        (0, "{\"id\":1,\"depth\":0.5}\n{\"id\":2,\"depth\":0.5}\n"),
        "{}",
        echo.errors
    );
    // It is reached over the tunnel, and not taken for one that hangs.
    let info: Value = serde_json::from_str(&isoform(&["info", "--json", &id]).good()).unwrap();
    assert_eq!(info["members"].as_array().unwrap().len(), 1, "{info}");
    let text = isoform(&["info", &id]).good();
    assert!(
        text.contains("source 0  Gauge") && !text.contains("hangs") && !text.contains("cannot be reached"),
        "{text}"
    );
}

/// Starts a command, in these surroundings.
fn start(arguments: &[&str], within: &dyn Fn(&mut Command)) -> Child {
    let mut command = command(arguments);
    within(&mut command);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the command starts")
}

/// The id that `pub` prints first. What it prints later is passed over.
fn id_of(child: &mut Child) -> String {
    let mut notices = BufReader::new(child.stderr.take().unwrap());
    let mut id = String::new();
    notices.read_line(&mut id).unwrap();
    std::thread::spawn(move || std::io::copy(&mut notices, &mut std::io::sink()));
    id.trim_end().strip_prefix("-- ").unwrap_or_else(|| panic!("no id: {id}")).to_string()
}

#[test]
fn the_ranks_of_a_job_meet_by_the_key_of_their_user() {
    const RANKS: u32 = 4;
    const EACH: u32 = 25;
    let home = Files::new();
    let within = |command: &mut Command| {
        command.env_clear().env("HOME", home.path(""));
    };
    let shape = home.write("tick.shape", "record Tick\n  rank  int\n  count  int\n");
    let lines = |rank| (0..EACH).map(|count| format!("{{\"rank\":{rank},\"count\":{count}}}\n")).collect::<String>();
    let files: Vec<String> = (1..RANKS).map(|rank| home.write(&format!("{rank}.json"), lines(rank))).collect();
    // The first one stays until the others have ended: its input does.
    let mut first = command(&["pub", "--shape", &shape, "ticks"]);
    within(&mut first);
    let mut first = first.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut input = first.stdin.take().unwrap();
    input.write_all(lines(0).as_bytes()).unwrap();
    let id = id_of(&mut first);
    let ranks: Vec<Child> = files.iter().map(|file| start(&["pub", "--wait", "1", &id, file], &within)).collect();
    let all = (RANKS * EACH).to_string();
    let echo = start(&["echo", "--json", "--stamp", "--policy", "block", "-n", &all, &id], &within);
    let echo = Run::of(echo.wait_with_output().unwrap());
    let events: Vec<Value> = echo.output.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let records = || events.iter().filter(|event| event.get("record").is_some());
    let (mut came, mut sources) = (vec![Vec::new(); RANKS as usize], BTreeSet::new());
    for event in records() {
        let number = |name: &str| event["record"][name].as_u64().unwrap();
        came[number("rank") as usize].push(number("count") as u32);
        sources.insert(event["event"]["source"].as_u64().unwrap());
    }
    assert_eq!(came, vec![(0..EACH).collect::<Vec<u32>>(); RANKS as usize], "{}", echo.errors);
    assert_eq!(sources.len() as u32, RANKS);
    let ranks = ranks.into_iter().chain(std::iter::once_with(|| {
        drop(input);
        first
    }));
    for rank in ranks {
        let account = Run::of(rank.wait_with_output().unwrap());
        assert!(account.status == 0 && account.output.contains("each adds up"), "{}", account.output);
    }
    assert!(home.path(".config/isoform/key").exists(), "the first of them has made it");
}

/// A source and a sink in these surroundings understand each other.
fn meet(within: &dyn Fn(&mut Command)) {
    let files = Files::new();
    let input = files.path("stream.iso").display().to_string();
    std::fs::write(&input, stream()).unwrap();
    let mut source = start(&["pub", "tracks", &input], within);
    let id = id_of(&mut source);
    let echo = Run::of(start(&["echo", "--json", "-n", "4", &id], within).wait_with_output().unwrap());
    assert_eq!(echo.output, dumps::JSON, "{}", echo.errors);
    assert!(Run::of(source.wait_with_output().unwrap()).output.contains("each adds up"));
}

#[test]
fn programs_meet_without_any_variable() {
    meet(&|command| {
        command.env_clear();
    });
}

#[test]
fn programs_meet_where_the_home_cannot_be_written_to() {
    let runtime = Files::new();
    // Nothing can be made below a file, whoever asks for it.
    let home = runtime.write("home", "");
    meet(&|command| {
        command.env_clear().env("HOME", &home).env("XDG_RUNTIME_DIR", runtime.path(""));
    });
    assert!(runtime.path("isoform/key").exists());
    // Those with another home, or in another container, need the same key.
    let (key, elsewhere) = ("7".repeat(64), Files::new());
    let start_with = |home: &str, key: &str| {
        let (home, key) = (home.to_owned(), key.to_owned());
        move |command: &mut Command| {
            command.env_clear().env("HOME", &home).env("ISOFORM_KEY", &key);
        }
    };
    let input = elsewhere.path("stream.iso").display().to_string();
    std::fs::write(&input, stream()).unwrap();
    let mut source = start(&["pub", "tracks", &input], &start_with(&home, &key));
    let id = id_of(&mut source);
    let other = elsewhere.path("").display().to_string();
    let refused = start(&["info", &id], &start_with(&other, &"8".repeat(64)));
    assert!(Run::of(refused.wait_with_output().unwrap()).bad(2).contains("not admitted"));
    let echo = start(&["echo", "--json", "-n", "4", &id], &start_with(&other, &key));
    assert_eq!(Run::of(echo.wait_with_output().unwrap()).output, dumps::JSON);
    source.wait().unwrap();
    assert_eq!(std::fs::read_dir(elsewhere.path("")).unwrap().count(), 1, "with the variable, no file is made");
}
