//! Connecting to a host by its name: the addresses that the system knows of it are tried in turn, each a little after the
//! one before, and the first that answers is used. So a kind of address that leads nowhere costs little time.
//!
//! `lookup` finds the addresses, anew for every attempt, and `dial` connects to each.

use super::address::Address;
use super::dial::Dial;
use super::lookup::Lookup;
use super::{Awaited, Connection, Door, tcp};
use isoform::{Code, Error, Result};
use std::collections::VecDeque;
use std::fmt;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

/// An address has this long to answer before the next one is tried, too.
const HEAD_START: Duration = Duration::from_millis(250);

/// A connection to a host that is not there yet.
pub(super) struct Named {
    name: String,
    port: u16,
    deadline: Instant,
    state: State,
}

enum State {
    /// So many names are being looked up that this one waits for its turn.
    Waiting,
    LookingUp(Lookup),
    Dialing(Attempts),
}

/// Attempts at the addresses of a host.
struct Attempts {
    /// The addresses that were not tried yet.
    rest: VecDeque<SocketAddr>,
    under_way: Vec<Dial<SocketAddr>>,
    /// The time of the next one.
    next: Instant,
    errors: Vec<Error>,
}

impl Named {
    /// Begins to look the host up, and gives up at the deadline.
    pub(super) fn start(name: &str, port: u16, deadline: Instant) -> Result<Named> {
        let mut named = Named { name: name.to_owned(), port, deadline, state: State::Waiting };
        named.look_up()?;
        Ok(named)
    }

    fn look_up(&mut self) -> Result<()> {
        if let Some(lookup) = Lookup::start(&self.name, self.port)? {
            self.state = State::LookingUp(lookup);
        }
        Ok(())
    }

    /// Goes on as far as that needs no waiting.
    fn advance(&mut self) -> Result<()> {
        if matches!(self.state, State::Waiting) {
            self.look_up()?;
        }
        if let State::LookingUp(lookup) = &self.state
            && let Some(found) = lookup.found()
        {
            let found = found.map_err(|error| self.unreachable(error))?;
            self.state = State::Dialing(Attempts::new(found));
        }
        Ok(())
    }

    fn unreachable(&self, why: impl fmt::Display) -> Error {
        Error::new(Code::Unreachable).found(format_args!("{self}: {why}"))
    }
}

impl Attempts {
    fn new(rest: VecDeque<SocketAddr>) -> Attempts {
        Attempts { rest, under_way: Vec::new(), next: Instant::now(), errors: Vec::new() }
    }

    /// The first connection, if there is one. Begins the next attempt if its time has come, or if none is under way.
    fn next(&mut self, deadline: Instant) -> Option<Box<dyn Connection>> {
        loop {
            for mut dial in std::mem::take(&mut self.under_way) {
                match dial.next() {
                    Ok(Some(connection)) => return Some(connection),
                    Ok(None) => self.under_way.push(dial),
                    Err(error) => self.errors.push(error),
                }
            }
            let now = Instant::now();
            if !self.under_way.is_empty() && now < self.next {
                return None;
            }
            let address = self.rest.pop_front()?;
            self.next = now + HEAD_START;
            match tcp::dial(address, deadline) {
                Ok(dial) => self.under_way.push(dial),
                Err(error) => self.errors.push(error),
            }
        }
    }

    fn are_over(&self) -> bool {
        self.rest.is_empty() && self.under_way.is_empty()
    }
}

impl Door for Named {
    fn next(&mut self) -> Result<Option<Box<dyn Connection>>> {
        self.advance()?;
        if let State::Dialing(attempts) = &mut self.state {
            if let Some(connection) = attempts.next(self.deadline) {
                return Ok(Some(connection));
            }
            if attempts.are_over() {
                let errors = std::mem::take(&mut attempts.errors);
                return Err(all(errors).within(&self.to_string()));
            }
        } else if Instant::now() >= self.deadline {
            let expected = format_args!("an address of {}, which the system still looks up", self.name);
            return Err(Error::new(Code::Deadline).expected(expected));
        }
        Ok(None)
    }

    fn awaits(&self) -> Awaited<'_> {
        match &self.state {
            State::LookingUp(lookup) => Awaited::Read(lookup.done().into()),
            State::Dialing(attempts) => match &*attempts.under_way {
                [dial] => dial.awaits(),
                // A door waits for one handle at most.
                _ => Awaited::Soon,
            },
            State::Waiting => Awaited::Soon,
        }
    }
}

