//! Demands: the values of parameters that the sinks of a source ask for (`spec/channel.md`, "Parameters"). The source's program
//! generates events for each demand once. Subscriptions with the same values share one.

use super::inbox::Item;
use super::receiving::{From, Receiving, Stage};
use super::sending::To;
use super::shares::Asker;
use super::{Flows, with_lane};
use crate::account::Cause;
use crate::action::Action;
use crate::budget;
use crate::control::{Control, Steering};
use crate::keys::{DemandKey, LinkKey, ReceivingKey, SendingKey, SinkKey, SourceKey, closed};
use crate::links::{Links, told};
use crate::memory::{Body, Storage};
use crate::parameters::{Given, Parameters};
use crate::report::DemandReport;
use isoform_core::{Code, Error, Result};
use std::collections::VecDeque;

/// The demand that is none.
const NOBODY: DemandKey = DemandKey(u32::MAX);
/// The most values of which a sink is told after a cut.
const LATELY: usize = 8;

/// Values of a source's parameters that sinks ask for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Demand {
    /// It tells the demand from others of its source.
    pub key: DemandKey,
    /// The values, in the source's format.
    pub values: Parameters,
    /// How many sinks have them.
    pub sinks: usize,
}

/// The demands of a source that has parameters.
pub(super) struct Demands {
    /// The format of the parameters, and the defaults.
    declared: Parameters,
    all: Vec<Demand>,
    /// How many demands there have been.
    seen: u32,
    /// How often they have changed.
    changes: u64,
    /// The most that differ from the defaults.
    most: usize,
}

/// What a subscription has to do with the parameters of its source.
pub(super) struct Steered {
    /// The demand that it is part of.
    pub(super) demand: DemandKey,
    /// What its sink has asked for last, completed with the defaults.
    asked: Parameters,
    /// The number of that change.
    change: u32,
    /// Whether its sink has asked for anything. If not, the defaults count as what it asks for.
    pub(super) is_asked: bool,
    /// The values that it has had lately, and the first event with each: the latest last. After a cut, its sink is told of all
    /// that it may get events of.
    lately: VecDeque<(u64, Parameters)>,
}

impl Steered {
    /// From an event on, the subscription has other values. Everything before `position` was sent.
    fn begin(&mut self, first: u64, values: &Parameters, position: u64) {
        self.lately.retain(|(before, _)| *before < first);
        self.lately.push_back((first, values.clone()));
        while self.lately.len() > 1 && (self.lately[1].0 <= position || self.lately.len() > LATELY) {
            self.lately.pop_front();
        }
    }
}

impl Demands {
    /// The demands of a source with these defaults.
    ///
    /// # Errors
    /// Those of [`Parameters::new`].
    pub(super) fn new(declared: &Parameters, most: usize) -> Result<Demands> {
        Ok(Demands { declared: declared.normal()?, all: Vec::new(), seen: 0, changes: 0, most })
    }

    /// The demand for these values, or the one that would be added for them.
    pub(super) fn of(&self, values: &Parameters) -> DemandKey {
        let known = self.all.iter().find(|demand| demand.values == *values);
        known.map_or(DemandKey(self.seen), |demand| demand.key)
    }

    /// The demands, for a report.
    pub(super) fn reports(&self) -> Vec<DemandReport> {
        let report = |demand: &Demand| DemandReport { values: demand.values.to_string(), sinks: demand.sinks as u32 };
        self.all.iter().map(report).collect()
    }

    fn get_mut(&mut self, key: DemandKey) -> Option<&mut Demand> {
        self.all.iter_mut().find(|demand| demand.key == key)
    }

    pub(super) fn get(&self, key: DemandKey) -> Option<&Demand> {
        self.all.iter().find(|demand| demand.key == key)
    }

    /// A sink becomes part of the demand for these values.
    fn join(&mut self, values: &Parameters) -> DemandKey {
        self.changes += 1;
        if let Some(demand) = self.all.iter_mut().find(|demand| demand.values == *values) {
            demand.sinks += 1;
            return demand.key;
        }
        let key = DemandKey(self.seen);
        self.seen = self.seen.wrapping_add(1);
        self.all.push(Demand { key, values: values.clone(), sinks: 1 });
        key
    }

    /// A sink is not part of a demand any more.
    pub(super) fn leave(&mut self, key: DemandKey) {
        self.changes += 1;
        if let Some(demand) = self.get_mut(key) {
            demand.sinks -= 1;
        }
        self.all.retain(|demand| demand.sinks > 0);
    }
}

impl<B: Body, S: Storage> Flows<B, S> {
    /// The demands of a source.
    pub(crate) fn demands(&self, key: SourceKey) -> Vec<Demand> {
        let demands = self.sources.get(key).and_then(|source| source.demands.as_ref());
        demands.map_or(Vec::new(), |demands| demands.all.clone())
    }

