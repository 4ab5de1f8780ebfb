//! `isoform pub`: records of a stream, or of lines of JSON, are published on a channel. Reading them is in [`super::input`].

use super::account::{self, Account};
use super::input::{Input, Item};
use super::stop::{LOOK, Stop};
use super::{build, node_builder, open_at};
use crate::args;
use crate::failure::{Failure, notice};
use crate::format;
use crate::open::expect_records;
use crate::output::{Output, plural};
use crate::raw;
use crate::show::Unshown;
use crate::source::is_channel;
use isoform::core::plan::Rules;
use isoform::{Code, Error, Messages};
use isoform_channel::{Channel, ChannelId, Source, new_key};
use isoform_dynamic::wait::{in_turns, unless_late};
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::sync::mpsc::RecvTimeoutError;
use std::time::{Duration, Instant};

/// How long sinks of a channel that is there may take to subscribe.
const SUBSCRIBING: Duration = Duration::from_secs(2);

pub(super) fn run(arguments: &args::Publish, output: &mut Output) -> Result<(), Failure> {
    let stop = Stop::new()?;
    let shape = arguments.shape.as_deref().map(|source| format::only_with_rules(source, output)).transpose()?;
    let (shape, rules) = match shape {
        Some((shape, rules)) => (Some(shape), rules?),
        None => (None, Rules::new()),
    };
    let raw = arguments.raw.of.as_deref().map(|source| raw::format(source, output)).transpose()?;
    expect_records(&arguments.input)?;
    let mut node = node_builder(&arguments.network);
    for address in &arguments.listen {
        node = node.listen(address);
    }
    for address in &arguments.advertise {
        node = node.advertise(address);
    }
    let key = arguments.with_key.then(new_key).transpose()?;
    if let Some(key) = &key {
        node = node.key(key.clone());
    }
    let node = build(node)?;
    let is_made = !is_channel(&arguments.channel);
    let channel = match is_made {
        true => node
            .create_with(&arguments.channel, shape.as_ref())
            .map_err(|error| cannot_make(&arguments.channel, error))?,
        false => open_at(&node, &arguments.channel)?,
    };
    if is_made {
        let with_key = |id: ChannelId| match &key {
            Some(key) => id.with_key(*key.secret()),
            None => id,
        };
        channel.ids().for_each(|id| notice(&with_key(id).to_string()));
    }
    let source = channel.source_builder().keep(arguments.keep);
    let source = if arguments.lossless { source.lossless() } else { source };
    let source = source.build::<Messages>()?;
    let format = shape.or_else(|| channel.format());
    let mut publisher = Publisher::new(source, arguments, stop);
    // It begins to read before there are sinks, so that nobody waits in vain for what cannot be read.
    let mut input = match raw {
        Some(raw) => Input::read_raw(&arguments.input, raw),
        None => Input::read(&arguments.input, format, rules.missing(arguments.missing.into())),
    };
    if publisher.wait(&channel, arguments.wait.or(is_made.then_some(1)), &mut input)? {
        publisher.publish(input)?;
    }
    publisher.end(output)
}

fn cannot_make(name: &str, error: Error) -> Failure {
    match error.code() {
        Code::Address => Failure::usage(format!("cannot make a channel {name:?}: expected {}", error.expectation())),
        _ => error.into(),
    }
}

struct Publisher<'a> {
    source: Source<Messages>,
    stop: Stop,
    arguments: &'a args::Publish,
    submitted: u64,
    /// Submitted while there was no sink.
    unheard: u64,
    /// Of these, before the first that was heard.
    unheard_first: u64,
    unpublished: Unshown,
}

