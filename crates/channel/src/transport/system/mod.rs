//! What differs between Unix and Windows, behind the same functions: sockets that do not wait, a pair of ends to wake a thread by,
//! and which files are this user's alone. The rest of this crate names no system.
//!
//! | | Unix | Windows |
//! |---|---|---|
//! | bytes | calls that say whether they wait | a socket that never waits, and `WSAPoll` before it |
//! | waking a thread | a pipe | two sockets, connected over loopback, since `WSAPoll` knows sockets only |
//! | this user's files | by their owner and mode | by their place: the folder of the user's own data |

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
pub(crate) use unix::*;
#[cfg(windows)]
pub(crate) use windows::*;

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};

    #[test]
    fn what_is_written_at_one_end_comes_out_at_the_other_and_neither_waits() {
        let (mut reader, mut writer) = super::pipe().unwrap();
        assert_eq!(reader.read(&mut [0; 9]).unwrap_err().kind(), std::io::ErrorKind::WouldBlock);
        writer.write_all(b"x").unwrap();
        drop(writer);
        let mut came = Vec::new();
        while let Err(error) = reader.read_to_end(&mut came) {
            assert_eq!(error.kind(), std::io::ErrorKind::WouldBlock);
        }
        assert_eq!(came, b"x");
    }
}
