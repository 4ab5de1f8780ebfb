//! What two nodes say to each other in a session that has a frame of every kind, and how that is written down: in
//! `vectors/channel/session.txt`.

use isoform_channel_proto::{
    Access, Action, Batch, ChannelKey, ConnId, Credentials, DialKey, Grants, HEADER, Header, Hello, Identity, Item,
    Key, Node, Origin, Outgoing, Parameters, Policy, Query, Relayed, Rights, Settings, SharedKey, SinkKey, Time,
    Wanted, Window,
};
use isoform_core::{Code, Error, FieldList, Format, Machine};
use std::sync::Arc;

type Body = Arc<[u8]>;

/// The session so far: the nodes, and what the first two said.
struct Session {
    /// The one who is dialed, the one who dials, and one who comes later.
    nodes: [Node<Body, Vec<u8>>; 3],
    /// What the second said to the first, and the first to the second.
    said: Vec<(&'static str, Vec<u8>)>,
    /// What is on its way: to whom, over which connection.
    wires: Vec<(usize, ConnId, Vec<u8>)>,
    now: Time,
    /// The second declines the rest of the next long event.
    declines: Option<SinkKey>,
}

/// A record of a machine that has little-endian numbers and pointers of 8 bytes.
fn format(name: &str, field: &str) -> Format {
    let machine = Machine { pointer: 8, order: isoform_core::ByteOrder::Little };
    FieldList::new(name).field(field, "integer", 8, 0).format(machine, 8, 8).expect("a format")
}

impl Session {
    /// Lets both say what they have to say.
    fn run(&mut self) {
        for _ in 0..20 {
            for i in 0..3 {
                while let Some(action) = self.nodes[i].action() {
                    self.act(i, action);
                }
            }
            for (to, id, mut bytes) in std::mem::take(&mut self.wires) {
                if let Some(sink) = self.declines.take_if(|_| to == 1 && bytes.len() > 66_000) {
                    let used = self.nodes[to].receive(self.now, id, &bytes[..66_000]).expect("the first part");
                    bytes.drain(..used);
                    let mut batch = Batch::default();
                    assert!(self.nodes[to].take(self.now, sink, &mut batch));
                    let head =
                        batch.items().find_map(|item| if let Item::Head(head) = item { Some(head) } else { None });
                    let head = head.expect("the head");
                    assert_eq!((head.length, &*head.bytes), (70_000, &[8; 8][..]));
                    assert!(!self.nodes[to].enough(sink, head.source, head.sequence - 1), "another event");
                    assert!(self.nodes[to].enough(sink, head.source, head.sequence), "its parts are coming");
                }
                let used = self.nodes[to].receive(self.now, id, &bytes).expect("what nodes say is right");
                assert_eq!(used, bytes.len(), "frames are given out whole");
            }
        }
    }

    fn act(&mut self, from: usize, action: Action) {
        match action {
            // Over connection 1 the second dials the first, over connection 2 the third does.
            Action::Dial(dial, address) if address == "unix:/run/first" => self.dial(from, dial),
            // The third cannot be dialed.
            Action::Dial(dial, address) => {
                let error = Error::new(Code::Unreachable).at(address);
                self.nodes[from].dial_failed(self.now, dial, error);
            }
            Action::Write(id) | Action::Close(id) => {
                let mut out = Outgoing::default();
                self.nodes[from].output(self.now, id, &mut out);
                self.nodes[from].unwritten(id, 0);
                if id == ConnId(1) && !out.is_empty() {
                    self.said.push((["acceptor", "dialer"][from], out.to_vec()));
                }
                let to = if from == 0 { id.0 as usize } else { 0 };
                self.wires.push((to, id, out.to_vec()));
            }
            _ => {}
        }
    }

    fn dial(&mut self, from: usize, dial: DialKey) {
        let id = ConnId(from as u64);
        self.nodes[from].connected(self.now, id, Some(dial), Credentials::default());
        self.nodes[0].connected(self.now, id, None, Credentials::default());
    }

    fn open(&mut self, node: usize, name: &str) -> Option<ChannelKey> {
        let open =
            self.nodes[node].open(self.now, &["unix:/run/first".into()], name, None, self.now + Time::from_secs(5));
        self.run();
        self.nodes[node].opened(open).expect("an answer").ok()
    }

