//! Each peer makes of each workload the record that must arrive. Those that are not installed here are passed over.

use isoform_bench::{Peers, Workload, compiled};

#[test]
fn every_peer_gives_back_the_record_of_every_workload() {
    // Unoptimised, each move of the largest record takes its 100 KB of stack.
    let all = std::thread::Builder::new().stack_size(64 << 20).spawn(all_workloads).unwrap();
    all.join().unwrap();
}

fn all_workloads() {
    let peers = Peers::new().unwrap();
    for workload in Workload::all() {
        // They are compared before they are handed out.
        let all = peers.of(&workload).unwrap();
        let names: Vec<_> = all.iter().map(|peer| peer.name()).collect();
        let crates: &[&str] = match cfg!(feature = "peers") {
            true => &["rkyv", "rkyv access", "prost", "Apache Avro", "serde_json"],
            false => &[],
        };
        assert!(crates.iter().all(|name| names.contains(name)), "{} {names:?}", workload.name);
        // What has no pointers, libraries in C can express as well; Expat's text has no need of them.
        let here = |name: &&&str| peers.skipped.iter().all(|(skipped, _)| !name.starts_with(skipped));
        let libraries = ["MPICH", "MPICH external32", "Open MPI", "Open MPI external32", "omniORB", "Expat XML"];
        let c = compiled::version().is_some() && cfg!(unix);
        let flat = !workload.name.starts_with('S');
        // Its expansion, which each line of `send` states.
        for xml in all.iter().filter(|peer| flat && peer.name() == "Expat XML") {
            assert!(xml.encoded() > workload.size().unwrap(), "{} in XML has {} bytes", workload.name, xml.encoded());
        }
        for library in libraries.iter().filter(here) {
            assert_eq!(names.contains(library), c && (flat || *library == "Expat XML"), "{library} {}", workload.name);
        }
    }
}