impl<'a> Publisher<'a> {
    fn new(source: Source<Messages>, arguments: &'a args::Publish, stop: Stop) -> Publisher<'a> {
        let unpublished = Unshown::new(&arguments.input, "record", "cannot be published");
        Publisher { source, stop, arguments, submitted: 0, unheard: 0, unheard_first: 0, unpublished }
    }

    /// Waits for so many sinks, or for those that are there. A node that declines what this publishes counts as a sink that has come: it
    /// would not subscribe later. `false` if it was asked to stop meanwhile.
    ///
    /// # Errors
    /// If all sinks have declined.
    fn wait(&self, channel: &Channel, count: Option<usize>, input: &mut Input) -> Result<bool, Failure> {
        let Some(count) = count else {
            let sinks = channel.info(SUBSCRIBING)?.sinks().count();
            // Those that declined will not subscribe.
            return self.has_sinks(sinks, SUBSCRIBING).map(|_| true);
        };
        if self.source.sinks() < count {
            notice(&format!("waiting for {}", plural(count, "sink")));
        }
        let declined = RefCell::new(BTreeSet::new());
        let missing = || count.saturating_sub(declined.borrow().len());
        let turn = |longest| self.has_sinks(missing(), longest).map(|has| has.then_some(()));
        let goes_on = || {
            // Each node counts once, whatever it says.
            let error = self.source.declined();
            if let Some(error) = error.filter(|error| declined.borrow_mut().insert(error.path().to_owned())) {
                notice(&format!("a sink has declined what this publishes: {error}"));
            }
            input.look().map(|()| !self.stop.is_asked())
        };
        let has = in_turns(None, LOOK, turn, goes_on)?.is_some();
        match declined.borrow().len() {
            1.. if has && self.source.sinks() == 0 => {
                Err(Failure::data("nothing was published, as no sink takes it")
                    .hint("--wait 0 publishes without sinks"))
            }
            _ => Ok(has),
        }
    }

    fn has_sinks(&self, count: usize, patience: Duration) -> Result<bool, Failure> {
        match self.source.wait_for_sinks(count, patience) {
            // Another sink may come.
            Err(error) if error.code() == Code::Forbidden => Ok(false),
            done => Ok(unless_late(done)?.is_some()),
        }
    }

    /// Publishes all that is read.
    fn publish(&mut self, mut input: Input) -> Result<(), Failure> {
        let start = Instant::now();
        while !self.stop.is_asked() {
            match input.next(LOOK) {
                Ok(Item::Record { format, body, about }) => {
                    if !self.pace(start) {
                        break;
                    }
                    let is_heard = self.source.sinks() > 0;
                    match self.source.submit_body(&format, &body) {
                        Ok(_) if is_heard => self.submitted += 1,
                        Ok(_) => {
                            self.unheard += 1;
                            self.unheard_first += u64::from(self.submitted == 0);
                        }
                        Err(error) if error.code() == Code::Closed => return Err(error.into()),
                        Err(error) => self.tell(error, &about),
                    }
                }
                Ok(Item::Bad { error, about }) => self.tell(error, &about),
                Ok(Item::Broken(failure)) => return Err(failure),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        Ok(())
    }

    /// Waits until it is time for the next record. `false` if it was asked to stop meanwhile.
    fn pace(&self, start: Instant) -> bool {
        let Some(rate) = self.arguments.rate else { return true };
        self.stop.sleep_until(start + Duration::from_secs_f64((self.submitted + self.unheard) as f64 / rate))
    }

    fn tell(&mut self, error: Error, about: &str) {
        self.unpublished.bad(&error, about);
    }

    /// Waits until everything is taken, and prints the account.
    fn end(self, output: &mut Output) -> Result<(), Failure> {
        let heard = self.heard();
        let ledgers = self.source.close(Duration::from_secs_f64(self.arguments.patience))?;
        if self.unpublished.count() > 0 {
            notice(&format!("{} passed over", plural(self.unpublished.count() as usize, "record")));
        }
        let accounts: Vec<Account> = Account::of("", &ledgers).collect();
        account::write(&accounts, output)?;
        account::check(&accounts)?;
        self.unpublished.end().and(heard)
    }

    /// Reports an error if the first records had no sinks and the user did not expect that. Sinks may leave at any
    /// time.
    ///
    /// # Errors
    /// If there were no sinks when it began, and that was not meant.
    fn heard(&self) -> Result<(), Failure> {
        if self.unheard == 0 {
            return Ok(());
        }
        let declined = self.source.declined();
        let why = match &declined {
            Some(error) => format!("a sink has declined them: {error}"),
            None => "there were no sinks".into(),
        };
        let unheard = format!("{} went nowhere, as {why}", plural(self.unheard as usize, "record"));
        if self.unheard_first == 0 || self.arguments.wait == Some(0) {
            notice(&unheard);
            return Ok(());
        }
        match declined {
            Some(_) => Failure::data(unheard),
            None => {
                Failure::data(unheard).hint("--wait N starts when there are N sinks; use --wait 0 if no sink is needed")
            }
        }
        .report();
        Err(Failure::Shown { status: 1 })
    }
}
