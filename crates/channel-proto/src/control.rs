//! The payloads of all frames but those of events (`spec/channel.md`, "Frames").

use crate::account::{Count, Policy, Window};
use crate::announcement::{Announcement, Members};
use crate::frame::{self, FrameKind, Header, NO_FORMAT, PAYLOAD};
use crate::grant::{Granted, known_policy};
use crate::keys::{Identity, NodeId};
use crate::report::Report;
use crate::terms::Terms;
use crate::wire::{Reader, put_bytes, put_text, put_texts};
use isoform_core::Result;

/// The option that is a query.
const QUERY: u16 = 1;
/// The option that is values of parameters.
const PARAMETERS: u16 = 2;

/// A frame that carries no event.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Control {
    Bye { code: u16, text: String },
    Ping,
    Synced,
    Start { epoch: u64 },
    Proof(Box<Proof>),
    Terms(Box<Terms>),
    Open { request: u32, identity: Option<Identity>, name: String },
    Opened { request: u32, format: Option<u16>, identity: Identity, name: String, query: String },
    Refused { request: u32, code: u16, text: String },
    Leave { identity: Identity },
    Members(Members),
    Call(Box<Call>),
    Offer { identity: Identity, source: u32, format: Option<u16>, code: u16, text: String },
    Withdraw { source: u32 },
    Subscribe(Box<Subscribe>),
    Decline { source: u32, sink: u32, code: u16, text: String },
    Unsubscribe { subscription: u32, taken: u64 },
    Change { subscription: u32, asked: Granted },
    Enough { subscription: u32, sequence: u64 },
    Started { subscription: u32, next: u64, granted: Granted, kept: u64 },
    Granted { subscription: u32, granted: Granted },
    Parameters { subscription: u32, asked: Steering },
    Given { subscription: u32, index: u16, first: u64, change: u32, code: u16, text: String, values: Vec<u8> },
    End { subscription: u32, next: u64, is_answer: bool, code: u16, text: String },
    Ask { request: u32, identity: Identity },
    Told { request: u32, report: Box<Report> },
}

/// What one side of a connection proves.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Proof {
    /// That it has the key of its node.
    pub(crate) signature: [u8; 64],
    /// That it has the shared key that was chosen; zeros if none was.
    pub(crate) shared: [u8; 32],
}

/// A member asks another one to dial it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Call {
    pub(crate) to: NodeId,
    /// How many more times it may be passed on.
    pub(crate) hops: u8,
    /// What the caller says of itself.
    pub(crate) caller: Announcement,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Subscribe {
    pub(crate) subscription: u32,
    pub(crate) source: u32,
    pub(crate) sink: u32,
    pub(crate) policy: Policy,
    pub(crate) must: bool,
    /// Whether the sink wants kept events.
    pub(crate) kept: bool,
    pub(crate) window: Window,
    pub(crate) longest: u64,
    pub(crate) resumed: Option<Resumed>,
    pub(crate) fields: Vec<String>,
    /// What it wants of each event, if not all events as they are: the text of a query.
    pub(crate) query: Option<String>,
    /// What it asks of the parameters of the source.
    pub(crate) steering: Option<Steering>,
    /// The number of the first critical option that is not known in this version.
    pub(crate) option: Option<u16>,
}

/// Values of parameters, as a body of the format at an index of the link.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Steering {
    pub(crate) index: u16,
    /// The number of the change that asks for them.
    pub(crate) change: u32,
    pub(crate) values: Vec<u8>,
}

/// The state of a subscription of an earlier epoch, at its sink.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Resumed {
    pub(crate) expected: u64,
    pub(crate) received: Count,
    pub(crate) taken: Count,
    pub(crate) skipped: u64,
    pub(crate) superseded: u64,
}

