//! Runs `examples/hydrology`: programs in Python, C and Rust that get every format from a document at a web server, which changes
//! while they run. Its checks are on accounts, and never on time.

use crate::shell::{command, debug, exists, quietly, script, skipped, target};
use crate::{Outcome, faces};
use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};

const EXAMPLE: &str = "examples/hydrology";
/// Commands of the guide that only show something, or write a file.
const SHOWN: [&str; 3] = ["isoform format", "isoform layout", "isoform xmit gen"];
const GUIDE: &str = "docs/book/guides/xmit.md";

/// Builds what the example needs, and runs it.
pub(crate) fn run() -> Outcome {
    println!("Building the command, the libraries for C and Python, and the programs: some minutes the first time.");
    quietly(&mut command(
        "cargo build --locked -p isoform-cli -p isoform-capi -p isoform-python --lib --bins --examples",
    ))?;
    let Some(python) = faces::package_in_place()? else {
        return Err("the example needs Python 3.9 or later, with venv".into());
    };
    play(&python)
}

/// Runs the example with what `make test` has built.
pub(crate) fn play(python: &Path) -> Outcome {
    if !exists("cc") {
        skipped("the hydrology example. It needs a C compiler");
        return Ok(());
    }
    let folder = target().join("hydrology");
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    fs::create_dir_all(folder.join("web"))?;
    quietly(script("faces/c/package/install.sh").arg(folder.join("c")).arg(target().join("debug")))?;
    let example = Path::new(EXAMPLE).join("flow2d.c");
    compile(&folder, &example, "flow2d")?;
    guide(&folder, python)?;
    Stage { python: python.to_owned(), folder, run: Vec::new() }.play()
}

/// Compiles a program with the C library that was built.
fn compile(folder: &Path, source: &Path, program: &str) -> Outcome {
    let prefix = folder.join("c");
    let mut cc = command("cc -Wall -Wextra -Werror -I");
    cc.arg(prefix.join("include")).arg(source).arg("-o").arg(folder.join(program)).arg("-L").arg(prefix.join("lib"));
    quietly(cc.arg("-lisoform").arg(format!("-Wl,-rpath,{}", prefix.join("lib").display())))
}

/// The document and the two programs of the guide: what it promises is printed.
fn guide(folder: &Path, python: &Path) -> Outcome {
    let text = fs::read_to_string(GUIDE)?;
    let web = folder.join("web");
    fs::write(web.join("river.xsd"), block(&text, "xml")?)?;
    fs::write(folder.join("mine.json"), block(&text, "json")?)?;
    let (_server, address) = serve(python, &web)?;
    let (c, py) = (folder.join("gauge.c"), folder.join("watch.py"));
    fs::write(&c, block(&text, "c")?.replace("127.0.0.1:8000", &address))?;
    fs::write(&py, block(&text, "python")?.replace("127.0.0.1:8000", &address))?;
    compile(folder, &c, "gauge")?;
    for line in text.lines().filter(|line| SHOWN.iter().any(|command| line.starts_with(command))) {
        let line = line.split(" # ").next().unwrap_or(line).replace("127.0.0.1:8000", &address);
        let mut shown = command(&line);
        quietly(shown.current_dir(folder).env("PATH", path_with_command()?).stdout(Stdio::null()))?;
    }
    let mut gauge = Actor::start("gauge", Command::new(folder.join("gauge")).env("PATH", path_with_command()?))?;
    let id = gauge.wait_for("iso://")?;
    let mut watch = Actor::start("watch.py", Command::new(python).arg(py).arg(id).env("PATH", path_with_command()?))?;
    watch.end()?;
    gauge.end()?;
    match &watch.said[..] {
        [_, _, last] if text.contains(&format!("`{last}`")) => Ok(()),
        said => Err(format!("{GUIDE} promises other lines than {said:?}").into()),
    }
}

/// The first block of a page in a language.
fn block<'t>(text: &'t str, language: &str) -> Outcome<&'t str> {
    let start =
        text.split_once(&format!("\n```{language}\n")).ok_or_else(|| format!("{GUIDE}: no block in {language}"))?.1;
    Ok(start.split_once("\n```").ok_or_else(|| format!("{GUIDE}: a block does not end"))?.0)
}

