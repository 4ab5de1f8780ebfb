//! Frames count by the work that they cause, and answers count until they are read (`spec/channel.md`, "Limits").

use super::host::{CHANNEL, Guest, Host, output};
use super::invented;
use isoform_channel_proto::{
    Access, Action, Admission, Budgets, FrameKind, Grants, HEADER, Header, Outgoing, Policy, Query, QueryTime,
    Resource, Rights, Settings, SharedKey, Submitted, Time, Wanted,
};
use isoform_core::{Code, Error, FieldList, Format, Layout, Machine as Machine64, Shape};
use std::sync::Arc;

const SOURCES: u32 = 1;
/// The frames that a credential may send at once.
const AT_ONCE: usize = 32_768;
/// Those of a new node beyond that.
const FIRST: usize = 128;
const GREEDY: u8 = 1;
const HONEST: u8 = 2;

/// A node that has these shared keys.
fn with_keys(keys: &[u8], settings: Settings) -> Settings {
    let keys = keys.iter().map(|&key| SharedKey::new([key; 32])).collect();
    Settings { access: Access { keys, admission: Admission::Known { users: Vec::new() } }, ..settings }
}

/// Time stands still, so nothing that is used up comes back.
fn host_with_keys(settings: Settings) -> Host {
    Host::new(with_keys(&[GREEDY, HONEST], settings))
}

/// A node with a shared key comes.
fn guest_with_key(host: &mut Host, key: u8) -> Guest {
    host.guest(with_keys(&[key], Settings::default()))
}

/// A guest says something, as often as the host listens and reads the answers. Returns how often that was, and why the host
/// listens no longer.
fn listens(host: &mut Host, guest: &Guest, said: &[u8]) -> (usize, Error) {
    for count in 0..2 * AT_ONCE {
        if let Err(error) = host.node.receive(host.now, guest.id, said) {
            return (count, error);
        }
        output(&mut host.node, host.now, guest.id);
    }
    panic!("the host listens without end");
}

/// How often a guest may say something that is no more than a frame each, for a part of what is allowed at once.
fn expect_one_part_of(parts: usize, host: &mut Host, guest: &Guest, said: &[u8]) {
    let (count, error) = listens(host, guest, said);
    assert_eq!(error.code(), Code::Budget, "{error}");
    assert!((1..=AT_ONCE / parts).contains(&count), "{count} times");
}

/// The payloads of all frames of a kind.
fn of_kind(said: &[u8], kind: FrameKind) -> Vec<&[u8]> {
    let (mut found, mut rest) = (Vec::new(), said);
    while let Some(header) = rest.first_chunk() {
        let header = Header::parse(header).unwrap();
        if header.kind == Some(kind) {
            found.push(&rest[HEADER..HEADER + header.length as usize]);
        }
        rest = &rest[header.extent()..];
    }
    found
}

/// How many members Members frames tell of.
fn members(said: &[u8]) -> usize {
    let count = |payload: &&[u8]| u32::from_le_bytes(*payload.first_chunk().unwrap()) as usize;
    of_kind(said, FrameKind::Members).iter().map(count).sum()
}

fn invented(count: u32) -> Vec<Vec<u8>> {
    (0..count).map(|number| invented::announcement(CHANNEL, number, 1, SOURCES, &[])).collect()
}

fn open() -> Vec<u8> {
    let mut payload = 5u64.to_le_bytes().to_vec();
    payload.extend(CHANNEL.0);
    invented::put(&mut payload, b"ticks");
    invented::frame(8, &payload)
}

fn ask() -> Vec<u8> {
    let mut payload = 7u64.to_le_bytes().to_vec();
    payload.extend(CHANNEL.0);
    invented::frame(40, &payload)
}