impl Control {
    /// Parses the payload of a frame of these kinds; `None` for other kinds.
    pub(crate) fn parse(header: &Header, payload: &[u8]) -> Result<Option<Control>> {
        let Some(kind) = header.kind else { return Ok(None) };
        let subscription = header.subscription;
        let format = (header.index != NO_FORMAT).then_some(header.index);
        let mut fields = Reader::new(payload, "payload");
        let fields = &mut fields;
        Ok(Some(match kind {
            FrameKind::Bye => Control::Bye { code: fields.u16()?, text: fields.text()?.into() },
            FrameKind::Ping => Control::Ping,
            FrameKind::Synced => Control::Synced,
            FrameKind::Start => Control::Start { epoch: fields.u64()? },
            FrameKind::Proof => Control::Proof(Proof { signature: fields.array()?, shared: fields.array()? }.into()),
            FrameKind::Terms => Control::Terms(Terms::parse(fields)?.into()),
            FrameKind::Open => {
                let (request, _) = (fields.u32()?, fields.u32()?);
                let identity = Identity(fields.array()?);
                let identity = (identity != Identity::NONE).then_some(identity);
                Control::Open { request, identity, name: fields.text()?.into() }
            }
            FrameKind::Opened => {
                let (request, _) = (fields.u32()?, fields.u32()?);
                let (identity, name) = (Identity(fields.array()?), fields.text()?.into());
                Control::Opened { request, format, identity, name, query: fields.text()?.into() }
            }
            FrameKind::Refused => {
                Control::Refused { request: fields.u32()?, code: fields.u16()?, text: fields.text()?.into() }
            }
            FrameKind::Leave => Control::Leave { identity: Identity(fields.array()?) },
            FrameKind::Members => Control::Members(Members::parse(fields)?),
            FrameKind::Call => {
                let (to, [hops, ..]) = (NodeId(fields.array()?), fields.array::<8>()?);
                Control::Call(Call { to, hops, caller: Announcement::parse(fields.bytes()?)? }.into())
            }
            FrameKind::Offer => {
                let (identity, source) = (Identity(fields.array()?), fields.u32()?);
                Control::Offer { identity, source, format, code: fields.u16()?, text: fields.text()?.into() }
            }
            FrameKind::Withdraw => Control::Withdraw { source: fields.u32()? },
            FrameKind::Subscribe => Control::Subscribe(Subscribe::parse(subscription, fields)?.into()),
            FrameKind::Decline => Control::Decline {
                source: fields.u32()?,
                sink: fields.u32()?,
                code: fields.u16()?,
                text: fields.text()?.into(),
            },
            FrameKind::Unsubscribe => Control::Unsubscribe { subscription, taken: fields.u64()? },
            FrameKind::Change => Control::Change { subscription, asked: Granted::parse(fields)? },
            FrameKind::Enough => Control::Enough { subscription, sequence: fields.sequence()? },
            FrameKind::Started => Control::Started {
                subscription,
                next: fields.sequence()?,
                granted: Granted::parse(fields)?,
                kept: fields.u64()?,
            },
            FrameKind::Granted => Control::Granted { subscription, granted: Granted::parse(fields)? },
            FrameKind::Parameters => {
                let (change, _) = (fields.u32()?, fields.u32()?);
                let asked = Steering { index: header.index, change, values: fields.bytes()?.into() };
                Control::Parameters { subscription, asked }
            }
            FrameKind::Given => {
                let (first, change) = (fields.sequence()?, fields.u32()?);
                let (code, text) = (fields.u16()?, fields.text()?.into());
                let values = fields.bytes()?.into();
                Control::Given { subscription, index: header.index, first, change, code, text, values }
            }
            FrameKind::End => Control::End {
                subscription,
                next: fields.sequence()?,
                is_answer: fields.u16()? != 0,
                code: fields.u16()?,
                text: fields.text()?.into(),
            },
            FrameKind::Ask => {
                let (request, _) = (fields.u32()?, fields.u32()?);
                Control::Ask { request, identity: Identity(fields.array()?) }
            }
            FrameKind::Told => {
                let request = fields.u32()?;
                Control::Told { request, report: Report::parse_answer(fields)?.into() }
            }
            FrameKind::Format
            | FrameKind::Event
            | FrameKind::Begin
            | FrameKind::Part
            | FrameKind::Gap
            | FrameKind::Skip
            | FrameKind::Origin
            | FrameKind::Time
            | FrameKind::Ack => {
                return Ok(None);
            }
        }))
    }

    /// The end of a subscription that was not refused.
    pub(crate) fn end(subscription: u32, next: u64, is_answer: bool) -> Control {
        Control::End { subscription, next, is_answer, code: 0, text: String::new() }
    }

