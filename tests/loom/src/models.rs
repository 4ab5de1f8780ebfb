//! Threads that do with the state machines what a node's threads do, and what must hold of that in every order. If a call were lost,
//! all threads would sleep, which loom reports.

use crate::flow::{Flow, Pressed};
use crate::lookout::{Lead, Lookout, Next};
use crate::sync::{Arc, Condvar, Mutex};
use crate::waiter::{Rung, Waiter};
use loom::thread;
use std::collections::VecDeque;
use std::time::Duration;

/// Runs a model in every order with few preemptions.
fn check(model: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = builder.preemption_bound.or(Some(2));
    builder.check(model);
}

/// A thread that waits is told, whenever it begins to wait and whoever else rings.
#[test]
fn a_ring_is_never_lost() {
    check(|| {
        let (waiter, state) = (Arc::new(Waiter::new()), Arc::new(Mutex::new(0)));
        let ringers: Vec<_> = (0..2)
            .map(|_| {
                let (waiter, state) = (waiter.clone(), state.clone());
                thread::spawn(move || {
                    *state.lock().unwrap() += 1;
                    assert_eq!(waiter.ring(), Rung::Done, "nobody polls");
                })
            })
            .collect();
        loop {
            waiter.look();
            if *state.lock().unwrap() == 2 {
                break;
            }
            waiter.park(Duration::MAX);
        }
        waiter.leave();
        ringers.into_iter().for_each(|ringer| ringer.join().unwrap());
    });
}

/// What the protocol has for a connection, what was written of it, and the keeper's list.
#[derive(Default)]
struct Output {
    made: u32,
    gathering: bool,
}

struct Wire {
    flow: Flow,
    output: Mutex<Output>,
    /// How much was written; for one thread at a time.
    written: Mutex<u32>,
    /// How often the connection takes more before it takes no more.
    takes: Mutex<u32>,
}

impl Wire {
    fn new(takes: u32) -> Arc<Wire> {
        let (output, written) = (Mutex::default(), Mutex::new(0));
        Arc::new(Wire { flow: Flow::new(), output, written, takes: Mutex::new(takes) })
    }

    /// Makes something to be written, at once or later.
    fn make(&self, at_once: bool) {
        let mut output = self.output.lock().unwrap();
        output.made += 1;
        if at_once {
            if self.flow.begin() {
                drop(output);
                self.write();
            }
        } else if self.flow.owe() {
            output.gathering = true;
        }
    }

    /// Writes all there is, as the thread whose turn it is.
    fn write(&self) {
        loop {
            let made = self.output.lock().unwrap().made;
            let mut written = self.written.try_lock().expect("one thread writes");
            if made > *written {
                let mut takes = self.takes.lock().unwrap();
                if *takes == 0 {
                    drop(written);
                    assert!(self.flow.block());
                    return;
                }
                *takes -= 1;
                *written = made;
            }
            drop(written);
            if self.flow.finish() {
                return;
            }
        }
    }

    /// What the keeper does.
    fn gather(&self) {
        let gathering = std::mem::take(&mut self.output.lock().unwrap().gathering);
        if gathering && self.flow.take_up() {
            self.write();
        }
    }
}

/// What is made by any thread is written, by one thread at a time.
#[test]
fn what_is_made_is_written_once_the_keeper_has_looked() {
    check(|| {
        let wire = Wire::new(u32::MAX);
        let makers: Vec<_> = [true, false]
            .map(|at_once| {
                let wire = wire.clone();
                thread::spawn(move || wire.make(at_once))
            })
            .into();
        wire.gather();
        makers.into_iter().for_each(|maker| maker.join().unwrap());
        wire.gather();
        assert_eq!(*wire.written.lock().unwrap(), 2);
    });
}

/// What a connection does not take is written when it takes more, by a thread that waits for that or by whoever is told.
#[test]
fn what_a_connection_does_not_take_is_written_later() {
    check(|| {
        let wire = Wire::new(0);
        let maker = {
            let wire = wire.clone();
            thread::spawn(move || wire.make(true))
        };
        let presser = {
            let wire = wire.clone();
            thread::spawn(move || {
                wire.make(false);
                *wire.takes.lock().unwrap() = u32::MAX;
                if let Pressed::Writes { .. } = wire.flow.press() {
                    wire.write();
                }
            })
        };
        maker.join().unwrap();
        presser.join().unwrap();
        // As the poller says, and the keeper finds.
        if wire.flow.resume() {
            wire.write();
        }
        wire.gather();
        assert_eq!(*wire.written.lock().unwrap(), 2);
    });
}

/// A poller, what has come for it to report, and what was read: for each thread that waits, whether its event is there.
struct Node {
    lookout: Lookout,
    poller: Mutex<VecDeque<Came>>,
    changed: Condvar,
    state: Mutex<[bool; 2]>,
    waiters: [Arc<Waiter>; 2],
    keeper: Arc<Waiter>,
}

