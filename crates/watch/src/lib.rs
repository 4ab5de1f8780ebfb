//! A web page that shows the events of channels while they arrive, and its server (`spec/watch.md`).
//!
//! The server converts nothing: the page gets records as they are in the memory of their sources, and decodes them itself,
//! with `isoform-core` as WebAssembly. A page that does not keep up loses events and shows it. It never slows a source.
//!
//! | file | what |
//! |---|---|
//! | `server` | who is answered; the requests |
//! | `guests` | connections that have not shown the key |
//! | `page` | the files of the page, which are in `page/` |
//! | `session` | one page: what it asks for, and what it is told |
//! | `feed` | a subscription: events of a sink become binary messages |
//! | `entries` | binary messages |
//! | `outbox` | what waits for a page, within bounds |
//! | `account` | members and sources as JSON |

mod account;
mod entries;
mod feed;
mod guests;
mod outbox;
mod page;
mod server;
mod session;

pub use server::{Server, start};
