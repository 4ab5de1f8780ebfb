//! What nodes say that mean no harm: recorded, with the choices in front.

use super::party::{Bytes, CHANNEL, NAME, Party, format, level};
use super::stage::Stage;
use super::{CHOICES, HELLO, PAUSE, manner, stranger};
use isoform::core::{Layout, Shape};
use isoform_channel_proto::{
    Action, ConnId, Credentials, Identity, Outgoing, Parameters, Policy, Time, Wanted, Window,
};
use std::collections::BTreeSet;

/// What a node does that means no harm.
type Script = fn(&mut Guest);

const SCRIPTS: [Script; 10] = [listen, be_slow, steer, tell, tell_long, be_curious, leave, evolve, be_cut, come_and_go];

/// Seeds for [`handshake`](super::handshake).
pub fn handshakes() -> BTreeSet<Vec<u8>> {
    let visits = (0..160).map(|number: u8| {
        let script = SCRIPTS[usize::from(number) % SCRIPTS.len()];
        let choices = [number & 15, number >> 4, number, 0];
        [&choices[..], &Guest::visit(choices, script)].concat()
    });
    visits.collect()
}

/// Seeds for [`frames`](super::frames): the same, without the handshake.
pub fn frames() -> BTreeSet<Vec<u8>> {
    let without = |seed: Vec<u8>| {
        let (choices, said) = seed.split_at(CHOICES);
        [choices, &said[introduction(said)..]].concat()
    };
    handshakes().into_iter().map(without).collect()
}

/// Bytes of a handshake: a Hello, a Proof, Terms, and a Start if that is for the stranger to say.
fn introduction(said: &[u8]) -> usize {
    let mut length = HELLO;
    while let Some(&[low, high, _, _, kind @ 4..=6, ..]) = said.get(length..).and_then(|rest| rest.first_chunk::<16>())
    {
        length += 16 + usize::from(u16::from_le_bytes([low, high])).next_multiple_of(16);
        if kind == 4 {
            break;
        }
    }
    length.min(said.len())
}

/// A node that visits the victim, and what it says there.
struct Guest {
    stage: Stage,
    party: Party,
    connection: ConnId,
    said: Vec<u8>,
}

impl Guest {
    /// All that a guest says.
    fn visit(choices: [u8; CHOICES], script: Script) -> Vec<u8> {
        let seed = stranger(choices[1] & 1 == 0);
        let mut manner = manner(&choices);
        (manner.deaf, manner.lazy) = (false, false);
        let mut party = Party::new(seed, "test:stranger");
        let stage = Stage::new(manner);
        let now = stage.now;
        if manner.dialed {
            let channel = party.node.create(Identity([0xee; 16]), "elsewhere", None).expect("a channel");
            party.channel = Some(channel);
            party.node.connected(now, ConnId(0), None, Credentials::default());
        }
        let mut guest = Guest { stage, party, connection: ConnId(0), said: Vec::new() };
        guest.exchange();
        if !manner.dialed {
            let open =
                guest.party.node.open(now, &["test:victim".into()], NAME, Some(CHANNEL), now + Time::from_secs(5));
            guest.exchange();
            guest.party.channel = Some(guest.party.node.opened(open).expect("an answer").expect("the channel"));
        }
        script(&mut guest);
        guest.go_on(3);
        guest.said
    }

    /// Hands over what is said, until nobody has more to say.
    fn exchange(&mut self) {
        loop {
            let mut said = false;
            while let Some(action) = self.party.node.action() {
                match action {
                    Action::Dial(dial, address) if address == "test:victim" => {
                        self.party.node.connected(self.stage.now, self.connection, Some(dial), Credentials::default());
                    }
                    Action::Dial(dial, _) => {
                        let error = isoform::Error::new(isoform::Code::Unreachable);
                        self.party.node.dial_failed(self.stage.now, dial, error);
                    }
                    Action::Write(id) | Action::Close(id) => {
                        let mut out = Outgoing::<Bytes>::default();
                        self.party.node.output(self.stage.now, id, &mut out);
                        self.party.node.unwritten(id, 0);
                        self.said.extend(out.to_vec());
                        self.stage.say(&out.to_vec());
                        said = true;
                    }
                    _ => {}
                }
            }
            self.stage.rest();
            let answer = std::mem::take(&mut self.stage.written);
            if answer.is_empty() && !said {
                return;
            }
            let used = self.party.node.receive(self.stage.now, self.connection, &answer).expect("an answer");
            self.stage.written.splice(0..0, answer[used..].iter().copied());
            if used == 0 && !said {
                return;
            }
        }
    }

    /// Some time passes, in which events come.
    fn go_on(&mut self, rounds: usize) {
        for _ in 0..rounds {
            self.pause();
            self.exchange();
            self.party.take(self.stage.now);
            self.party.node.tick(self.stage.now);
            self.exchange();
        }
    }

