//! `isoform watch`: a web page that shows channels or recordings, until the command is interrupted.

use super::find::Wanted;
use super::stop::Stop;
use crate::args;
use crate::failure::{Failure, notice};
use isoform::{Code, Error};
use isoform_channel::{Channel, ChannelId};
use isoform_watch::{Place, Server};
use std::path::Path;
use std::time::{Duration, Instant};

pub(super) fn run(arguments: &args::Watch) -> Result<(), Failure> {
    let stop = Stop::new()?;
    let (files, channels): (Vec<_>, Vec<_>) = arguments.places.iter().partition(|place| is_file(place));
    if !files.is_empty() && !channels.is_empty() {
        let failure = Failure::usage(format!("{} is a file, and {} is a channel", files[0], channels[0]));
        return Err(failure.hint("a page shows what arrives, or recordings: start one command for each"));
    }
    let node = super::node(&arguments.network)?;
    let mut places: Vec<Place> = Vec::new();
    for file in files {
        places.extend(recording(file)?);
    }
    for id in channels {
        let Some(channel) = Wanted::new(id, false).find(&node, &stop)? else { return Ok(()) };
        places.push(placed(channel, id));
    }
    let server = isoform_watch::start(arguments.listen, places).map_err(cannot)?;
    invite(&server);
    while stop.sleep_until(Instant::now() + Duration::from_secs(3600)) {}
    Ok(())
}

/// Serves the page of a replay.
#[cfg(feature = "files")]
pub(super) fn serve_replay(
    address: std::net::SocketAddr,
    channels: Vec<Place>,
    player: isoform_watch::Player,
) -> Result<Server, Failure> {
    let server = isoform_watch::start_replay(address, channels, player).map_err(cannot)?;
    invite(&server);
    Ok(server)
}

/// A channel as the page shows it: with the id by which it was opened.
pub(super) fn placed(channel: Channel, id: &str) -> Place {
    match id.parse::<ChannelId>() {
        Ok(id) => Place::from(channel).opened_by(&id),
        Err(_) => channel.into(),
    }
}

fn invite(server: &Server) {
    notice(&format!("open {} in a browser; Ctrl-C ends it", server.url()));
    #[cfg(feature = "files")]
    if let Some(url) = server.viewers_url() {
        notice(&format!("Foxglove, Lichtblick and other viewers connect to {url}"));
    }
}

/// Whether this names a file. The ids of channels have a scheme.
fn is_file(place: &str) -> bool {
    Path::new(place).is_file() || (!place.contains("://") && place.ends_with(".mcap"))
}

#[cfg(feature = "files")]
fn recording(file: &str) -> Result<Vec<Place>, Failure> {
    let path = Path::new(file);
    crate::open::expect_recording(path)?;
    let places = Place::recording(path).map_err(|error| Failure::from(error).about(file))?;
    let name = file.to_string();
    std::thread::spawn(move || tell_damage(&name));
    Ok(places)
}

/// Reads a recording, and says what is damaged. The page shows the rest meanwhile.
#[cfg(feature = "files")]
fn tell_damage(file: &str) {
    let read = || {
        let mut recording = isoform_files::Recording::open(Path::new(file))?;
        while recording.next_entry()?.is_some() {}
        Ok::<(), Error>(())
    };
    if let Err(error) = read() {
        notice(&format!("{file}: {error}; the page shows the rest"));
    }
}

#[cfg(not(feature = "files"))]
fn recording(file: &str) -> Result<Vec<Place>, Failure> {
    Err(Failure::usage(format!("{file}: this command was built without the feature `files`, which reads recordings")))
}

fn cannot(error: Error) -> Failure {
    let code = error.code();
    let failure = Failure::usage(error.to_string());
    match code {
        Code::Insecure => failure.hint("from another machine, make a tunnel: ssh -L 8000:127.0.0.1:8000 HOST"),
        Code::Taken => failure.hint("--listen 127.0.0.1:0 lets the system choose a port"),
        _ => failure,
    }
}