    /// Appends it as a frame.
    pub(crate) fn put(&self, out: &mut Vec<u8>) {
        frame::put(out, self.header(), |out| self.put_payload(out));
    }

    fn header(&self) -> Header {
        let plain = Header::plain;
        let with = |kind, subscription| Header { subscription, ..plain(kind) };
        let of = |kind, format: &Option<u16>| Header { index: format.unwrap_or(NO_FORMAT), ..plain(kind) };
        match self {
            Control::Bye { .. } => plain(FrameKind::Bye),
            Control::Ping => plain(FrameKind::Ping),
            Control::Synced => plain(FrameKind::Synced),
            Control::Start { .. } => plain(FrameKind::Start),
            Control::Proof(_) => plain(FrameKind::Proof),
            Control::Terms(_) => plain(FrameKind::Terms),
            Control::Open { .. } => plain(FrameKind::Open),
            Control::Opened { format, .. } => of(FrameKind::Opened, format),
            Control::Refused { .. } => plain(FrameKind::Refused),
            Control::Leave { .. } => plain(FrameKind::Leave),
            Control::Members(_) => plain(FrameKind::Members),
            Control::Call(_) => plain(FrameKind::Call),
            Control::Offer { format, .. } => of(FrameKind::Offer, format),
            Control::Withdraw { .. } => plain(FrameKind::Withdraw),
            Control::Subscribe(subscribe) => with(FrameKind::Subscribe, subscribe.subscription),
            Control::Decline { .. } => plain(FrameKind::Decline),
            Control::Unsubscribe { subscription, .. } => with(FrameKind::Unsubscribe, *subscription),
            Control::Change { subscription, .. } => with(FrameKind::Change, *subscription),
            Control::Enough { subscription, .. } => with(FrameKind::Enough, *subscription),
            Control::Started { subscription, .. } => with(FrameKind::Started, *subscription),
            Control::Granted { subscription, .. } => with(FrameKind::Granted, *subscription),
            Control::Parameters { subscription, asked } => {
                Header { index: asked.index, ..with(FrameKind::Parameters, *subscription) }
            }
            Control::Given { subscription, index, .. } => {
                Header { index: *index, ..with(FrameKind::Given, *subscription) }
            }
            Control::End { subscription, .. } => with(FrameKind::End, *subscription),
            Control::Ask { .. } => plain(FrameKind::Ask),
            Control::Told { .. } => plain(FrameKind::Told),
        }
    }

    fn put_payload(&self, out: &mut Vec<u8>) {
        match self {
            Control::Ping | Control::Synced => {}
            Control::Start { epoch } => out.extend(epoch.to_le_bytes()),
            Control::Proof(proof) => {
                out.extend(proof.signature);
                out.extend(proof.shared);
            }
            Control::Terms(terms) => terms.put(out),
            Control::Bye { code, text } => {
                out.extend(code.to_le_bytes());
                put_text(out, text);
            }
            Control::Open { request, identity, name } => {
                out.extend(u64::from(*request).to_le_bytes());
                out.extend(identity.unwrap_or(Identity::NONE).0);
                put_text(out, name);
            }
            Control::Opened { request, identity, name, query, .. } => {
                out.extend(u64::from(*request).to_le_bytes());
                out.extend(identity.0);
                put_text(out, name);
                put_text(out, query);
            }
            Control::Refused { request, code, text } => {
                out.extend(request.to_le_bytes());
                out.extend(code.to_le_bytes());
                put_text(out, text);
            }
            Control::Leave { identity } => out.extend(identity.0),
            Control::Members(members) => members.write(out),
            Control::Call(call) => {
                out.extend(call.to.0);
                out.extend(u64::from(call.hops).to_le_bytes());
                put_bytes(out, call.caller.bytes());
            }
            Control::Offer { identity, source, code, text, .. } => {
                out.extend(identity.0);
                out.extend(source.to_le_bytes());
                out.extend(code.to_le_bytes());
                put_text(out, text);
            }
            Control::Withdraw { source } => out.extend(source.to_le_bytes()),
            Control::Subscribe(subscribe) => subscribe.put(out),
            Control::Decline { source, sink, code, text } => {
                out.extend(source.to_le_bytes());
                out.extend(sink.to_le_bytes());
                out.extend(code.to_le_bytes());
                put_text(out, text);
            }
            Control::Unsubscribe { taken, .. } => out.extend(taken.to_le_bytes()),
            Control::Change { asked, .. } => asked.put(out),
            Control::Enough { sequence, .. } => out.extend(sequence.to_le_bytes()),
            Control::Started { next, granted, kept, .. } => {
                out.extend(next.to_le_bytes());
                granted.put(out);
                out.extend(kept.to_le_bytes());
            }
            Control::Granted { granted, .. } => granted.put(out),
            Control::Parameters { asked, .. } => {
                out.extend(u64::from(asked.change).to_le_bytes());
                put_bytes(out, &asked.values);
            }
            Control::Given { first, change, code, text, values, .. } => {
                out.extend(first.to_le_bytes());
                out.extend(change.to_le_bytes());
                out.extend(code.to_le_bytes());
                put_text(out, text);
                put_bytes(out, values);
            }
            Control::End { next, is_answer, code, text, .. } => {
                out.extend(next.to_le_bytes());
                out.extend(u16::from(*is_answer).to_le_bytes());
                out.extend(code.to_le_bytes());
                put_text(out, text);
            }
            Control::Ask { request, identity } => {
                out.extend(u64::from(*request).to_le_bytes());
                out.extend(identity.0);
            }
            Control::Told { request, report } => {
                out.extend(request.to_le_bytes());
                report.put_answer(out);
            }
        }
    }
}

