//! Strangers who say one thing very often: what that takes of memory is bounded, and nobody else notices.

use isoform::Code;
use isoform::core::{Layout, Shape};
use isoform_hostile::links::{CHOICES, PAUSE, frames};
use isoform_hostile::memory::Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Everything in its usual way, in pieces of some kilobytes.
const PLAIN: [u8; CHOICES] = [0, 0, 3, 0];
/// The stranger does not read what is written to it.
const DEAF: [u8; CHOICES] = [2, 0, 3, 0];
/// The application takes nothing.
const LAZY: [u8; CHOICES] = [4, 0, 3, 0];

/// How many sources and subscriptions a node allows on a link.
const ALLOWED: u32 = 1 << 12;
/// Fewer requests than a node allows at once, but more than half of them.
const REQUESTS: u32 = 30_000;
/// How many events may wait for the application.
const WINDOW: usize = 64;

/// The identity of the channel.
const CHANNEL: [u8; 16] = [0xcc; 16];

fn frame(kind: u8, index: u16, subscription: u32, payload: &[&[u8]]) -> Vec<u8> {
    let payload = payload.concat();
    let mut frame = (payload.len() as u32).to_le_bytes().to_vec();
    frame.extend([kind, 0]);
    frame.extend(index.to_le_bytes());
    frame.extend(subscription.to_le_bytes());
    frame.extend([0; 4]);
    frame.extend(&payload);
    frame.resize(frame.len().next_multiple_of(16), 0);
    frame
}

/// Asks to be a member.
fn open(request: u32) -> Vec<u8> {
    frame(8, 0, 0, &[&request.to_le_bytes(), &[0; 4], &CHANNEL, b"\x05\0river"])
}

fn ask() -> Vec<u8> {
    frame(40, 0, 0, &[&[0; 8], &CHANNEL])
}

/// Offers a source of any formats.
fn offer(source: u32) -> Vec<u8> {
    frame(17, u16::MAX, 0, &[&CHANNEL, &source.to_le_bytes(), &[0; 4]])
}

fn subscribe(number: u32, policy: u8, window: u64) -> Vec<u8> {
    let head = [0, 0, 0, 0, 0, 0, 0, 0, policy, 0, 0, 0, 0, 0, 0, 0];
    let numbers = [window, window, u64::MAX, u64::MAX, u64::MAX, 0, 0, 0, 0, 0, 0, 0].map(u64::to_le_bytes);
    frame(19, 0, number, &[&head, numbers.as_flattened(), &[0; 4]])
}

/// Asks for the fields at these paths.
fn subscribe_to(number: u32, paths: &[String]) -> Vec<u8> {
    let whole = subscribe(number, 1, u64::MAX);
    let length = u32::from_le_bytes(*whole.first_chunk().expect("a frame")) as usize;
    let mut all = (paths.len() as u16).to_le_bytes().to_vec();
    for path in paths {
        all.extend((path.len() as u16).to_le_bytes());
        all.extend(path.as_bytes());
    }
    frame(19, 0, number, &[&whole[16..16 + length - 4], &all, &[0; 2]])
}

fn unsubscribe(number: u32, taken: u64) -> Vec<u8> {
    frame(21, 0, number, &[&taken.to_le_bytes()])
}

fn started(number: u32, next: u64) -> Vec<u8> {
    frame(24, 0, number, &[&next.to_le_bytes(), &[0; 32]])
}

/// A format, and events of it.
fn events(number: u32, count: usize) -> Vec<u8> {
    let format = Shape::new("Sample").field("step", "double").on(&Layout::S390X).expect("a format");
    let event = frame(25, 0, number, &[&[0; 8]]);
    [frame(16, 0, 0, &[format.description().as_bytes()]), event.repeat(count)].concat()
}

/// Why a member is refused who says all this, if it is.
fn refusal(choices: [u8; CHOICES], said: impl IntoIterator<Item = Vec<u8>>) -> Option<Code> {
    let said: Vec<u8> = std::iter::once(open(0)).chain(said).flatten().collect();
    frames(&[&choices[..], &said].concat()).refusal
}

/// The number of a subscription to the first source that a stranger offers.
fn number_of_first() -> u32 {
    (0..20).find(|&number| refusal(PLAIN, [offer(0), started(number, 0)]).is_none()).expect("a subscription")
}

