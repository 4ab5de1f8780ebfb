//! What holds for every subcommand: help, usage errors, sources, pipes, colours.

use super::*;
use isoform::core::declare::Shape;
use isoform::core::{Value, value};
use std::io::{BufRead, BufReader};

#[test]
fn help_names_every_command_and_teaches() {
    let help = isoform(&["help"]).good();
    for command in [
        "demo",
        "dump",
        "echo",
        "pub",
        "info",
        "format",
        "formats",
        "serve",
        "explain",
        "layout",
        "sources",
        "completions",
    ] {
        if ["formats", "serve"].contains(&command) && !cfg!(feature = "service") {
            continue;
        }
        assert!(help.contains(&format!("\n  {command} ")), "{command} in {help}");
        let long = isoform(&["help", command]).good();
        let teaches = long.contains("Example") || command == "sources";
        assert!(teaches, "{long}");
        assert!(isoform(&[command, "-h"]).good().lines().all(|line| line.chars().count() <= 100));
    }
    assert!(isoform(&["help", "sources"]).good().contains("PATH@LAYOUT"));
    assert!(isoform(&["sources"]).good().contains("PATH@LAYOUT"));
    assert!(isoform(&["--version"]).good().starts_with("isoform 0."));
}

/// The examples that the help gives, run one after another as a user would.
#[test]
#[cfg(unix)]
fn the_examples_of_the_help_work() {
    let path = std::env::var("PATH").unwrap_or_default();
    let directory = PathBuf::from(env!("CARGO_BIN_EXE_isoform")).parent().unwrap().display().to_string();
    for subcommand in ["dump", "echo", "pub", "info", "format", "explain", "layout", "completions"] {
        let help = isoform(&["help", subcommand]).good();
        let examples = help.split_once("\nExample").expect("there are examples").1.lines().skip(1);
        let reads_programs = cfg!(all(target_os = "linux", feature = "xmit"));
        let examples = examples.filter(|line| reads_programs || !line.contains("elf:"));
        // The simulation of an example with a reader ends with its reader; a cat is as good as a less.
        let script: String = examples.map(|line| format!("{}\n", line.replace("less", "cat > all"))).collect();
        let files = Files::new();
        #[cfg(all(target_os = "linux", feature = "xmit"))]
        super::programs::written(&files);
        let mut shell = Command::new("sh");
        shell.args(["-ec", &script]).current_dir(files.0.path()).env("HOME", files.0.path());
        let run = Run::of(shell.env("PATH", format!("{directory}:{path}")).output().expect("there is a shell"));
        let is_said = |line: &str| line.starts_with("-- ") && ["echo", "pub", "info"].contains(&subcommand);
        assert!(run.errors.lines().all(is_said), "{script}\n{}", run.errors);
        assert_eq!(run.status, 0, "{script}\n{}", run.output);
        assert!(!run.output.is_empty() || subcommand == "completions");
    }
}

#[test]
fn a_wrong_command_line_has_status_2() {
    assert_eq!(isoform(&[]).status, 2);
    for arguments in
        [&["frobnicate"][..], &["format"], &["format", "a", "b"], &["layout", "--onn"], &["dump", "-n", "x", "-"]]
    {
        let errors = isoform(arguments).bad(2);
        assert!(errors.contains("--help"), "{errors}");
    }
    assert!(isoform(&["layout", "--onn"]).bad(2).contains("'--on'"));
}

#[test]
fn a_source_that_cannot_be_opened_has_status_2() {
    let files = Files::new();
    let text = files.write("a.shape", SHAPES);
    let odd = files.write("odd", b"\xff\xfe\0");
    for (source, says) in [
        ("nowhere.iso", if cfg!(unix) { "cannot open nowhere.iso: no such file" } else { "cannot open nowhere.iso: " }),
        ("127.0.0.1:7000/river", "hint: a channel is iso://127.0.0.1:7000/river"),
        (files.0.path().to_str().unwrap(), "directory"),
        ("elf:/bin/ls#stat", "elf:/bin/ls#stat"),
        ("xsd:nowhere.xsd#T", "nowhere.xsd"),
        ("token:0001", "token:HEX"),
        (&format!("{text}@vax"), "no layout is named \"vax\""),
        (&odd, "neither a stream of records nor the text of shapes"),
    ] {
        let errors = isoform(&["format", source]).bad(2);
        assert!(errors.contains(says), "{source}: {errors}");
    }
    assert!(isoform(&["format", &format!("{text}@vax")]).bad(2).contains("hint: one of x86_64, "));
}