impl Subscribe {
    fn parse(subscription: u32, fields: &mut Reader<'_>) -> Result<Subscribe> {
        let (source, sink) = (fields.u32()?, fields.u32()?);
        let [policy, resumed, must, not_kept, ..] = fields.array::<8>()?;
        let window = Window { events: fields.u64()?.max(1), bytes: fields.u64()?.max(1) };
        let (events, bytes) = (fields.u64()?, fields.u64()?);
        let policy = known_policy(policy, events, bytes)?;
        let longest = fields.u64()?;
        let from = Resumed {
            expected: fields.u64()?,
            received: Count { events: fields.u64()?, bytes: fields.u64()? },
            taken: Count { events: fields.u64()?, bytes: fields.u64()? },
            skipped: fields.u64()?,
            superseded: fields.u64()?,
        };
        let resumed = (resumed != 0).then_some(from);
        let (must, kept) = (must != 0, not_kept == 0);
        let paths = fields.texts()?;
        let Options { query, steering, unknown: option } = Options::parse(fields)?;
        let fields = paths;
        Ok(Subscribe {
            subscription,
            source,
            sink,
            policy,
            must,
            kept,
            window,
            longest,
            resumed,
            fields,
            query,
            steering,
            option,
        })
    }

    fn put(&self, out: &mut Vec<u8>) {
        let (events, bytes) = self.policy.queue();
        let Resumed { expected, received, taken, skipped, superseded } = self.resumed.unwrap_or_default();
        out.extend(self.source.to_le_bytes());
        out.extend(self.sink.to_le_bytes());
        out.extend([self.policy.number(), u8::from(self.resumed.is_some())]);
        out.extend([u8::from(self.must), u8::from(!self.kept), 0, 0, 0, 0]);
        let numbers = [self.window.events, self.window.bytes, events, bytes, self.longest, expected];
        let counts = [received.events, received.bytes, taken.events, taken.bytes, skipped, superseded];
        numbers.iter().chain(&counts).for_each(|number| out.extend(number.to_le_bytes()));
        // The paths are listed only if they leave room in a frame. Without paths, all fields are wanted.
        let length: usize = self.fields.iter().map(|field| field.len() + 2).sum();
        put_texts(out, if length < PAYLOAD / 2 { &self.fields } else { &[] });
        // Nobody writes unknown options, but tests do.
        let count = [self.query.is_some(), self.steering.is_some(), self.option.is_some()].map(u16::from);
        out.extend(count.iter().sum::<u16>().to_le_bytes());
        if let Some(query) = &self.query {
            [QUERY, 1].iter().for_each(|number| out.extend(number.to_le_bytes()));
            put_text(out, query);
        }
        if let Some(Steering { index, change, values }) = &self.steering {
            [PARAMETERS, 1, values.len() as u16 + 10, *index, 0]
                .iter()
                .for_each(|number| out.extend(number.to_le_bytes()));
            out.extend(change.to_le_bytes());
            put_bytes(out, values);
        }
        if let Some(option) = self.option {
            [option, 1, 0].iter().for_each(|number| out.extend(number.to_le_bytes()));
        }
    }
}