#[test]
fn who_asks_is_answered_as_long_as_it_reads() {
    assert_eq!(refusal(PLAIN, (0..20_000).map(|_| ask())), None);
    assert_eq!(refusal(DEAF, (0..20_000).map(|_| ask())), Some(Code::Frame));
    let asking: [fn(u32) -> Vec<u8>; 2] = [open, |number| unsubscribe(number, 0)];
    for ask in asking {
        assert_eq!(refusal(PLAIN, (0..REQUESTS).map(ask)), None);
        assert_eq!(refusal(PLAIN, (0..2 * REQUESTS).map(ask)), Some(Code::Budget));
    }
}

#[test]
fn sources_and_subscriptions_are_counted() {
    for choices in [PLAIN, DEAF] {
        assert_eq!(refusal(choices, (0..ALLOWED).map(offer)), None);
        // Those beyond the budget are declined.
        assert_eq!(refusal(choices, (0..=ALLOWED + 100).map(offer)), None);
        for policy in [1, 2] {
            for window in [1, u64::MAX] {
                let more = (0..=ALLOWED).map(|number| subscribe(number, policy, window));
                assert_eq!(refusal(choices, more), None);
            }
        }
    }
}

#[test]
fn paths_of_fields_may_be_long_and_many() {
    let deep = |name: &str| vec![[name].repeat(60_000 / (name.len() + 1)).join(".")];
    let many = |name: &dyn Fn(usize) -> String| (0..4_000).map(name).collect::<Vec<_>>();
    for paths in [
        deep("step"),
        deep("a"),
        deep(""),
        many(&|_| "step".into()),
        many(&|number| format!("f{number}")),
        many(&|number| format!("step[{number}]")),
        many(&|number| if number == 0 { "step".into() } else { "a.b".into() }),
        vec![String::new(); 30_000],
    ] {
        // Sixteen paths count as a frame.
        let count = if paths.len() > 10_000 { 10 } else { 100 };
        for choices in [PLAIN, DEAF] {
            let said = (0..count).map(|number| subscribe_to(number, &paths));
            assert_eq!(refusal(choices, said), None, "{} paths, {:.20}", paths.len(), paths[0]);
        }
    }
}

#[test]
fn more_events_than_the_window_are_refused() {
    let number = number_of_first();
    let said = |count| [offer(0), started(number, 5), events(number, count)];
    assert_eq!(refusal(LAZY, said(WINDOW)), None);
    assert_eq!(refusal(LAZY, said(WINDOW + 1)), Some(Code::Frame));
    assert_eq!(
        refusal(
            PLAIN,
            (0..100).map(|_| events(number, 1)).fold(said(1).to_vec(), |mut all, some| {
                all.extend([some, PAUSE.to_vec()]);
                all
            })
        ),
        None
    );
}

#[test]
fn more_news_than_a_sink_takes_are_refused() {
    let gap = |number, first: u64| {
        frame(28, 0, number, &[&first.to_le_bytes(), &1u64.to_le_bytes(), &[1 + first as u8 % 2, 0]])
    };
    let number = number_of_first();
    let gaps =
        |count| [offer(0), started(number, 0)].into_iter().chain((0..count).map(move |first| gap(number, first)));
    // Those of one source, without an event between them, become one.
    assert_eq!(refusal(LAZY, gaps(200_000)), None);
    // A source that comes and goes is subscribed to under two numbers in turn.
    let end = |number, answer: u8| frame(29, 0, number, &[&0u64.to_le_bytes(), &[answer, 0, 0, 0, 0, 0]]);
    let turn = |number: u32| [started(number, 0), end(number, 0), end(number, 1)];
    let turns = |count: u32| {
        let turns = (0..count).flat_map(move |i| turn(number + i % 2));
        [offer(0)].into_iter().chain(turns)
    };
    assert_eq!(refusal(PLAIN, turns(REQUESTS / 3)), None);
    assert_eq!(refusal(LAZY, turns(REQUESTS / 3)), None);
    // The memory of that is bounded as well, for those who take their time.
    assert_eq!(refusal(LAZY, turns(REQUESTS)), Some(Code::Budget));
}

#[test]
fn what_cannot_be_is_refused() {
    // More was taken than was sent.
    assert_eq!(refusal(PLAIN, [subscribe(7, 0, 9), unsubscribe(7, 99)]), Some(Code::Frame));
    // Numbers that cannot be counted on from, and more earlier events than a link declares.
    let number = number_of_first();
    let said = |next| [offer(0), started(number, next), events(number, 5)];
    assert_eq!(refusal(PLAIN, said(1 << 55)), None);
    assert_eq!(refusal(PLAIN, said(1 << 57)), Some(Code::Frame));
    assert_eq!(refusal(PLAIN, said((1 << 63) + 1)), Some(Code::Frame));
    assert_eq!(refusal(PLAIN, said(u64::MAX)), Some(Code::Frame));
}
