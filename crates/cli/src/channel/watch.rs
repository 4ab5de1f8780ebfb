//! `isoform watch`: a web page that shows channels, until the command is interrupted.

use super::find::Wanted;
use super::stop::Stop;
use crate::args;
use crate::failure::{Failure, notice};
use isoform::{Code, Error};
use std::time::{Duration, Instant};

pub(super) fn run(arguments: &args::Watch) -> Result<(), Failure> {
    let stop = Stop::new()?;
    let node = super::node(&arguments.network)?;
    let mut channels = Vec::new();
    for id in &arguments.channels {
        let Some(channel) = Wanted::new(id, false).find(&node, &stop)? else { return Ok(()) };
        channels.push(channel);
    }
    let server = isoform_watch::start(arguments.listen, channels).map_err(cannot)?;
    notice(&format!("open {} in a browser; Ctrl-C ends it", server.url()));
    while stop.sleep_until(Instant::now() + Duration::from_secs(3600)) {}
    Ok(())
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
