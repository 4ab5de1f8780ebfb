//! What this process knows of servers: the formats that they stored or answered. So a program that knows its formats can open another
//! reader or writer while no server runs. `client` asks here; `cache` is what later processes have.

use super::servers::shown;
use isoform_core::Token;
use std::collections::BTreeMap;
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

/// The most bytes that are kept, counting for each format its description and [`EACH`]. If more come, it begins anew.
const MOST: usize = 16 << 20;
/// What a format costs beside its description.
const EACH: usize = 128;

/// The memory of all clients of this process.
static OURS: LazyLock<Mutex<Memory>> = LazyLock::new(Mutex::default);

/// The descriptions that servers have, by the URLs of these servers, without user and password. Tools that look for leaks find the nodes of
/// these maps, and not those of hash tables.
#[derive(Default)]
struct Memory {
    servers: BTreeMap<String, BTreeMap<Token, Box<[u8]>>>,
    bytes: usize,
}

/// The description of a token, if one of these servers has it.
pub(super) fn recall(urls: &[Box<str>], token: Token) -> Option<Vec<u8>> {
    let memory = ours();
    urls.iter().find_map(|url| memory.get(url, token)).map(<[u8]>::to_vec)
}

/// Notes that the server at this URL has the format of a token.
pub(super) fn note(url: &str, token: Token, description: &[u8]) {
    ours().note(url, token, description);
}

fn ours() -> MutexGuard<'static, Memory> {
    OURS.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Memory {
    fn get(&self, url: &str, token: Token) -> Option<&[u8]> {
        self.servers.get(&shown(url))?.get(&token).map(|description| &**description)
    }

    fn note(&mut self, url: &str, token: Token, description: &[u8]) {
        if self.get(url, token).is_some() {
            return;
        }
        let bytes = description.len() + EACH;
        if self.bytes + bytes > MOST {
            *self = Memory::default();
        }
        self.bytes += bytes;
        self.servers.entry(shown(url)).or_default().insert(token, description.into());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_server_has_its_own_formats_and_nobody_has_them_without_bounds() {
        let (mut memory, token) = (Memory::default(), Token::from_bytes([7; 16]));
        memory.note("http://a", token, b"one");
        memory.note("http://a", token, b"one");
        assert_eq!((memory.get("http://a", token), memory.bytes), (Some(&b"one"[..]), 3 + EACH));
        assert_eq!(memory.get("http://b", token), None);
        memory.note("http://user:password@b", token, b"two");
        assert!(!memory.servers.keys().any(|url| url.contains("password")));
        for number in 0..MOST as u128 / 4096 * 3 {
            let token = Token::from_bytes(number.to_le_bytes());
            memory.note("http://c", token, &[1; 4096]);
            assert!(memory.bytes <= MOST && memory.get("http://c", token).is_some());
        }
    }
}
