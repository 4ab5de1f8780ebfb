//! The parameters of an id, behind `?`: `also=ADDRESS`, `query=QUERY` and `key=HEX`, with `&` between them.

use super::percent;
use crate::transport::address::{Address, FORMS};
use isoform_channel_proto::Query;

/// What is expected instead of more addresses.
pub(super) const MOST: &str = "at most 8 addresses by also=ADDRESS";

/// What parameters say.
#[derive(Default)]
pub(super) struct Parameters {
    pub(super) also: Vec<Address>,
    /// In its normal form.
    pub(super) query: Option<String>,
    pub(super) key: Option<[u8; 32]>,
}

impl Parameters {
    /// Parses them; or says what was expected, without what was found, which could be a key.
    pub(super) fn of(text: Option<&str>) -> Result<Parameters, String> {
        let mut parameters = Parameters::default();
        for parameter in text.into_iter().flat_map(|text| text.split('&')) {
            let (name, value) =
                parameter.split_once('=').ok_or("a parameter behind ? and each &, such as also=tcp:HOST:PORT")?;
            parameters.add(name, &percent::decode(value)?)?;
        }
        Ok(parameters)
    }

    fn add(&mut self, name: &str, value: &str) -> Result<(), String> {
        match name {
            "also" => {
                let known = FORMS.iter().find_map(|form| Some((form.parse, value.strip_prefix(form.prefix)?)));
                let (parse, rest) = known.ok_or("also=tcp:HOST:PORT or also=unix:PATH")?;
                self.also.push(parse(rest).map_err(|expected| format!("also=ADDRESS: {expected}"))?);
            }
            "query" if self.query.is_some() => return Err("one query".into()),
            "query" => {
                let query = Query::parse(value).map_err(|error| {
                    let column = error.position().map_or(1, |at| at.column);
                    format!("query=QUERY: {} at column {column}, and not {}", error.expectation(), error.actual())
                })?;
                self.query = Some(query.to_string());
            }
            "key" if self.key.is_some() => return Err("one key".into()),
            "key" => self.key = Some(key_of(value).ok_or("key=HEX: 64 hexadecimal digits")?),
            _ => return Err("no parameters but also=ADDRESS, query=QUERY and key=HEX".into()),
        }
        Ok(())
    }
}

/// Parses a key from 64 hexadecimal digits.
fn key_of(digits: &str) -> Option<[u8; 32]> {
    if digits.len() != 64 || !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        return None;
    }
    let mut key = [0; 32];
    for (byte, at) in key.iter_mut().zip((0..).step_by(2)) {
        *byte = u8::from_str_radix(&digits[at..at + 2], 16).ok()?;
    }
    Some(key)
}