/// The error for a host none of whose addresses could be reached: all of their errors.
fn all(errors: Vec<Error>) -> Error {
    let code = match errors.iter().any(|error| error.code() == Code::Deadline) {
        true => Code::Deadline,
        false => Code::Unreachable,
    };
    match <[Error; 1]>::try_from(errors) {
        Ok([error]) => error,
        Err(errors) if errors.is_empty() => Error::new(code).found("the host has no address"),
        Err(errors) => {
            let texts: Vec<String> = errors.iter().map(Error::to_string).collect();
            Error::new(code).found(texts.join("; "))
        }
    }
}

impl fmt::Display for Named {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&Address::Host(self.name.clone(), self.port).bare())
    }
}

impl fmt::Debug for Named {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Named({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transport::poll::Interest;
    use crate::transport::poll::tests::await_it;
    use std::net::TcpListener;

    const AGES: Duration = Duration::from_secs(60);

    /// A connection to a host with these addresses.
    fn dial(addresses: impl IntoIterator<Item = SocketAddr>) -> Result<String> {
        let state = State::Dialing(Attempts::new(addresses.into_iter().collect()));
        connect(Named { name: "river".into(), port: 7, deadline: Instant::now() + AGES, state })
    }

    /// The other side of the connection.
    fn connect(mut named: Named) -> Result<String> {
        loop {
            if let Some(connection) = named.next()? {
                return Ok(connection.peer().to_owned());
            }
            match named.awaits() {
                Awaited::Read(handle) => await_it(handle, Interest::ReadOnce),
                _ => std::thread::sleep(Duration::from_millis(1)),
            }
        }
    }

    fn listening() -> (TcpListener, SocketAddr) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        (listener, address)
    }

    /// An address at which nothing listens.
    fn nowhere() -> SocketAddr {
        listening().1
    }

    #[test]
    fn the_first_address_that_answers_is_used() {
        let (_listener, there) = listening();
        assert_eq!(dial([there, nowhere()]).unwrap(), format!("tcp:{there}"));
        assert_eq!(dial([nowhere(), nowhere(), there]).unwrap(), format!("tcp:{there}"));
    }

    // Elsewhere, a full queue refuses.
    #[cfg(target_os = "linux")]
    #[test]
    fn an_address_that_does_not_answer_holds_up_no_other() {
        // A listener whose queue of one connection is full, and which accepts none.
        let silent = super::super::system::unconnected(rustix::net::AddressFamily::INET).unwrap();
        rustix::net::bind(&silent, &SocketAddr::from(([127, 0, 0, 1], 0))).unwrap();
        rustix::net::listen(&silent, 0).unwrap();
        let address = SocketAddr::try_from(rustix::net::getsockname(&silent).unwrap()).unwrap();
        let _filling = std::net::TcpStream::connect(address).unwrap();
        let (_listener, there) = listening();
        assert_eq!(dial([address, there]).unwrap(), format!("tcp:{there}"));
    }

    #[test]
    fn a_host_that_cannot_be_reached_is_told_with_all_its_addresses() {
        let (one, other) = (nowhere(), nowhere());
        let error = dial([one, other]).unwrap_err();
        assert_eq!((error.code(), error.path()), (Code::Unreachable, "river:7"));
        assert!(error.actual().contains(&format!("tcp:{one}: ")) && error.actual().contains(&format!("tcp:{other}: ")));
        assert_eq!(dial([]).unwrap_err().actual(), "the host has no address");
    }

    #[test]
    fn a_name_without_a_host_is_told() {
        let named = Named::start("no-such-host.invalid", 7, Instant::now() + AGES).unwrap();
        let error = connect(named).unwrap_err();
        assert_eq!(error.code(), Code::Unreachable);
        assert!(error.actual().starts_with("no-such-host.invalid:7: "), "{error}");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_zone_is_looked_up() {
        let lookup = Lookup::start("fe80::1%lo", 7).unwrap().unwrap();
        await_it(lookup.done().into(), Interest::ReadOnce);
        let found = lookup.found().unwrap().unwrap();
        assert!(matches!(found[0], SocketAddr::V6(address) if address.scope_id() != 0), "{found:?}");
    }
}
