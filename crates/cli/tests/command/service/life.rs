//! Services that are killed, and replicas that start in any order, as real processes. `KILLS` sets how often one is killed.

use super::*;
use isoform::Token;
use isoform::core::Resolver;
use isoform::core::declare::Shape;
use isoform_service::Servers;
use serde_json::json;
use std::collections::BTreeMap;
use std::net::TcpListener;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// The clients that register at the same time.
const CLIENTS: usize = 3;
/// The longest that anything here takes.
const LONG: Duration = Duration::from_secs(120);

/// What clients were told to be stored.
#[derive(Default)]
struct Account {
    formats: Vec<Format>,
    versions: BTreeMap<u64, Token>,
}

fn format(name: &str) -> Format {
    Shape::new("River").field(name, "int").field("depth", "double").on(&Layout::NATIVE).unwrap()
}

/// Registers formats, each as a version of the name `river` too, until the service is gone.
fn register(servers: &Servers, client: &str, account: &Mutex<Account>, acknowledged: &AtomicUsize) {
    for number in 0.. {
        let format = format(&format!("{client}_{number}"));
        if servers.put(&format).is_err() {
            return;
        }
        account.lock().unwrap().formats.push(format.clone());
        acknowledged.fetch_add(1, Ordering::Relaxed);
        let version = json!({ "formats": [format.token().to_string()] });
        match servers.add_version("river", &version) {
            Ok(Ok(number)) => assert_eq!(account.lock().unwrap().versions.insert(number, format.token()), None),
            Ok(Err(refused)) => panic!("the rule NONE refuses nothing: {refused:?}"),
            Err(_) => return,
        }
    }
}

#[test]
#[allow(clippy::print_stdout, reason = "the account is what the long run is for")]
fn no_acknowledged_registration_is_lost_when_the_service_is_killed() {
    let kills: usize = std::env::var("KILLS").map_or(5, |kills| kills.parse().unwrap());
    let (mut known, mut versions) = (0, 0);
    // A name has a limited number of versions, so there are several stores.
    for store in 0..kills.div_ceil(20) {
        let files = Files::new();
        let file = files.path("formats.redb").display().to_string();
        let account = Mutex::new(Account::default());
        let (running, url) = serve(&file, &[]);
        isoform(&["formats", "--server", &url, "rule", "river", "NONE"]).good();
        drop(running);
        for kill in 0..20.min(kills - 20 * store) {
            let (mut running, url) = serve(&file, &[]);
            let acknowledged = AtomicUsize::new(0);
            // Some other moment each time.
            let enough = (store * 20 + kill) * 7 % 23;
            std::thread::scope(|scope| {
                for client in 0..CLIENTS {
                    let (url, account, acknowledged) = (&url, &account, &acknowledged);
                    scope.spawn(move || {
                        let servers = Servers::new([url.as_str()]).unwrap();
                        register(&servers, &format!("k{store}_{kill}_{client}"), account, acknowledged);
                    });
                }
                let began = Instant::now();
                while acknowledged.load(Ordering::Relaxed) < enough {
                    assert!(began.elapsed() < LONG, "the service does not answer");
                    std::thread::yield_now();
                }
                running.kill();
            });
        }
        let (_running, url) = serve(&file, &[]);
        let servers = Servers::new([url]).unwrap();
        let account = account.into_inner().unwrap();
        for format in &account.formats {
            assert_eq!(servers.resolve(format.token()).unwrap(), format.description().as_bytes());
        }
        let name = servers.name("river").unwrap();
        let stored = name["versions"].as_array().unwrap();
        for (number, version) in (1..).zip(stored) {
            assert_eq!(version["number"], number);
        }
        for (number, token) in &account.versions {
            assert_eq!(stored[*number as usize - 1]["formats"], json!([token.to_string()]));
        }
        known += account.formats.len();
        versions += account.versions.len();
    }
    println!("{kills} kills: {known} formats and {versions} versions were acknowledged, and all are there");
}