    fn wait(&mut self, time: Time) {
        self.now += time;
        self.nodes[..2].iter_mut().for_each(|node| node.tick(self.now));
        self.run();
    }

    fn take(&mut self, sink: SinkKey) {
        let mut batch = Batch::default();
        while self.nodes[1].take(self.now, sink, &mut batch) {}
        self.wait(Time::from_millis(20));
    }
}

/// The session: who said what, in order.
pub(crate) fn session() -> Vec<(&'static str, Vec<u8>)> {
    let names = ["first", "second", "third"];
    let node = |i: u8| {
        let addresses = vec![format!("unix:/run/{}", names[usize::from(i)])];
        // The dialer offers a key that the acceptor does not know, and then one that both know.
        let known: [&[u8]; 3] = [&[5], &[4, 5], &[]];
        let keys = known[usize::from(i)].iter().map(|&byte| SharedKey::new([byte; 32])).collect();
        Node::new(
            Key::from_seed([i + 1; 32]),
            Settings { addresses, access: Access { keys, ..Access::default() }, ..Settings::default() },
        )
    };
    let (said, wires) = (Vec::new(), Vec::new());
    let mut session = Session { nodes: [0, 1, 2].map(node), said, wires, now: Time::ZERO, declines: None };
    let ticks = session.nodes[0].create(Identity([9; 16]), "ticks", Some(format("Tick", "count"))).expect("a channel");
    let source = session.nodes[0].add_source(ticks, Some(&format("Tick", "count"))).expect("a source");

    // A channel that there is not, and one that there is, with a sink that can use what comes and one that cannot.
    assert!(session.open(1, "tocks").is_none());
    let channel = session.open(1, "ticks").expect("the channel");
    let window = Window { events: 2, bytes: 100_000 };
    let policy = Policy::DropOldest { events: 1, bytes: 1_000 };
    let wanted = Wanted { window, longest: 80_000, fields: vec!["count".into()], heads: true, ..Wanted::any(policy) };
    let sink = session.nodes[1].add_sink(channel, wanted).expect("a sink");
    session.run();

    // A short event, a long one, and one that is too long for the sink.
    let time = 1_700_000_000_000_000_000;
    for (i, length) in [8, 70_000, 80_001].into_iter().enumerate() {
        let mut body: Body = (0..length).map(|at| if at < 8 { at as u8 } else { 7 }).collect::<Vec<u8>>().into();
        session.nodes[0].submit(time + i as u64, source, None, &mut body).expect("a source");
        session.run();
    }
    session.take(sink);

    // Another policy, an event that is not wanted, one that a relay submits, and one that is declined too late.
    session.nodes[1].set_policy(sink, Policy::Block, false);
    session.run();
    let second = session.nodes[1].id();
    session.nodes[0].skip(source, second, sink.0, 1);
    let mut body: Body = Arc::from([7; 8]);
    session.nodes[0].submit(time + 3, source, None, &mut body).expect("a source");
    session.run();
    let origin = Origin { node: session.nodes[2].id(), source: 5, sequence: 600 };
    session.nodes[0].submit(time + 4, source, None, &mut Relayed { draft: body, origin }).expect("a source");
    session.run();
    session.take(sink);
    session.declines = Some(sink);
    let mut body: Body = Arc::from(vec![8; 70_000]);
    session.nodes[0].submit(time + 5, source, None, &mut body).expect("a source");
    session.run();
    session.take(sink);

    // A sink with a query, an event that it does not want, and the result of one that it wants.
    let query = Some(Query::parse("where count > 3 | select twice = count + count").expect("a query"));
    let asking = session.nodes[1].add_sink(channel, Wanted { query, window, ..Wanted::any(policy) }).expect("a sink");
    session.run();
    for (i, count) in [3u64, 7].into_iter().enumerate() {
        let mut body: Body = Arc::from(count.to_le_bytes());
        session.nodes[0].submit(time + 6 + i as u64, source, None, &mut body).expect("a source");
        session.run();
    }
    session.take(asking);
    session.take(sink);

    // A sink that wants the latest event only: of those that do not fit into its window, one supersedes the other.
    session.nodes[1].set_policy(sink, Policy::Latest, false);
    session.run();
    for i in 0..4 {
        let mut body: Body = Arc::from([i; 8]);
        session.nodes[0].submit(time + 8 + u64::from(i), source, None, &mut body).expect("a source");
        session.run();
    }
    session.take(sink);
    session.take(sink);

    // Another member with a source, which cannot be dialed; a report, a sink that cannot use the source, a silence, and the end of everything.
    let third = session.open(2, "ticks").expect("the channel");
    session.nodes[2].add_source(third, None).expect("a source");
    session.run();
    session.nodes[1].ask(channel, session.now);
    session.run();
    session.nodes[0].ask(ticks, session.now);
    session.run();
    let untyped = session.nodes[0].create(Identity([7; 16]), "any", None).expect("a channel");
    session.nodes[0].add_source(untyped, Some(&format("Tick", "count"))).expect("a source");
    let any = session.open(1, "any").expect("the channel");
    let wanted = Wanted { format: Some(format("Words", "words")), ..Wanted::any(Policy::Block) };
    session.nodes[1].add_sink(any, wanted).expect("a sink");
    session.run();
    // A source with parameters, a sink that asks for some, an event for its values, and other values.
    let detail = session.nodes[0].create(Identity([5; 16]), "detail", None).expect("a channel");
    let level = |level: u64| Parameters::new(&format("Detail", "level"), &level.to_le_bytes()).expect("a record");
    let (tick, grants) = (format("Tick", "count"), Grants::default());
    let defaults = Some(level(1));
    let steered =
        session.nodes[0].add_source_with(detail, Some(&tick), grants, defaults.as_ref(), None).expect("a source");
    let detail = session.open(1, "detail").expect("the channel");
    let wanted = Wanted { parameters: Some(level(3)), window, ..Wanted::any(policy) };
    let steering = session.nodes[1].add_sink(detail, wanted).expect("a sink");
    session.run();
    let demand = session.nodes[0].demands(steered)[0].key;
    let mut body: Body = Arc::from(9u64.to_le_bytes());
    session.nodes[0].submit_for(|| time + 12, steered, demand, None, &mut body).expect("a source");
    session.run();
    session.nodes[1].set_parameters(steering, level(4));
    session.run();
    session.take(steering);
    // A channel to whose sources the rules let nobody subscribe.
    session.nodes[0]
        .set_rights(session.now, Rights::parse("deny anyone subscribe on closed\nallow anyone all on *").ok());
    let closed = session.nodes[0].create(Identity([6; 16]), "closed", None).expect("a channel");
    session.nodes[0].add_source(closed, Some(&format("Tick", "count"))).expect("a source");
    let closed = session.open(1, "closed").expect("the channel");
    session.nodes[1].add_sink(closed, Wanted::any(Policy::Block)).expect("a sink");
    session.wait(Time::from_millis(3_400));
    session.nodes[0].end_source(source);
    session.run();
    session.nodes[1].close(channel);
    session.run();
    session.nodes[1].leave();
    session.run();
    session.said
}

/// A session as text: a line of words for every Hello and frame, and its bytes in lines of 16, equal ones counted.
pub(crate) fn text(session: &[(&str, Vec<u8>)]) -> String {
    let mut text = String::new();
    let mut greeted = Vec::new();
    for (who, bytes) in session {
        let mut rest = &bytes[..];
        if !greeted.contains(who) {
            greeted.push(who);
            let (_, length) = Hello::parse(rest).expect("a Hello").expect("all of it");
            write(&mut text, &format!("{who} Hello"), &rest[..length]);
            rest = &rest[length..];
        }
        while let Some(header) = rest.first_chunk::<HEADER>() {
            let header = Header::parse(header).expect("a frame");
            let kind = header.kind.expect("a kind that is known");
            let (frame, behind) = rest.split_at(header.extent());
            write(&mut text, &format!("{who} {kind:?}"), frame);
            rest = behind;
        }
        assert!(rest.is_empty(), "frames are given out whole");
    }
    text
}

fn write(text: &mut String, title: &str, bytes: &[u8]) {
    *text += &format!("\n{title}\n");
    let mut rows = bytes.chunks(16).peekable();
    while let Some(row) = rows.next() {
        let mut times = 1;
        while rows.next_if(|next| *next == row).is_some() {
            times += 1;
        }
        let hex: Vec<String> = row.iter().map(|byte| format!("{byte:02x}")).collect();
        let times = if times > 1 { format!("  x {times}") } else { String::new() };
        *text += &format!("  {}{times}\n", hex.join(" "));
    }
}