    /// How often the demands of a source have changed.
    pub(crate) fn demand_changes(&self, key: SourceKey) -> u64 {
        self.sources.get(key).and_then(|source| source.demands.as_ref()).map_or(0, |demands| demands.changes)
    }

    /// The values that a sink asks for at a source, completed with the defaults; `None` if the source has no parameters, and the
    /// sink asks for none.
    ///
    /// # Errors
    /// [`Code::NoSuchField`] if it asks for some and the source has none; the errors of [`Parameters::with`];
    /// [`Code::Budget`] if there are too many demands.
    pub(super) fn asked_values(
        &self,
        links: &Links<B>,
        key: SourceKey,
        asked: Option<&Parameters>,
        asker: Option<Asker>,
    ) -> Result<Option<Parameters>> {
        let Some(demands) = &self.sources[key].demands else {
            let error = Error::new(Code::NoSuchField).at("parameters").expected("a sink without parameters");
            return asked.map_or(Ok(None), |_| Err(error.found("values, and the source has none")));
        };
        let Some(asked) = asked else { return Ok(Some(demands.declared.clone())) };
        let values = demands.declared.with(asked)?;
        let needs_none = values == demands.declared || demands.all.iter().any(|demand| demand.values == values);
        if !needs_none {
            self.expect_place(links, key, demands, asker)?;
        }
        Ok(Some(values))
    }

    /// Checks that there is a place for one more demand of a node. Those who count under one principal take at most as many as they
    /// leave to others.
    fn expect_place(&self, links: &Links<B>, key: SourceKey, demands: &Demands, asker: Option<Asker>) -> Result<()> {
        let others = demands.all.iter().filter(|demand| demand.values != demands.declared);
        let free = demands.most.saturating_sub(others.clone().count()) as u64;
        let error = |most, whose| {
            let expected = format_args!("at most {most} different values of parameters{whose}");
            Err(Error::new(Code::Budget).at("parameters").expected(expected))
        };
        if free == 0 {
            return error(demands.most as u64, "");
        }
        let Some(Asker { principal, .. }) = asker else { return Ok(()) };
        let is_its = |at: &&SendingKey| match self.sendings[**at].to {
            To::Here(_) => false,
            To::Link(link, _) => links[link].taken.principal == principal,
        };
        let its: Vec<_> = self.sources[key].sendings.iter().filter(is_its).collect();
        let is_held = |demand: &&Demand| its.iter().any(|at| self.sendings[**at].is_of(Some(demand.key)));
        let held = others.filter(is_held).count() as u64;
        match budget::share(free, held, principal.is_own()) {
            0 => error(
                held,
                if principal.is_nobody() { " for nodes without credentials" } else { " for one credential" },
            ),
            _ => Ok(()),
        }
    }

    /// A new subscription becomes part of the demand for its values.
    pub(super) fn join_demand(&mut self, at: SendingKey, values: Option<Parameters>, change: Option<u32>) {
        let sending = &mut self.sendings[at];
        let first = sending.next();
        if let Some((demands, asked)) = self.sources[sending.source].demands.as_mut().zip(values) {
            let (demand, is_asked) = (demands.join(&asked), change.is_some());
            let change = change.unwrap_or(0);
            let lately = [(first, asked.clone())].into();
            sending.steered = Some(Box::new(Steered { demand, asked, change, is_asked, lately }));
        }
    }

    /// The sink of a subscription asks for other values. Returns why it does not get them.
    fn change_values(
        &mut self,
        links: &mut Links<B>,
        at: SendingKey,
        asked: Result<&Parameters>,
        change: u32,
    ) -> Option<Error> {
        let sending = &mut self.sendings[at];
        if let Some(steered) = &mut sending.steered {
            steered.change = change;
        }
        let (key, link) = (sending.source, sending.link());
        let asker = link.map(|link| Asker::over(links, link));
        let values = asked.and_then(|asked| self.asked_values(links, key, Some(asked), asker));
        match values {
            Ok(Some(values)) => self.give(links, at, &values, Some(&values)).err(),
            Ok(None) => None,
            Err(error) => Some(error),
        }
    }