/// A service whose disk is full says so, and goes on with what it has.
#[cfg(unix)]
#[test]
fn a_full_disk_refuses_what_is_new_and_loses_nothing() {
    let files = Files::new();
    let store = files.path("formats.redb").display().to_string();
    let limited = "trap '' XFSZ; ulimit -f 6000; exec \"$@\"";
    let serve_words = ["serve", "--listen", "127.0.0.1:0", "--store", &store];
    let mut shell = Command::new("sh");
    shell.args(["-c", limited, "sh"]).arg(command(&[]).get_program()).args(serve_words);
    let (_running, url) = running(shell).unwrap();
    let servers = Servers::new([url]).unwrap();
    let wide = |number: usize| {
        let field = |at| format!("f{number}_{at}_{}", "x".repeat(200));
        (0..200).fold(Shape::new("Wide"), |shape, at| shape.field(field(at), "int")).on(&Layout::NATIVE).unwrap()
    };
    let (mut stored, mut refused) = (Vec::new(), 0);
    for number in 0..1000 {
        let format = wide(number);
        match servers.put(&format) {
            Ok(()) => stored.push(format),
            Err(error) => {
                assert_eq!(error.code(), isoform::Code::Budget, "{error}");
                refused += 1;
            }
        }
        // All that it has is still answered, and known formats are still accepted.
        if refused > 0 {
            for format in &stored {
                assert_eq!(servers.resolve(format.token()).unwrap(), format.description().as_bytes());
            }
            servers.put(&stored[0]).unwrap();
        }
        if refused == 3 {
            break;
        }
    }
    assert!(refused == 3 && stored.len() > 10, "{refused} refused, {} stored", stored.len());
    drop(_running);
    let (_running, url) = serve(&store, &[]);
    let servers = Servers::new([url]).unwrap();
    servers.put(&wide(1000)).unwrap();
    stored.iter().for_each(|format| assert!(servers.resolve(format.token()).is_ok()));
}

/// Addresses that were free a moment ago.
fn free() -> [String; 3] {
    let held = [(); 3].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
    held.map(|listener| listener.local_addr().unwrap().to_string())
}

/// Waits until something holds.
pub(super) fn until(what: &str, holds: impl Fn() -> bool) {
    let began = Instant::now();
    while !holds() {
        assert!(began.elapsed() < LONG, "{what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Three replicas that start in this order, each with a format that it alone is told of. All have all in the end; then two are
/// killed, and the third answers for them: for so many formats.
fn converge(order: [usize; 3], survivor: usize) -> usize {
    let files = Files::new();
    let (mut running, urls) = loop {
        let addresses = free();
        let urls = addresses.clone().map(|address| format!("http://{address}"));
        match start(&files, &addresses, &urls, order) {
            Some(running) => break (running, urls),
            None => continue, // another program has taken an address meanwhile
        }
    };
    let formats = [0, 1, 2].map(|replica| format(&format!("only_{replica}")));
    let clients = urls.clone().map(|url| Servers::new([url]).unwrap());
    let has = |replica: usize| formats.iter().all(|format| clients[replica].resolve(format.token()).is_ok());
    let version =
        |replica: usize| clients[replica].version("river", None).ok().map(|version| version["formats"].clone());
    (0..3).for_each(|replica| until("replicas have all formats", || has(replica)));
    let token = json!([formats[0].token().to_string()]);
    assert_eq!(clients[0].add_version("river", &json!({ "formats": token })).unwrap(), Ok(1));
    (1..3).for_each(|replica| until("replicas have the name", || version(replica) == Some(token.clone())));
    for (replica, service) in running.iter_mut().enumerate() {
        if replica != survivor {
            service.kill();
        }
    }
    assert!(has(survivor), "any one is enough");
    assert_eq!(version(survivor), Some(token));
    let everyone = Servers::new(urls.clone()).unwrap();
    formats.iter().for_each(|format| drop(everyone.resolve(format.token()).unwrap()));
    if survivor != 0 {
        let error = clients[survivor].retire("river", 1).unwrap_err();
        assert!(error.to_string().contains(&urls[0]), "names are changed elsewhere: {error}");
    }
    formats.len()
}

fn start(files: &Files, addresses: &[String; 3], urls: &[String; 3], order: [usize; 3]) -> Option<[Running; 3]> {
    let mut running = [None, None, None];
    for replica in order {
        let mut options = Vec::new();
        for (other, url) in urls.iter().enumerate() {
            if other != replica {
                options.extend(["--peer", url]);
            }
        }
        if replica != 0 {
            options.extend(["--names-from", &urls[0]]);
        }
        let store = files.path(&format!("{replica}.redb")).display().to_string();
        running[replica] = Some(serve_at(&addresses[replica], &store, &options).ok()?.0);
        Servers::new([urls[replica].as_str()]).unwrap().put(&format(&format!("only_{replica}"))).unwrap();
    }
    Some(running.map(|service| service.expect("each has started")))
}

#[test]
#[allow(clippy::print_stdout, reason = "the account is what the test is for")]
fn replicas_converge_in_any_order_of_starting_and_two_of_three_may_die() {
    let orders = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];
    let answered: Vec<usize> = std::thread::scope(|scope| {
        let worlds = orders.into_iter().enumerate();
        let worlds: Vec<_> = worlds.map(|(number, order)| scope.spawn(move || converge(order, number % 3))).collect();
        worlds.into_iter().map(|world| world.join().unwrap()).collect()
    });
    let (worlds, formats) = (answered.len(), answered.iter().sum::<usize>());
    println!(
        "{worlds} orders of starting, {formats} formats: each reached all three replicas, and the only survivor answered for it"
    );
}