#[test]
fn nothing_in_an_error_is_a_command_to_the_terminal() {
    for (arguments, input) in [
        (&["format", "no\u{1b}[31m"][..], ""),
        (&["format", "-"], "record P\n  \u{1b}[31mx int\n"),
        (&["layout", "--on", "\u{1b}[31m"], ""),
    ] {
        let errors = isoform_reading(arguments, input.as_bytes()).bad(if input.is_empty() { 2 } else { 1 });
        assert!(!errors.contains('\u{1b}') && errors.contains("u{1b}"), "{errors}");
    }
    let long = "x".repeat(100_000);
    assert!(isoform(&["format", &long]).bad(2).len() < 2000);
    let long = vec![b' '; (1 << 20) + 1];
    assert!(isoform_reading(&["format", "-"], &long).bad(2).contains("a text of at most 1048576 bytes (limit: text)"));
    assert!(isoform_reading(&["format", "-"], &[0; 100]).bad(2).contains("neither a stream of records nor"));
}

#[test]
fn nothing_in_what_is_shown_is_a_command_to_the_terminal() {
    let shape = "record P\u{202e}x\n  a\u{200b}  string  unit=\"m\u{2066}\"\n  e  enumeration{s\u{feff}=0}\n";
    let format = Shape::parse(shape).unwrap().on(&Layout::X86_64).unwrap();
    let text = "\u{1b}]0;x\u{7}\u{9b}2J\u{202e}\u{200b}\u{e0041}";
    let record = Value::Record(vec![("a\u{200b}".into(), Value::String(text.into()))]);
    let mut writer = Writer::new(Vec::new());
    writer.write_body(&format, &value::body(&format, &record).unwrap()).unwrap();
    let stream = writer.into_inner();
    for arguments in [&["dump", "-"][..], &["dump", "-", "--table"], &["dump", "-", "--json"], &["format", "-"]] {
        let output = isoform_reading(arguments, &stream).good();
        let hidden = |c: char| c != '\n' && isoform::text::is_hidden(c);
        assert!(!output.contains(hidden) && output.contains("202e"), "{arguments:?}: {output:?}");
    }
    let json: serde_json::Value =
        serde_json::from_str(&isoform_reading(&["dump", "-", "--json"], &stream).good()).unwrap();
    assert_eq!(json["a\u{200b}"], text);
    let json: serde_json::Value =
        serde_json::from_str(&isoform_reading(&["format", "-", "--json"], &stream).good()).unwrap();
    assert_eq!(json["name"], "P\u{202e}x");
}

#[test]
fn what_an_error_quotes_is_no_command_to_the_terminal() {
    let said = "\u{9b}2J\u{202e}\u{200b}\u{7}";
    for arguments in [&["dump", &format!("--{said}")][..], &[said], &["dump", "-n", said, "-"], &["dump", said]] {
        let errors = isoform(arguments).bad(2);
        let hidden = |c: char| c != '\n' && isoform::text::is_hidden(c);
        assert!(!errors.contains(hidden) && errors.contains("202e"), "{arguments:?}: {errors:?}");
    }
}

#[test]
#[cfg(target_os = "linux")]
fn an_error_that_nobody_can_be_told_has_its_status() {
    let full = || std::fs::File::options().write(true).open("/dev/full").unwrap();
    for arguments in [&["dump", "no such file"][..], &["frobnicate"]] {
        assert_eq!(command(arguments).stderr(full()).status().unwrap().code(), Some(2), "{arguments:?}");
    }
}

#[test]
fn a_closed_pipe_ends_quietly() {
    for arguments in [&["completions", "bash"][..], &["layout", "--json"], &["help", "sources"]] {
        let mut command = command(arguments);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        let run = Run::of(child.wait_with_output().unwrap());
        assert_eq!((run.status, &*run.errors), (0, ""), "{arguments:?}");
    }
}

#[test]
fn output_does_not_wait_for_more_input() {
    let mut child = command(&["format", "-"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    input.write_all(&stream()).unwrap();
    let mut line = String::new();
    output.read_line(&mut line).unwrap();
    assert!(line.starts_with("Gauge"), "{line}");
    drop(input);
    assert!(child.wait().unwrap().success());
}

#[test]
fn colours_are_for_terminals() {
    assert!(!isoform(&["layout"]).good().contains('\x1b'));
}

#[test]
fn completions_for_every_shell() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        assert!(isoform(&["completions", shell]).good().contains("explain"), "{shell}");
    }
    assert!(isoform(&["completions", "tcsh"]).bad(2).contains("bash"));
}