    /// From its next event on, which may be a kept one, a subscription is part of the demand for other values.
    fn give(
        &mut self,
        links: &mut Links<B>,
        at: SendingKey,
        values: &Parameters,
        asked: Option<&Parameters>,
    ) -> Result<()> {
        self.catch_up(links, at);
        let sending = &mut self.sendings[at];
        let (first, position, link) = (sending.next(), sending.position(), sending.link());
        let (Some(source), Some(steered)) = (self.sources.get_mut(sending.source), &mut sending.steered) else {
            return Ok(());
        };
        let (Some(demands), old) = (&mut source.demands, steered.demand) else { return Ok(()) };
        let demand = demands.join(values);
        if let Some(want) = sending.want.filter(|_| demand != old) {
            // What its query remembers was about the events of the other demand.
            let asker = link.map(|link| Asker::over(links, link));
            match source.wants.add_again(&mut self.purse, want, asker, demand, source.format.as_ref()) {
                Ok(new) => {
                    sending.want = Some(new);
                    if let Some(wants) = &mut sending.begins {
                        let after = source.wants.anew(new);
                        source.wants.was_anew(want, std::mem::replace(&mut **wants, after));
                    }
                }
                Err(error) => {
                    demands.leave(demand);
                    return Err(error);
                }
            }
            source.wants.remove(&mut self.purse, want, link);
        }
        demands.leave(old);
        if demand != old {
            steered.demand = demand;
            steered.begin(first, values, position);
        }
        if let Some(asked) = asked {
            (steered.asked, steered.is_asked) = (asked.clone(), true);
        }
        links.actions.act(Action::Changed(source.channel));
        Ok(())
    }

    /// The program of a source grants other values to a demand. If another demand has these already, its sinks become part of
    /// that one. Returns the demand that they are part of.
    pub(crate) fn grant_values(
        &mut self,
        links: &mut Links<B>,
        key: SourceKey,
        demand: DemandKey,
        values: &Parameters,
    ) -> Result<DemandKey> {
        let Some(source) = self.sources.get_mut(key).filter(|source| !source.left) else {
            return Err(closed("source"));
        };
        let known = source.demands.as_ref().and_then(|demands| demands.get(demand));
        // Nobody asks for it any more.
        let Some(known) = known else { return Ok(demand) };
        let values = known.values.with(values)?;
        if values == known.values {
            return Ok(demand);
        }
        let all = source.sendings.iter().copied().filter(|&at| self.sendings[at].is_of(Some(demand)));
        let all: Vec<SendingKey> = all.collect();
        let Some(demands) = &mut source.demands else { return Ok(demand) };
        let other = demands.all.iter().find(|other| other.values == values).map(|other| other.key);
        match (other, demands.get_mut(demand)) {
            (None, Some(known)) => {
                known.values = values.clone();
                demands.changes += 1;
                // Kept events are of the old values, which no sink has.
                let kept = source.kept.iter_mut().filter(|event| event.demand == Some(demand));
                kept.for_each(|event| event.demand = Some(NOBODY));
            }
            _ => {
                for &at in &all {
                    // A query that finds no place among those of the other demand ends its subscription.
                    if let Err(error) = self.give(links, at, &values, None) {
                        self.refuse(links, at, &error);
                    }
                }
            }
        }
        for at in all {
            self.catch_up(links, at);
            let Some(sending) = self.sendings.get_mut(at).filter(|sending| !sending.is_revoked()) else { continue };
            let (first, position) = (sending.next(), sending.position());
            if let Some(steered) = &mut sending.steered {
                steered.begin(first, &values, position);
            }
            self.tell_given(links, at, None);
        }
        Ok(other.unwrap_or(demand))
    }

    /// The program of a source refuses a demand: its subscriptions end.
    pub(crate) fn refuse_demand(&mut self, links: &mut Links<B>, key: SourceKey, demand: DemandKey, why: &str) {
        let Some(source) = self.sources.get(key) else { return };
        let Some(known) = source.demands.as_ref().and_then(|demands| demands.get(demand)) else { return };
        let error = Error::new(Code::NotGranted).at("parameters").expected(why).found(&known.values);
        let mut all = source.sendings.clone();
        all.retain(|&at| self.sendings[at].is_of(Some(demand)));
        all.into_iter().for_each(|at| self.refuse(links, at, &error));
    }

    /// Ends a subscription.
    fn refuse(&mut self, links: &mut Links<B>, at: SendingKey, why: &Error) {
        match self.sendings[at].to {
            To::Link(link, _) => self.revoke(links, link, at, why),
            To::Here(receiving) => {
                let Receiving { sink, source, .. } = self.receivings[receiving];
                self.catch_up(links, at);
                self.stop_beginning(at, Cause::Ended);
                with_lane!(self, links, at, |sending, lane| sending.revoke(told(why), lane));
                self.pump(links, at);
                self.tell(links, None, sink, Item::Refused(source, why.clone()));
            }
        }
    }

    /// Tells a sink which values it has.
    pub(super) fn tell_given(&mut self, links: &mut Links<B>, at: SendingKey, refused: Option<Error>) {
        let Some(steered) = &self.sendings[at].steered else { return };
        let Some((first, values)) = steered.lately.back().cloned() else { return };
        let change = steered.change;
        self.say_given(links, at, Given { first, change, values, refused });
    }