/// Starts a web server that offers a folder, and returns its address.
fn serve(python: &Path, folder: &Path) -> Outcome<(Actor, String)> {
    let mut server = Command::new(python);
    server.args(["-u", "-m", "http.server", "0", "--bind", "127.0.0.1", "--directory"]).arg(folder);
    let mut server = Actor::start("server", server.stderr(Stdio::null()))?;
    let told = server.wait_for("Serving HTTP")?;
    let port = told.split_whitespace().nth(5).ok_or("the server names no port")?;
    Ok((server, format!("127.0.0.1:{port}")))
}

/// A program that runs, and the lines that it prints.
struct Actor {
    name: &'static str,
    child: Child,
    lines: Receiver<String>,
    said: Vec<String>,
}

/// The programs do not outlive the one that started them.
impl Drop for Actor {
    fn drop(&mut self) {
        _ = self.child.kill();
        _ = self.child.wait();
    }
}

impl Actor {
    fn start(name: &'static str, command: &mut Command) -> Outcome<Actor> {
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().map_err(|error| format!("{name}: {error}"))?;
        let output = BufReader::new(child.stdout.take().ok_or("no output")?);
        let (to, lines) = channel();
        std::thread::spawn(move || {
            output.lines().map_while(Result::ok).take_while(|line| to.send(line.clone()).is_ok()).for_each(drop);
        });
        Ok(Actor { name, child, lines, said: Vec::new() })
    }

    /// The next line, which is shown.
    fn line(&mut self) -> Option<String> {
        let line = self.lines.recv().ok()?;
        println!("{:>10} | {line}", self.name);
        self.said.push(line.clone());
        Some(line)
    }

    /// Waits for a line that begins so.
    fn wait_for(&mut self, start: &str) -> Outcome<String> {
        while let Some(line) = self.line() {
            if line.starts_with(start) {
                return Ok(line);
            }
        }
        Err(format!("{} ended, and has not said {start:?}", self.name).into())
    }

    /// The rest of what it says. It must succeed.
    fn end(&mut self) -> Outcome {
        while self.line().is_some() {}
        let status = self.child.wait()?;
        if status.success() { Ok(()) } else { Err(format!("{} failed: {status}", self.name).into()) }
    }
}

struct Stage {
    python: PathBuf,
    folder: PathBuf,
    /// Programs that have ended, in this order.
    run: Vec<Actor>,
}

impl Stage {
    fn python(&self, script: &str) -> Outcome<Command> {
        let mut python = Command::new(&self.python);
        python.arg(format!("{EXAMPLE}/{script}"));
        python.env("PATH", path_with_command()?);
        Ok(python)
    }

    fn play(mut self) -> Outcome {
        let (web, lines) = (self.folder.join("web"), fs::read_to_string(format!("{EXAMPLE}/rain.txt"))?);
        let lines: Vec<&str> = lines.lines().collect();
        let half = lines.len() / 2;
        let served = web.join("hydrology.xsd");
        fs::copy(format!("{EXAMPLE}/hydrology.xsd"), &served)?;
        let (_server, address) = serve(&self.python, &web)?;
        let document = format!("http://{address}/hydrology.xsd");

        let mut reader = Actor::start("reader", self.python("reader.py")?.arg(&document))?;
        let rain = reader.wait_for("iso://")?;
        let mut flow2d = Command::new(self.folder.join("flow2d"));
        flow2d.args([&document, &rain]).env("PATH", path_with_command()?);
        let mut flow2d = Actor::start("flow2d", &mut flow2d)?;
        let (flow, control) = (flow2d.wait_for("iso://")?, flow2d.wait_for("iso://")?);
        let mut coupler = Command::new(debug("examples/coupler"));
        let mut coupler = Actor::start("coupler", coupler.args([&document, &flow, &control]))?;
        let view = coupler.wait_for("iso://")?;
        let mut viewer_py = Actor::start("viewer.py", self.python("viewer.py")?.args([&document, &view, &control]))?;
        let mut viewer = Command::new(debug("examples/viewer"));
        let mut viewer = Actor::start("viewer", viewer.args([&document, &view, &control, &half.to_string()]))?;
        let mut input = reader.child.stdin.take().ok_or("no input")?;

        println!("\nThe first half of the rain:\n");
        feed(&mut input, &lines[..half])?;
        viewer_py.wait_for(&format!("step {}", half - 1))?;
        viewer.end()?;

        println!("\nThe document changes, and a newer program takes the place of a viewer:\n");
        fs::copy(format!("{EXAMPLE}/hydrology-2.xsd"), &served)?;
        let mut viewer_2 = Command::new(debug("examples/viewer_2"));
        let mut viewer_2 = Actor::start("viewer_2", viewer_2.args([&document, &view, &control]))?;
        viewer_2.wait_for("ready")?;
        coupler.wait_for("the document now says")?;
        feed(&mut input, &lines[half..])?;
        drop(input);
        for mut actor in [viewer, viewer_py, viewer_2, reader, flow2d, coupler] {
            actor.end()?;
            self.run.push(actor);
        }
        self.check(lines.len(), half)
    }