/// The options of a subscription.
#[derive(Default)]
struct Options {
    query: Option<String>,
    steering: Option<Steering>,
    /// The number of the first option that is critical and unknown.
    unknown: Option<u16>,
}

impl Options {
    fn parse(fields: &mut Reader<'_>) -> Result<Options> {
        let mut options = Options::default();
        for _ in 0..fields.u16()? {
            match (fields.u16()?, fields.u16()? != 0) {
                (QUERY, _) => options.query = Some(fields.text()?.to_string()),
                (PARAMETERS, _) => {
                    let mut fields = Reader::new(fields.bytes()?, "parameters");
                    let (index, _, change) = (fields.u16()?, fields.u16()?, fields.u32()?);
                    options.steering = Some(Steering { index, change, values: fields.bytes()?.into() });
                }
                (number, is_critical) => {
                    fields.bytes()?;
                    options.unknown = options.unknown.or(is_critical.then_some(number));
                }
            }
        }
        Ok(options)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::account::{Counts, Ledger};
    use crate::announcement::Has;
    use crate::frame::HEADER;
    use crate::identity::Key;
    use crate::refusals::Refusal;
    use crate::report::{DemandReport, QueryReport, SinkLedger, SinkReport, SourceReport};
    use isoform_core::{Code, Token};

    fn report() -> Report {
        let (policy, format) = (Policy::DropOldest { events: 3, bytes: 4 }, Some(("Tick".into(), Token::of(b"Tick"))));
        let ledger = Ledger::of(7, 5, 2);
        let (node, waited) = (NodeId([6; 16]), std::time::Duration::from_millis(7));
        let (must, present, changes, earlier) = (false, true, 2, 9);
        let account = SinkLedger { node, sink: 5, policy, must, present, ledger, earlier, waited, changes };
        let passing = isoform_query::Account { evaluated: 16, passed: 3, filtered: 4, ..Default::default() };
        let counted = isoform_query::Account { absorbed: 9, faults: 2, absent: 1, forgotten: 6, ..passing };
        let query = QueryReport { text: "where n > 3".into(), sinks: 2, unfit: 5, thinned: 8, account: counted };
        let (unfit, earlier) = (6, 8);
        let counts = Counts { received: 3, taken: 2, lost: 1, superseded: 7, skipped: 4, refused: 5, unfit, earlier };
        Report {
            sources: vec![SourceReport {
                source: 1,
                submitted: 7,
                format: format.clone(),
                sinks: vec![account],
                queries: vec![query],
                demands: vec![DemandReport { values: "{}".into(), sinks: 3 }],
            }],
            sinks: vec![SinkReport { sink: 2, format: None, policy: Policy::Latest, must: true, counts }],
            refusals: vec![Refusal { code: 410, count: 3, last: "why".into() }],
            refused: None,
        }
    }

    /// One of every kind.
    fn all() -> Vec<Control> {
        let (identity, name, text) = (Identity([3; 16]), "ticks".to_string(), "why".to_string());
        let has = Has { sources: true, ..Has::default() };
        let key = Key::from_seed([4; 32]);
        let member = Announcement::sign(&key, identity, 5, has, &["unix:/x".into(), String::new()]);
        let mut members = Members::default();
        (0..2).for_each(|_| members.push(&member));
        let call = Call { to: NodeId([5; 16]), hops: 7, caller: member };
        let counts = |events| Count { events, bytes: 100 * events };
        let resumed = Resumed { expected: 9, received: counts(8), taken: counts(7), skipped: 6, superseded: 5 };
        let granted = Granted { policy: Policy::Latest, must: false, reason: crate::grant::Reason::Slow };
        let steering = Steering { index: 3, change: 4, values: vec![5, 6, 7] };
        let subscribe = Subscribe {
            subscription: 1,
            source: 2,
            sink: 3,
            policy: Policy::DropOldest { events: 4, bytes: 5 },
            must: true,
            kept: false,
            window: Window { events: 6, bytes: 7 },
            longest: 8,
            resumed: Some(resumed),
            fields: vec!["a".into(), "b.c".into()],
            query: Some("where n > 3".into()),
            steering: Some(steering.clone()),
            option: Some(9),
        };
        let silence = std::time::Duration::from_secs(10);
        let addresses = vec!["unix:/x".into()];
        let terms = Terms { ended: 7, formats: 1024, silence, subscriptions: 5, bodies: 6, addresses };
        let refused = Refusal { code: 411, count: 1, last: text.clone() };
        vec![
            Control::Bye { code: 140, text: text.clone() },
            Control::Ping,
            Control::Synced,
            Control::Start { epoch: 1 << 40 },
            Control::Proof(Proof { signature: std::array::from_fn(|at| at as u8), shared: [7; 32] }.into()),
            Control::Terms(terms.into()),
            Control::Open { request: 1 << 31, identity: None, name: name.clone() },
            Control::Open { request: 5, identity: Some(identity), name: name.clone() },
            Control::Opened { request: 5, format: Some(7), identity, name: name.clone(), query: String::new() },
            Control::Opened { request: 5, format: None, identity, name, query: "every 10".into() },
            Control::Refused { request: 5, code: 404, text: text.clone() },
            Control::Leave { identity },
            Control::Members(members),
            Control::Call(call.into()),
            Control::Offer { identity, source: 6, format: None, code: 0, text: String::new() },
            Control::Offer { identity, source: 6, format: None, code: 411, text: text.clone() },
            Control::Withdraw { source: 6 },
            Control::Subscribe(Box::new(Subscribe {
                resumed: None,
                query: None,
                steering: None,
                option: None,
                ..subscribe.clone()
            })),
            Control::Subscribe(subscribe.into()),
            Control::Decline { source: 6, sink: 7, code: 301, text: text.clone() },
            Control::Unsubscribe { subscription: 8, taken: 9 },
            Control::Change { subscription: 8, asked: granted },
            Control::Enough { subscription: 8, sequence: 9 },
            Control::Started { subscription: 8, next: 9, granted, kept: 2 },
            Control::Granted { subscription: 8, granted },
            Control::Parameters { subscription: 8, asked: steering },
            Control::Given {
                subscription: 8,
                index: 5,
                first: 9,
                change: 7,
                code: 409,
                text: text.clone(),
                values: vec![1; 9],
            },
            Control::End { subscription: 8, next: 9, is_answer: true, code: 409, text },
            Control::Ask { request: 10, identity },
            Control::Told { request: 10, report: report().into() },
            Control::Told { request: 10, report: Report { refused: Some(refused), ..Report::default() }.into() },
        ]
    }

    fn payload(frame: &[u8]) -> (Header, &[u8]) {
        let header = Header::parse(frame.first_chunk().unwrap()).unwrap();
        (header, &frame[HEADER..HEADER + header.length as usize])
    }

    #[test]
    fn each_is_read_as_it_was_written_and_not_if_it_is_cut() {
        for control in all() {
            let mut frame = Vec::new();
            control.put(&mut frame);
            let (header, payload) = payload(&frame);
            assert_eq!(Control::parse(&header, payload).unwrap().as_ref(), Some(&control));
            for cut in 0..payload.len() {
                let error = Control::parse(&header, &payload[..cut]).unwrap_err();
                assert_eq!(error.code(), Code::Frame, "{control:?} of {cut} bytes");
            }
            let more = [payload, &[0; 5]].concat();
            assert_eq!(Control::parse(&header, &more).unwrap(), Some(control), "what a later version appends");
        }
    }

    #[test]
    fn all_kinds_are_here_but_those_of_events() {
        let kinds: Vec<FrameKind> = all().iter().filter_map(|control| control.header().kind).collect();
        for &kind in FrameKind::ALL {
            let is_events = Control::parse(&Header::plain(kind), &[]).is_ok_and(|control| control.is_none());
            assert_eq!(kinds.contains(&kind), !is_events, "{kind:?}");
        }
    }
}