    fn say_given(&mut self, links: &mut Links<B>, at: SendingKey, given: Given) {
        let sending = &self.sendings[at];
        match sending.to {
            To::Link(link, subscription) if sending.live => {
                let Given { first, change, values, refused } = given;
                let Some(index) = links.index(link, values.format()) else { return };
                let (code, text) = refused.as_ref().map_or((0, String::new()), told);
                let values = values.body().into();
                links.say(link, &Control::Given { subscription, index, first, change, code, text, values });
            }
            // It is told when it resumes its subscription.
            To::Link(..) => {}
            To::Here(receiving) => self.note_given(links, None, receiving, given),
        }
    }

    fn note_given(&mut self, links: &mut Links<B>, from: Option<LinkKey>, at: ReceivingKey, given: Given) {
        let Receiving { sink, source, stage, .. } = self.receivings[at];
        if stage == Stage::Running {
            self.tell(links, from, sink, Item::Given(source, given.into()));
        }
    }

    /// A source of another node says which values a sink has.
    pub(crate) fn was_given(
        &mut self,
        links: &mut Links<B>,
        link: LinkKey,
        subscription: u32,
        given: Given,
    ) -> Result<()> {
        let at = ReceivingKey(subscription);
        let receiving = self.receiving(link, at)?;
        if receiving.stage == Stage::Asked {
            return Err(Error::new(Code::Frame).at("subscription").expected("no Given before Started"));
        }
        receiving.change = given.change;
        self.note_given(links, Some(link), at, given);
        Ok(())
    }

    /// A sink asks all of its sources for other values.
    pub(crate) fn set_parameters(&mut self, links: &mut Links<B>, key: SinkKey, values: Parameters) {
        let Some(sink) = self.sinks.get_mut(key) else { return };
        sink.change = sink.change.wrapping_add(1);
        let change = sink.change;
        sink.wanted.parameters = Some(values.clone());
        for at in sink.receivings.clone() {
            let receiving = &self.receivings[at];
            match receiving.from {
                From::Link(link, _) if matches!(receiving.stage, Stage::Asked | Stage::Running) => {
                    let Some(index) = links.index(link, values.format()) else { continue };
                    let asked = Steering { index, change, values: values.body().into() };
                    links.say(link, &Control::Parameters { subscription: at.0, asked });
                }
                From::Here(sending) => self.steer(links, sending, Ok(&values), change),
                _ => {}
            }
        }
    }

    /// A sink of another node asks for other values, or its node may not.
    pub(crate) fn was_steered(
        &mut self,
        links: &mut Links<B>,
        link: LinkKey,
        subscription: u32,
        asked: Result<&Parameters>,
        change: u32,
    ) {
        // It may have crossed with an End.
        if let Some(at) = self.traffic[link].sendings.get(subscription) {
            self.steer(links, at, asked, change);
        }
    }

    /// The sink of a subscription asks for other values, or may not.
    fn steer(&mut self, links: &mut Links<B>, at: SendingKey, asked: Result<&Parameters>, change: u32) {
        if self.sendings[at].is_revoked() {
            return;
        }
        let refused = self.change_values(links, at, asked, change);
        match (&self.sendings[at].steered, refused) {
            (Some(_), refused) => self.tell_given(links, at, refused),
            // The source has no parameters, so there are no values to give.
            (None, Some(error)) => self.refuse(links, at, &error),
            (None, None) => {}
        }
    }

    /// A resumed subscription says again what its sink has asked for last, if it has asked for anything.
    pub(super) fn steer_again(
        &mut self,
        links: &mut Links<B>,
        at: SendingKey,
        asked: Option<Result<&Parameters>>,
        change: u32,
    ) {
        // It may not know of what changed before the cut, or since.
        let steered = self.sendings[at].steered.as_ref();
        let (known, lately) = steered.map(|steered| (steered.change, steered.lately.clone())).unwrap_or_default();
        for (first, values) in lately {
            self.say_given(links, at, Given { first, change: known, values, refused: None });
        }
        let Some(asked) = asked else { return };
        let steered = self.sendings[at].steered.as_ref();
        let source = self.sources.get(self.sendings[at].source);
        let declared = source.and_then(|source| source.demands.as_ref()).map(|demands| &demands.declared);
        let values = declared.zip(asked.as_ref().ok()).and_then(|(declared, asked)| declared.with(asked).ok());
        let is_known =
            steered.is_some_and(|steered| steered.change == change && values.as_ref() == Some(&steered.asked));
        if !is_known {
            self.steer(links, at, asked, change);
        }
    }
}
