//! Nodes without sockets: tests give them bytes, and look at what they say. They are one program, since each program compiles the node anew.
#![forbid(unsafe_code)]

mod access;
mod beginning;
mod credentials;
mod crowd;
mod declining;
mod ending;
mod fields;
mod formats;
mod frames;
mod given_up;
mod host;
mod invented;
mod lagging;
mod last_word;
mod liars;
mod news;
mod opening;
mod pace;
mod parameters;
mod pieces;
mod quiet;
mod rules;
mod smoke;
mod strangers;
mod transit;
mod vectors;