#[test]
fn a_frame_counts_for_its_length_and_a_short_one_for_one() {
    let mut host = host_with_keys(Settings::default());
    let guest = guest_with_key(&mut host, GREEDY);
    let ping = invented::frame(2, &[]);
    let (count, _) = listens(&mut host, &guest, &ping);
    assert!((AT_ONCE - 100..=AT_ONCE + FIRST).contains(&count), "{count}");
    let mut host = host_with_keys(Settings::default());
    let guest = guest_with_key(&mut host, GREEDY);
    // Of a kind that is skipped.
    expect_one_part_of(14, &mut host, &guest, &invented::frame(200, &[0; 60_000]));
}

#[test]
fn bytes_in_pieces_count_as_frames() {
    let mut host = host_with_keys(Settings::default());
    let guest = guest_with_key(&mut host, GREEDY);
    assert!(host.node.is_linked(guest.id));
    let comes = |_: &usize| host.node.came_in_pieces(host.now, guest.id).is_ok();
    let count = (0..2 * AT_ONCE).take_while(comes).count();
    assert!((AT_ONCE - 100..=AT_ONCE + FIRST).contains(&count), "{count}");
    assert!(!host.node.is_linked(guest.id), "its link has ended");
    let actions: Vec<_> = std::iter::from_fn(|| host.node.action()).collect();
    assert!(actions.contains(&Action::Close(guest.id)), "{actions:?}");
}

#[test]
fn no_frame_of_any_kind_can_be_repeated_without_end() {
    // Bye, which is 1, ends the link.
    for kind in (0..64).filter(|kind| *kind != 1) {
        for length in [0, 8, 16, 24, 72] {
            let mut host = host_with_keys(Settings::default());
            let guest = guest_with_key(&mut host, GREEDY);
            let (count, error) = listens(&mut host, &guest, &invented::frame(kind, &vec![0; length]));
            match (kind, length) {
                // An empty one would cost nothing.
                (31, 0) => assert_eq!((count, error.code()), (0, Code::Frame)),
                (2, _) | (31, 24 | 72) => {
                    assert!(count > 1_000 && error.code() == Code::Budget, "{kind}, {length}: {error}")
                }
                _ => {}
            }
        }
    }
}

#[test]
fn members_count_by_the_announcements() {
    let mut host = host_with_keys(Settings::default());
    let guest = guest_with_key(&mut host, GREEDY);
    expect_one_part_of(35, &mut host, &guest, &invented::members(&invented(400)));
}

#[test]
fn what_a_neighbour_that_may_not_introduce_tells_of_others_is_not_parsed() {
    let rights = Rights::parse("deny anyone introduce on *\nallow anyone all on *").unwrap();
    for rights in [None, Some(rights)] {
        let may_introduce = rights.is_none();
        let mut host = host_with_keys(Settings { rights, ..Settings::default() });
        let guest = guest_with_key(&mut host, GREEDY);
        let mut said = invented(1);
        // More addresses than there are.
        said[0][128] = 9;
        let told = host.node.receive(host.now, guest.id, &invented::members(&said));
        assert_eq!(told.is_err(), may_introduce, "{told:?}");
    }
}

#[test]
fn a_subscribe_counts_by_the_paths_of_its_fields() {
    let mut host = host_with_keys(Settings::default());
    let guest = guest_with_key(&mut host, GREEDY);
    let mut payload = vec![0; 8];
    payload.extend([0; 8]);
    payload.extend([0; 8 * 5 + 8 * 7]);
    payload.extend(900u16.to_le_bytes());
    (0..900).for_each(|number| invented::put(&mut payload, format!("field{number}").as_bytes()));
    payload.extend([0; 2]);
    let subscribe = invented::frame(19, &payload);
    expect_one_part_of(50, &mut host, &guest, &subscribe);
}

