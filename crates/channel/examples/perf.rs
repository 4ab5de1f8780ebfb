use isoform::Record;
use isoform_channel::{Event, Node, SinkOptions};
use std::sync::Arc;
use std::time::{Duration, Instant};
#[derive(Record, Clone, Copy)]
#[repr(C)]
struct E {
    a: [u64; 12],
    b: u32,
    c: u32,
}
#[derive(Record, Clone)]
#[repr(C)]
struct Big {
    a: [f64; 131072],
}
fn main() {
    let mode = std::env::args().nth(1).unwrap();
    let e = E { a: [1; 12], b: 1, c: 2 };
    if mode == "local" {
        let node = Node::new().unwrap();
        let ch = node.create::<E>("e").unwrap();
        let mut s = ch.source::<E>().unwrap();
        let t = Instant::now();
        for _ in 0..10_000_000 {
            std::hint::black_box(s.submit(std::hint::black_box(&e)).unwrap());
        }
        println!("no sink: {:.2} ns", t.elapsed().as_nanos() as f64 / 1e7);
        let n = Arc::new(std::sync::atomic::AtomicU64::new(0));
        let m = n.clone();
        let _h = ch
            .on::<E>(SinkOptions::default(), move |ev| {
                if let Event::Record { record, .. } = ev {
                    m.store(
                        m.load(std::sync::atomic::Ordering::Relaxed) + record.b as u64,
                        std::sync::atomic::Ordering::Relaxed,
                    );
                }
            })
            .unwrap();
        for batch in [1, 100] {
            let t = Instant::now();
            for _ in 0..1_000_000 / batch {
                for _ in 0..batch {
                    s.submit(&e).unwrap();
                }
                node.poll(Duration::ZERO).unwrap();
            }
            println!("local batch {batch}: {:.1} ns/event", t.elapsed().as_nanos() as f64 / 1e6);
        }
        return;
    }
    if mode == "sink" {
        let id = std::env::args().nth(2).unwrap();
        let node = Node::new().unwrap();
        let what = std::env::args().nth(3).unwrap();
        let ch = node.open(&id).unwrap();
        if what == "big" {
            let mut sink = ch.sink::<Big>().unwrap();
            let mut n = 0u64;
            let mut t = Instant::now();
            loop {
                match sink.recv().unwrap() {
                    Event::Record { record, .. } => {
                        std::hint::black_box(record.a[0]);
                        if n == 0 {
                            t = Instant::now()
                        }
                        n += 1;
                    }
                    Event::Left(_) => {
                        let s = t.elapsed().as_secs_f64();
                        println!("{n} big: {:.2} GB/s", n as f64 * 1048576.0 / s / 1e9);
                        return;
                    }
                    _ => {}
                }
            }
        }
        let mut sink = ch.sink::<E>().unwrap();
        if what == "echo" {
            let back = node.open(&std::env::args().nth(4).unwrap()).unwrap();
            let mut s = back.source::<E>().unwrap();
            s.wait_for_sinks(1, Duration::from_secs(5)).unwrap();
            loop {
                match sink.recv().unwrap() {
                    Event::Record { record, .. } => {
                        let r = *record;
                        s.submit(&r).unwrap();
                    }
                    Event::Left(_) => return,
                    _ => {}
                }
            }
        }
        let mut n = 0u64;
        let mut t = Instant::now();
        loop {
            match sink.recv().unwrap() {
                Event::Record { record, .. } => {
                    std::hint::black_box(record.b);
                    if n == 0 {
                        t = Instant::now()
                    }
                    n += 1;
                }
                Event::Left(_) => {
                    let s = t.elapsed().as_secs_f64();
                    println!("{n} events: {:.2} M/s", n as f64 / s / 1e6);
                    return;
                }
                _ => {}
            }
        }
    }
    let unix = std::env::args().nth(2).as_deref() == Some("unix");
    let node = if unix {
        Node::builder().listen(format!("unix:/tmp/w/p{}.sock", std::process::id())).build().unwrap()
    } else {
        Node::new().unwrap()
    };
    let child =
        |args: &[&str]| std::process::Command::new(std::env::current_exe().unwrap()).args(args).spawn().unwrap();
    match &mode[..] {
        "rate" => {
            let ch = node.create::<E>("e").unwrap();
            let mut s = ch.source::<E>().unwrap();
            let mut c = child(&["sink", &ch.id().to_string(), "rate"]);
            s.wait_for_sinks(1, Duration::from_secs(5)).unwrap();
            let t = Instant::now();
            for _ in 0..5_000_000 {
                s.submit(&e).unwrap();
            }
            println!("submitted at {:.2} M/s", 5.0 / t.elapsed().as_secs_f64());
            for l in s.close(Duration::from_secs(10)).unwrap() {
                println!("{}", l.ledger);
            }
            c.wait().unwrap();
        }
        "big" => {
            let ch = node.create::<Big>("e").unwrap();
            let mut s = ch.source::<Big>().unwrap();
            let mut c = child(&["sink", &ch.id().to_string(), "big"]);
            s.wait_for_sinks(1, Duration::from_secs(5)).unwrap();
            let big: Arc<Big> = Arc::from(unsafe { Box::<Big>::new_zeroed().assume_init() });
            for _ in 0..5000 {
                s.submit_owned(big.clone()).unwrap();
            }
            for l in s.close(Duration::from_secs(10)).unwrap() {
                println!("{}", l.ledger);
            }
            c.wait().unwrap();
        }
        _ => {
            let ch = node.create::<E>("e").unwrap();
            let back = node.create::<E>("back").unwrap();
            let mut s = ch.source::<E>().unwrap();
            let mut r = back.sink::<E>().unwrap();
            let mut c = child(&["sink", &ch.id().to_string(), "echo", &back.id().to_string()]);
            s.wait_for_sinks(1, Duration::from_secs(5)).unwrap();
            loop {
                if let Event::Joined(..) = r.recv().unwrap() {
                    break;
                }
            }
            let mut times = Vec::new();
            for _ in 0..100_000 {
                let t = Instant::now();
                s.submit(&e).unwrap();
                loop {
                    if let Event::Record { .. } = r.recv().unwrap() {
                        break;
                    }
                }
                times.push(t.elapsed().as_nanos() as u64);
            }
            times.sort();
            println!("rtt p50 {} p99 {}", times[50_000], times[99_000]);
            drop(s);
            c.wait().unwrap();
        }
    }
}
