//! A web page that shows the events of channels while they arrive, or those of recordings, and its server (`spec/watch.md`).
//!
//! The server converts nothing: the page gets records as they are in the memory of their sources, and decodes them itself,
//! with `isoform-core` as WebAssembly. A page that does not keep up loses events and shows it. It never slows a source.
//!
//! | file | what |
//! |---|---|
//! | `server` | who is answered; the requests |
//! | `guests` | connections that have not shown the key |
//! | `page` | the files of the page, which are in `page/` |
//! | `place` | what pages can watch |
//! | `seats` | how many pages and viewers there are, and how often they subscribe |
//! | `session` | one page: what it asks for, and what it is told |
//! | `feed` | a subscription: events of a sink become binary messages |
//! | `recorded` | a part of a recording becomes binary messages; `thin`: of as many records as a line shows |
//! | `player` | a replay that pages stop, continue, and set to another time |
//! | `draft` | the message of a subscription that comes next |
//! | `entries` | binary messages |
//! | `outbox` | what waits for a page, within bounds |
//! | `account` | members and sources as JSON |
//! | `foxglove` | the other protocol of the port, for viewers that people have |

mod account;
mod draft;
mod entries;
mod feed;
#[cfg(feature = "files")]
mod foxglove;
mod guests;
mod outbox;
mod page;
mod place;
mod player;
#[cfg(feature = "files")]
mod recorded;
mod seats;
mod server;
mod session;
#[cfg(feature = "files")]
mod thin;

pub use place::Place;
pub use player::Player;
pub use server::{Server, start, start_replay};
