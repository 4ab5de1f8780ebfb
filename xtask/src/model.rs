//! Checks the models of `spec/models` exhaustively, by Spin: that each property holds, and that it fails without the rule
//! that secures it.

use crate::Outcome;
use crate::shell::{exists, skipped, target};
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

/// Each property, and what Spin's verifier prints of it when it fails.
const PROPERTIES: [(&str, &str); 14] = [
    ("Peer", "assertion violated  !(((e/2)>="),
    ("Untouched", "assertion violated ((link_end[0]==low)"),
    ("Replaced", "assertion violated (state[(old^1)]!="),
    ("Epoch", "assertion violated (((link_end[(1-owner[e])]"),
    ("Together", "acceptance cycle"),
    ("Sum", "==((((taken+superseded)+cut)+overrun)+"),
    ("Acknowledged", "(taken<=n)"),
    ("Exact", "assertion violated (n==c)"),
    ("Window", "assertion violated ((received-told)<"),
    ("Settled", "(next==4)"),
    ("Told", "(replaced==superseded)"),
    ("Reserve", "assertion violated own_has_its_reserve"),
    ("Rest", "assertion violated others_have_theirs"),
    ("Fair", "&&others_have_more))"),
];

const TWO_AND_LIAR: &str = "PEER_CONNECTIONS=2 LIAR_CONNECTIONS=1";
const ONE_AND_LIAR: &str = "PEER_CONNECTIONS=1 LIAR_CONNECTIONS=2";
const NO_LIAR: &str = "PEER_CONNECTIONS=3 LIAR_CONNECTIONS=0";
const LIVE: &str = "LIVE PEER_CONNECTIONS=2 LIAR_CONNECTIONS=0 BREAKS=1";

/// A model, its definitions, what is changed, and the property that must then fail.
type Case = (&'static str, &'static str, &'static str, Option<&'static str>);

const CASES: [Case; 25] = [
    ("link", TWO_AND_LIAR, "", None),
    ("link", ONE_AND_LIAR, "", None),
    ("link", NO_LIAR, "", None),
    ("link", LIVE, "", None),
    ("link", ONE_AND_LIAR, "RELAYS BOUND", None),
    ("link", ONE_AND_LIAR, "RELAYS", Some("Peer")),
    ("link", ONE_AND_LIAR, "WITHOUT_PROOF", Some("Peer")),
    ("link", ONE_AND_LIAR, "WITHOUT_NONCES", Some("Peer")),
    ("link", ONE_AND_LIAR, "CLAIM_REPLACES", Some("Untouched")),
    ("link", ONE_AND_LIAR, "CLAIM_ENDS", Some("Untouched")),
    ("link", NO_LIAR, "WITHOUT_DUPLICATE", Some("Replaced")),
    ("link", NO_LIAR, "WITHOUT_EPOCHS", Some("Replaced")),
    ("link", NO_LIAR, "WITHOUT_COUNT", Some("Epoch")),
    ("link", LIVE, "WITHOUT_ENDED WITHOUT_COUNT", Some("Together")),
    ("account", "", "", None),
    ("account", "", "CUT_IS_FORGOTTEN", Some("Sum")),
    ("account", "", "UNACKNOWLEDGED_COUNTS", Some("Acknowledged")),
    ("account", "", "RESTARTED", Some("Exact")),
    ("account", "", "WITHOUT_WINDOW", Some("Window")),
    ("account", "", "TOLD_IS_TAKEN", Some("Settled")),
    ("account", "", "SUPERSEDED_STAYS", Some("Told")),
    ("places", "", "", None),
    ("places", "", "WITHOUT_RESERVE", Some("Reserve")),
    ("places", "", "TAKES_ALL", Some("Rest")),
    ("places", "", "WITHOUT_GIVING", Some("Fair")),
];

/// Checks every case, and prints what each has shown.
pub(crate) fn check() -> Outcome {
    for (program, package) in [("spin", "spin"), ("cc", "gcc")] {
        if !exists(program) {
            skipped(&format!("the models of the protocol. They need {program} (Debian: apt-get install {package})"));
            return Ok(());
        }
    }
    for case @ (model, definitions, change, expected) in CASES {
        let found = verify(case)?;
        let named = [model, definitions, change].join(" ");
        match (found, expected) {
            (None, None) => println!("{named}: every property holds"),
            (Some(failed), Some(expected)) if failed == expected => println!("{named}: {failed} fails, as it must"),
            (found, _) => return Err(format!("{named}: expected {expected:?} to fail, found {found:?}").into()),
        }
    }
    Ok(())
}

/// The property that fails, if one does.
fn verify((model, definitions, change, _): Case) -> Outcome<Option<&'static str>> {
    let folder = target().join("models");
    fs::create_dir_all(&folder)?;
    let source = Path::new("spec/models").join(format!("{model}.pml")).canonicalize()?;
    let defined = definitions.split_whitespace().chain(change.split_whitespace()).map(|name| format!("-D{name}"));
    said(Command::new("spin").args(defined).arg("-a").arg(source).current_dir(&folder))?;
    let is_live = definitions.contains("LIVE");
    let how = if is_live { "-DNFAIR=3" } else { "-DSAFETY" };
    said(Command::new("cc").args(["-O1", "-w", how, "-DMEMLIM=2000", "-o", "pan", "pan.c"]).current_dir(&folder))?;
    let mut verifier = Command::new(folder.join("pan"));
    verifier.args(["-m100000", "-w22"]).args(if is_live { &["-a", "-f"][..] } else { &[] });
    let printed = said(verifier.current_dir(&folder))?;
    let failed = PROPERTIES.iter().find(|(_, text)| printed.contains(text)).map(|(name, _)| *name);
    // A search that is cut short shows nothing.
    let is_complete = printed.contains("errors: 0") && !printed.contains("Search not completed");
    match (failed, is_complete) {
        (None, false) => Err(format!("{model} {definitions} {change}: no result:\n{printed}").into()),
        (failed, _) => Ok(failed),
    }
}

/// What a program prints, if it succeeds.
fn said(command: &mut Command) -> Outcome<String> {
    let done = command.stdin(Stdio::null()).output()?;
    let printed = String::from_utf8_lossy(&done.stdout).into_owned();
    match done.status.success() {
        true => Ok(printed),
        false => Err(format!("{command:?}: {printed}{}", String::from_utf8_lossy(&done.stderr)).into()),
    }
}