/// Values are made before anybody knows whether they may be had.
#[test]
fn a_subscribe_with_values_counts_as_a_parameters_frame() {
    let mut host = host_with_keys(Settings::default());
    let guest = guest_with_key(&mut host, GREEDY);
    let format = FieldList::new("Wish").field("rate", "integer", 8, 0).format(Machine64::NATIVE, 8, 8).unwrap();
    host.node.receive(host.now, guest.id, &invented::frame(16, format.description().as_bytes())).unwrap();
    let mut payload = vec![0; 114];
    // One option: the second one, which is critical, of 18 bytes: of the format 0, without a change, 8 bytes of values.
    payload.extend([1, 0, 2, 0, 1, 0, 18, 0]);
    payload.extend([0, 0, 0, 0, 0, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    let subscribe = invented::frame(19, &payload);
    expect_one_part_of(7, &mut host, &guest, &subscribe);
}

#[test]
fn an_ask_counts_by_what_the_report_tells() {
    let mut host = host_with_keys(Settings::default());
    let grants = Grants { most_sinks: 400, ..Grants::default() };
    host.node.add_source_with(host.channel, None, grants, None, None).unwrap();
    let mut crowd = guest_with_key(&mut host, HONEST);
    for _ in 0..300 {
        crowd.node.add_sink(crowd.channel, Wanted::any(Policy::Block)).unwrap();
    }
    host.talk(&mut crowd).unwrap();
    let guest = guest_with_key(&mut host, GREEDY);
    host.node.receive(host.now, guest.id, &ask()).unwrap();
    let said = output(&mut host.node, host.now, guest.id);
    let told = of_kind(&said, FrameKind::Told);
    assert!(
        (20_000..30_000).contains(&told[0].len()),
        "as many of the sinks as a source may report: {}",
        told[0].len()
    );
    expect_one_part_of(25, &mut host, &guest, &ask());
}

#[test]
fn an_open_in_an_epoch_that_has_seen_one_is_answered_without_the_other_members() {
    let mut host = host_with_keys(Settings::default());
    let mut teller = guest_with_key(&mut host, HONEST);
    host.node.receive(host.now, teller.id, &invented::members(&invented(200))).unwrap();
    for _ in 0..100 {
        host.now += Time::from_millis(10);
        host.node.tick(host.now);
        host.talk(&mut teller).unwrap();
    }
    let guest = guest_with_key(&mut host, GREEDY);
    host.node.receive(host.now, guest.id, &open()).unwrap();
    let said = output(&mut host.node, host.now, guest.id);
    assert_eq!((of_kind(&said, FrameKind::Opened).len(), members(&said)), (1, 1), "the host itself");
    // One that has left knows nothing any more. To tell it all again counts.
    let again = [invented::frame(11, &CHANNEL.0), open()].concat();
    host.node.receive(host.now, guest.id, &again).unwrap();
    let said = output(&mut host.node, host.now, guest.id);
    assert!(members(&said) > 100, "{}", members(&said));
    expect_one_part_of(8, &mut host, &guest, &again);
}

#[test]
fn answers_that_are_not_read_come_out_of_the_budgets_of_their_credential() {
    const ANSWERS: u64 = 1 << 20;
    let default = Budgets::default();
    let budgets = Budgets { credential: default.credential.with(Resource::Answers, ANSWERS), ..default };
    let mut host = host_with_keys(Settings { budgets, ..Settings::default() });
    let grants = Grants { most_sinks: 100, ..Grants::default() };
    host.node.add_source_with(host.channel, None, grants, None, None).unwrap();
    let mut honest = guest_with_key(&mut host, HONEST);
    for _ in 0..50 {
        honest.node.add_sink(honest.channel, Wanted::any(Policy::Block)).unwrap();
    }
    host.talk(&mut honest).unwrap();
    let mut ended = Vec::new();
    let mut greedy: Vec<Guest> = (0..32).map(|_| guest_with_key(&mut host, GREEDY)).collect();
    // One with the same key reads.
    let mut reader = greedy.pop().unwrap();
    for guest in &greedy {
        // Each answer is 8,000 bytes long.
        let error = (0..20).find_map(|_| host.node.receive(host.now, guest.id, &ask()).err());
        ended.extend(error.map(|error| (error.code(), error.path().to_string())));
    }
    let waiting: usize = greedy.iter().map(|guest| host.node.waiting(guest.id)).sum();
    assert!(waiting < 2 * ANSWERS as usize, "{waiting} bytes");
    let why = (Code::Budget, "unread answers of the nodes with one credential".to_string());
    assert!(!ended.is_empty() && ended.iter().all(|error| *error == why), "{ended:?}");
    for guest in [&mut reader, &mut honest] {
        guest.node.ask(guest.channel, host.now);
        host.talk(guest).unwrap();
        let info = guest.node.info(guest.channel).unwrap();
        assert!(info.members.iter().any(|member| member.report.as_ref().is_some_and(|it| it.refused.is_none())));
    }
    // One that has not read gets no more, and one that has gets more again.
    let mut late = greedy.iter().filter(|guest| host.node.waiting(guest.id) > 100_000).map(|guest| guest.id);
    let (stubborn, ready) = (late.next().unwrap(), late.next().unwrap());
    let refused = (0..20).find_map(|_| host.node.receive(host.now, stubborn, &ask()).err());
    assert_eq!(refused.unwrap().code(), Code::Budget);
    output(&mut host.node, host.now, ready);
    host.node.receive(host.now, ready, &ask()).unwrap();
}

#[test]
fn a_description_counts_by_its_fields() {
    let fields: String = (0..4_000).map(|number| format!("\n f{number} u8")).collect();
    let said = |name: usize| {
        let format = Shape::parse(&format!("record Wide{name}{fields}")).unwrap().on(&Layout::NATIVE).unwrap();
        invented::frame(FrameKind::Format as u8, format.description().as_bytes())
    };
    let (mut host, said) = (host_with_keys(Settings::default()), (0..AT_ONCE / 200).map(said).collect::<Vec<_>>());
    let guest = guest_with_key(&mut host, GREEDY);
    let count = said.iter().take_while(|said| host.node.receive(host.now, guest.id, said).is_ok()).count();
    assert!((1..said.len()).contains(&count), "{count}");
    // What is known is only hashed.
    let mut host = host_with_keys(Settings::default());
    let guest = guest_with_key(&mut host, GREEDY);
    let (known, _) = listens(&mut host, &guest, &said[0]);
    assert!(known > 5 * count, "{known}");
}

#[test]
fn nodes_that_have_settled_have_parts_for_which_the_busiest_gives_way() {
    const SECONDS: u64 = 60;
    let mut host = host_with_keys(Settings::default());
    let mut greedy: Vec<Guest> = (0..180).map(|_| guest_with_key(&mut host, GREEDY)).collect();
    let honest = guest_with_key(&mut host, GREEDY);
    host.now += Time::from_secs(20);
    let ping = invented::frame(2, &[]);
    let (flood, few) = (ping.repeat(64), ping.repeat(5));
    let mut heard = 0;
    for _ in 0..SECONDS {
        host.now += Time::from_secs(1);
        for guest in &greedy {
            let is_heard = host.node.receive(host.now, guest.id, &flood) == Ok(flood.len());
            heard += if is_heard { 64 } else { 0 };
            output(&mut host.node, host.now, guest.id);
        }
        host.node.receive(host.now, honest.id, &few).unwrap();
        output(&mut host.node, host.now, honest.id);
        while let Some(action) = host.node.action() {
            let Action::Close(id) = action else { continue };
            assert_ne!(id, honest.id);
            greedy.retain(|guest| guest.id != id);
        }
    }
    let most = 2 * (AT_ONCE as u64 + SECONDS * 1_024) + 180 * FIRST as u64;
    assert!((1..=most).contains(&heard), "{heard} frames of {} that are left, and not {most}", greedy.len());
    assert!(!greedy.is_empty() && greedy.len() < 180);
}

#[test]
fn queries_pay_for_the_descriptions_of_their_results() {
    let symbols: Vec<String> = (0..8_000).map(|number| format!("s{number}={number}")).collect();
    let words = format!("record Valve\n state enumeration(4){{{}}}\n n i32", symbols.join(","));
    let format = Shape::parse(&words).unwrap().on(&Layout::NATIVE).unwrap();
    let mut host = host_with_keys(Settings::default());
    let queries = Some(QueryTime { at_once: Time::from_millis(1), second: Time::from_millis(5) });
    let grants = Grants { queries, ..Grants::default() };
    let source = host.node.add_source_with(host.channel, Some(&format), grants, None, None).unwrap();
    let mut guest = guest_with_key(&mut host, GREEDY);
    // Together, their descriptions are longer than what a node remembers.
    for number in 0..20 {
        let query = Query::parse(&format!("select state{number} = state")).unwrap();
        guest.node.add_sink(guest.channel, Wanted { query: Some(query), ..Wanted::any(Policy::Block) }).unwrap();
    }
    host.talk(&mut guest).unwrap();
    let (mut described, mut events) = (0, 0);
    for at in 0..40 {
        let mut body: Arc<[u8]> = Arc::new([0; 8]);
        let submitted = host.node.submit(at * 50_000_000, source, Some(&format), &mut body).unwrap();
        assert_eq!(submitted, Submitted::Done(at));
        // A connection gets no more than some of them at a time.
        let mut said = Vec::new();
        for _ in 0..10 {
            let mut out = Outgoing::default();
            host.node.output(host.now, guest.id, &mut out);
            host.node.unwritten(guest.id, 0);
            said.extend(out.to_vec());
        }
        described += of_kind(&said, FrameKind::Format).iter().map(|payload| payload.len()).sum::<usize>();
        events += of_kind(&said, FrameKind::Event).len();
        guest.node.receive(host.now, guest.id, &said).unwrap();
    }
    // At 1 ns a byte: what the budget holds, and what flows back in two seconds.
    assert!((1_000_000..15_000_000).contains(&described), "{described} bytes, {events} events");
    assert!(events > 20, "{events}");
}

#[test]
fn a_node_that_reads_nothing_and_asks_for_nothing_loses_its_link() {
    const ANSWERS: u64 = 1 << 20;
    let default = Budgets::default();
    let budgets = Budgets { credential: default.credential.with(Resource::Answers, ANSWERS), ..default };
    let format = |number: usize| {
        let mut list = FieldList::new(format!("Format{number}"));
        for field in 0..100 {
            list = list.field(format!("field{field}of{number}"), "integer", 8, 8 * field);
        }
        list.format(Machine64::NATIVE, 800, 8).unwrap()
    };
    let formats: Vec<Format> = (0..50).map(format).collect();
    let nothing = |_: usize| None;
    let some = |number: usize| Some(formats[number % formats.len()].clone());
    for (format, most) in [(&nothing as &dyn Fn(usize) -> Option<Format>, 40_000), (&some, 20_000)] {
        let mut host = host_with_keys(Settings { budgets, ..Settings::default() });
        let (mut deaf, mut honest) = (guest_with_key(&mut host, GREEDY), guest_with_key(&mut host, HONEST));
        for guest in [&mut deaf, &mut honest] {
            guest.node.add_sink(guest.channel, Wanted::any(Policy::Block)).unwrap();
            host.talk(guest).unwrap();
        }
        let (mut count, mut waited) = (0, 0);
        while host.node.waiting(deaf.id) > 0 || count == 0 {
            waited = waited.max(host.node.waiting(deaf.id));
            let source = host.node.add_source(host.channel, format(count).as_ref()).unwrap();
            host.node.end_source(source);
            host.node.drop_source(source);
            output(&mut host.node, host.now, honest.id);
            count += 1;
            assert!(count < most, "{waited} bytes wait for a node that reads none of them");
        }
        assert!(waited as u64 <= ANSWERS, "{waited} bytes");
        let why = host.node.refusals().iter().find(|refusal| refusal.code == Code::Budget as u16).unwrap();
        assert!(why.last.contains("unread answers of the nodes with one credential"), "{}", why.last);
        // Whoever reads has its link.
        honest.node.ask(honest.channel, host.now);
        host.talk(&mut honest).unwrap();
    }
}