#[derive(Clone, Copy, PartialEq)]
enum Came {
    Woken,
    Event(usize),
}

impl Node {
    fn new() -> Arc<Node> {
        Arc::new(Node {
            lookout: Lookout::new(),
            poller: Mutex::default(),
            changed: Condvar::new(),
            state: Mutex::new([false; 2]),
            waiters: [Arc::new(Waiter::new()), Arc::new(Waiter::new())],
            keeper: Arc::new(Waiter::new()),
        })
    }

    fn come(&self, came: Came) {
        self.poller.lock().unwrap().push_back(came);
        self.changed.notify_one();
    }

    fn ring(&self, waiter: &Waiter) {
        if waiter.ring() == Rung::WakePoller {
            self.come(Came::Woken);
        }
    }

    fn tell(&self, next: Next) {
        match next {
            Next::Nobody => {}
            Next::Follower(waiter) => self.ring(&waiter),
            Next::Keeper => self.ring(&self.keeper),
        }
    }

    /// Waits at the poller once, and reads what has come.
    fn poll(&self, waiter: &Waiter) {
        if !waiter.poll() {
            return;
        }
        let mut poller = self.poller.lock().unwrap();
        while poller.is_empty() {
            poller = self.changed.wait(poller).unwrap();
        }
        let all = std::mem::take(&mut *poller);
        drop(poller);
        waiter.look();
        for came in all {
            if let Came::Event(at) = came {
                let mut state = self.state.lock().unwrap();
                state[at] = true;
                self.ring(&self.waiters[at]);
            }
        }
    }

    /// What a thread of the application does, that waits for its event.
    fn wait(&self, at: usize) {
        let waiter = &self.waiters[at];
        let mut leads = false;
        loop {
            waiter.look();
            if self.state.lock().unwrap()[at] {
                break;
            }
            leads = leads || self.lookout.lead() == Lead::Mine;
            if leads {
                self.poll(waiter);
                continue;
            }
            self.lookout.follow(waiter);
            match self.lookout.lead() {
                Lead::Mine => leads = true,
                Lead::Keepers => {
                    self.ring(&self.keeper);
                    waiter.park(Duration::MAX);
                }
                Lead::Another => waiter.park(Duration::MAX),
            }
            self.lookout.unfollow(waiter);
        }
        waiter.leave();
        self.tell(if leads { self.lookout.leave() } else { self.lookout.pass_on() });
    }
}

/// Two threads wait, each for its own event: whoever of them leads, and whichever comes first, both get theirs.
#[test]
fn while_a_thread_waits_somebody_leads() {
    check(|| {
        let node = Node::new();
        let waiting: Vec<_> = (0..2)
            .map(|at| {
                let node = node.clone();
                thread::spawn(move || node.wait(at))
            })
            .collect();
        node.come(Came::Event(0));
        node.come(Came::Event(1));
        waiting.into_iter().for_each(|thread| thread.join().unwrap());
        assert!(!node.lookout.see().is_led);
    });
}

/// The keeper leads when a thread comes to wait: it leaves, and the thread gets its event, whoever has read it.
#[test]
fn the_keeper_leaves_to_a_thread_that_waits() {
    check(|| {
        let node = Node::new();
        let thread = {
            let node = node.clone();
            thread::spawn(move || {
                node.wait(0);
                // If it led itself, nothing else comes.
                node.come(Came::Woken);
            })
        };
        let network = {
            let node = node.clone();
            thread::spawn(move || node.come(Came::Event(0)))
        };
        node.keeper.look();
        if node.lookout.keep() {
            node.poll(&node.keeper);
            node.tell(node.lookout.leave());
        }
        thread.join().unwrap();
        network.join().unwrap();
    });
}

/// A connection takes no more while the thread that leads leaves: the keeper is told, or finds that nobody leads, or it is led.
#[test]
fn somebody_waits_for_a_connection_that_takes_no_more() {
    check(|| {
        let node = Node::new();
        assert_eq!(node.lookout.lead(), Lead::Mine);
        let writer = {
            let node = node.clone();
            thread::spawn(move || {
                if node.lookout.block() {
                    node.ring(&node.keeper);
                }
            })
        };
        let leader = {
            let node = node.clone();
            thread::spawn(move || node.tell(node.lookout.leave()))
        };
        // The keeper sleeps until it is told, unless it finds the connection itself.
        loop {
            node.keeper.look();
            let seen = node.lookout.see();
            if seen.is_blocked && !seen.is_led {
                break;
            }
            node.keeper.park(Duration::MAX);
        }
        assert!(node.lookout.keep());
        writer.join().unwrap();
        leader.join().unwrap();
    });
}