    fn pause(&mut self) {
        self.said.extend(PAUSE);
        self.stage.live();
        self.stage.say(&PAUSE);
    }

    fn sink(&mut self, policy: Policy, window: Window) {
        let channel = self.party.channel.expect("a channel");
        self.party.add_sink(channel, Wanted { window, fields: vec!["step".into()], ..Wanted::any(policy) });
        self.exchange();
    }

    fn source(&mut self) {
        let channel = self.party.channel.expect("a channel");
        self.party.source = Some(self.party.node.add_source(channel, Some(&format())).expect("a source"));
        self.exchange();
    }
}

fn listen(guest: &mut Guest) {
    guest.sink(Policy::Block, Window { events: 4, bytes: 1 << 20 });
    guest.go_on(30);
}

fn be_slow(guest: &mut Guest) {
    guest.sink(Policy::Latest, Window { events: 1, bytes: 1 });
    guest.sink(Policy::DropOldest { events: 2, bytes: 1000 }, Window { events: 2, bytes: 100 });
    for _ in 0..10 {
        guest.pause();
    }
    guest.go_on(5);
}

/// It asks for values of parameters, and for others, some of which do not fit.
fn steer(guest: &mut Guest) {
    let channel = guest.party.channel.expect("a channel");
    let wanted = Wanted { parameters: Some(level(3)), ..Wanted::any(Policy::Block) };
    let sink = guest.party.add_sink(channel, wanted);
    guest.exchange();
    for values in [level(4), level(3), level(5)] {
        guest.party.node.set_parameters(sink, values);
        guest.go_on(2);
    }
    let events = Parameters::new(&format(), &7u64.to_le_bytes()).expect("a record of another type");
    guest.party.node.set_parameters(sink, events);
    guest.go_on(3);
}

fn tell(guest: &mut Guest) {
    guest.source();
    for _ in 0..10 {
        guest.party.submit(8);
        guest.go_on(1);
    }
}

fn tell_long(guest: &mut Guest) {
    guest.source();
    for length in [70_000, 8, 65_537, 8] {
        guest.party.submit(length);
        guest.party.submit(8);
        guest.go_on(2);
    }
}

fn be_curious(guest: &mut Guest) {
    guest.sink(Policy::Block, Window { events: 64, bytes: 1 << 16 });
    for _ in 0..3 {
        guest.party.node.ask(guest.party.channel.expect("a channel"), Time::ZERO);
        guest.go_on(3);
    }
}

fn leave(guest: &mut Guest) {
    guest.sink(Policy::Block, Window { events: 64, bytes: 1 << 16 });
    tell(guest);
    guest.party.node.leave();
    guest.exchange();
}

fn evolve(guest: &mut Guest) {
    let channel = guest.party.channel.expect("a channel");
    let source = guest.party.node.add_source(channel, None).expect("a source");
    guest.exchange();
    for fields in 1..5 {
        let mut shape = Shape::new("Sample").field("step", "unsigned integer(8)");
        for field in 0..fields {
            shape = shape.field(format!("more{field}").as_str(), "double");
        }
        let format = shape.on(&Layout::S390X).expect("a format");
        let mut body = Bytes::from(vec![0; format.size()]);
        guest.party.node.submit(7, source, Some(&format), &mut body).expect("an event");
        guest.go_on(1);
    }
    guest.party.node.end_source(source);
    guest.exchange();
}

fn be_cut(guest: &mut Guest) {
    guest.sink(Policy::DropOldest { events: 100, bytes: 1 << 20 }, Window { events: 2, bytes: 1 << 20 });
    tell(guest);
    guest.pause();
    guest.stage.hang_up();
    guest.stage.written.clear();
    guest.party.node.closed(guest.stage.now, guest.connection, None);
    guest.connection = ConnId(guest.connection.0 + 1);
    guest.stage.connect(None);
    // Whoever was dialed lets the other dial first.
    for _ in 0..2 {
        guest.stage.pass(Time::from_secs(1));
        guest.party.node.tick(guest.stage.now);
        guest.exchange();
    }
    guest.go_on(5);
}

fn come_and_go(guest: &mut Guest) {
    let channel = guest.party.channel.expect("a channel");
    for policy in [Policy::Block, Policy::Latest] {
        let sink = guest.party.node.add_sink(channel, Wanted::any(policy)).expect("a sink");
        guest.go_on(2);
        guest.party.node.end_sink(sink);
        let source = guest.party.node.add_source(channel, Some(&format())).expect("a source");
        guest.go_on(2);
        guest.party.node.drop_source(source);
        guest.go_on(1);
    }
    guest.party.node.close(channel);
    guest.exchange();
}