    /// The accounts add up: whatever was submitted on a channel was taken, as sources and sinks say independently of each other.
    fn check(&self, steps: usize, half: usize) -> Outcome {
        println!("\nThe accounts of all channels, each event for each of its sinks:\n");
        println!("{:>10} {:>10} {:>13} {:>6} {:>6}", "", "submitted", "acknowledged", "lost", "taken");
        let mut accounts =
            BTreeMap::from(["rain", "flow", "view", "control"].map(|channel| (channel, Account::default())));
        for actor in &self.run {
            for line in &actor.said {
                if let Some((channel, rest)) = line.split_once(": ")
                    && let Some(account) = accounts.get_mut(channel)
                {
                    account.add(rest);
                }
            }
        }
        for (channel, account) in &accounts {
            let Account { submitted, acknowledged, lost, taken } = account;
            println!("{channel:>10} {submitted:>10} {acknowledged:>13} {lost:>6} {taken:>6}");
            if account.submitted != account.acknowledged || account.acknowledged != account.taken || account.lost > 0 {
                return Err(format!("the accounts of {channel} do not add up").into());
            }
        }
        let expected = [("rain", steps), ("flow", steps), ("view", 2 * steps)];
        for (channel, count) in expected {
            if accounts[channel].taken != count as u64 {
                return Err(format!("{count} events were expected on {channel}").into());
            }
        }
        if accounts["control"].taken == 0 {
            return Err("nobody has steered".into());
        }
        let newer = self.run.iter().find(|actor| actor.name == "viewer_2").ok_or("no newer viewer")?;
        let shown = newer.said.iter().filter(|line| line.ends_with("at the deepest place")).count();
        let peaks = self.run.iter().filter(|actor| actor.name == "viewer.py").flat_map(|actor| &actor.said);
        let peaks = peaks.filter(|line| line.contains(" peak ")).count();
        if (shown, peaks) != (steps - half, steps - half) {
            return Err(format!("{shown} and {peaks} summaries have the new field, not {}", steps - half).into());
        }
        println!("\nNothing was lost: hydrology passed.");
        Ok(())
    }
}

/// What sources (submitted, acknowledged, lost) and sinks (taken) say of a channel.
#[derive(Default)]
struct Account {
    submitted: u64,
    acknowledged: u64,
    lost: u64,
    taken: u64,
}

impl Account {
    fn add(&mut self, text: &str) {
        for part in text.split(", ") {
            let Some((word, count)) = part.split_once(' ') else { continue };
            let Ok(count) = count.parse::<u64>() else { continue };
            match word {
                "submitted" => self.submitted += count,
                "acknowledged" => self.acknowledged += count,
                "lost" => self.lost += count,
                "took" => self.taken += count,
                _ => {}
            }
        }
    }
}

fn feed(input: &mut ChildStdin, lines: &[&str]) -> Outcome {
    lines.iter().try_for_each(|line| writeln!(input, "{line}"))?;
    Ok(input.flush()?)
}

/// Where programs are searched, first of all the command that was built.
fn path_with_command() -> Outcome<std::ffi::OsString> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::iter::once(target().join("debug")).chain(std::env::split_paths(&path));
    Ok(std::env::join_paths(folders)?)
}
