//! The core for browsers: it reads what the server of a page sends (`spec/watch.md`), keeps the numbers of the fields that the
//! page shows, and reduces them to what can be drawn.
//!
//! | module | contents |
//! |---|---|
//! | `entries` | binary messages of the server |
//! | `watch` | subscriptions, the formats that came, and what each source has sent |
//! | `history` | the numbers of one field over time, with the least and the greatest of each block |
//! | `rows` | an array over time |
//! | `calls` | the functions that the page calls |
//!
//! Drawing, and everything that a person sees, is the page's.

pub mod calls;
mod entries;
mod history;
mod rows;
mod watch;
