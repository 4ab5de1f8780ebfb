//! Writes `vectors/channel/session.txt`, if it is not there.
#![allow(clippy::print_stdout, reason = "a program that says what it has done")]

#[path = "../tests/node/vectors/session.rs"]
mod session;

const HEAD: &str = "# A session of two nodes over one connection, as spec/channel.md has it: who says what, and its bytes in hexadecimal,
# a row that comes several times in succession once, with their number behind an x. The acceptor has a channel
# \"ticks\" with a source; the dialer asks for one that there is not, opens it, and has a sink for up to 80,000 bytes.
# Three events are submitted: of 8 bytes, of 70,000, and of 80,001. A third node opens the channel; the dialer has a
# sink elsewhere that cannot use what is offered, one that asks for values of parameters, and one where it may not subscribe.
# Before that, its first sink wants the latest event only, and one of four events is superseded.
# Then there is silence, the source leaves, and the dialer.
#
# The private keys, as RFC 8032 has them, are 32 bytes of 01 (the acceptor), 02 (the dialer) and 03 (the third node).
# The acceptor knows the shared key of 32 bytes of 05; the dialer offers one of 04, and then that one.

";

fn main() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../vectors/channel/session.txt");
    let text = format!("{HEAD}{}", session::text(&session::session()).trim_start());
    match std::fs::exists(path).expect("a file system") {
        true => println!("{path} is there, and stays as it is"),
        false => std::fs::write(path, text).expect("a file that can be written"),
    }
}
