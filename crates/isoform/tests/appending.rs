//! Appending to streams that were cut or damaged (`spec/message.md`, "Appending").

use isoform::stream::{Appended, Reader, Writer};
use isoform::{Code, Decoder, Encoder, Record};
use std::fs;
use std::path::{Path, PathBuf};

#[derive(Record, Clone, Debug, PartialEq)]
struct Log {
    id: u64,
    bytes: Vec<u8>,
}

/// A folder for the time of a test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("isoform-appending-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    fn file(&self, bytes: &[u8]) -> PathBuf {
        let path = self.0.join("log.iso");
        fs::write(&path, bytes).unwrap();
        path
    }

    fn names(&self) -> Vec<String> {
        let mut names: Vec<String> =
            fs::read_dir(&self.0).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    fn take(&self, name: &str) -> Vec<u8> {
        let bytes = fs::read(self.0.join(name)).unwrap();
        fs::remove_file(self.0.join(name)).unwrap();
        bytes
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Three records, and where each begins, with its seal but without a description, and where the last one ends.
fn stream(is_sealed: bool) -> (Vec<u8>, Vec<usize>) {
    let mut writer = Writer::new(Vec::new());
    writer.set_sealed(is_sealed);
    writer.describe(Log::format()).unwrap();
    let mut begins = Vec::new();
    for id in 0..3 {
        begins.push(writer.inner().len());
        write(&mut writer, id);
    }
    begins.push(writer.inner().len());
    (writer.into_inner(), begins)
}

fn write(writer: &mut Writer<impl std::io::Write>, id: u64) {
    let log = Log { id, bytes: vec![id as u8 + 1; 5 * id as usize + 1] };
    writer.write(&Encoder::new().encode(&log).unwrap()).unwrap();
}

/// Appends the record 7.
fn append(path: &Path) -> Option<(u64, u64)> {
    let mut writer = Writer::append(path).unwrap();
    write(&mut writer, 7);
    writer.inner().healed().map(|healed| (healed.at, healed.bytes))
}

/// The numbers of the records, whether reading ended well, and the number of gaps.
fn read(path: &Path) -> (Vec<u64>, bool, usize) {
    let bytes = fs::read(path).unwrap();
    let (mut reader, mut decoder) = (Reader::new(&bytes[..]), Decoder::<Log>::new());
    let (mut ids, mut gaps) = (Vec::new(), 0);
    loop {
        match reader.next() {
            Ok(Some(message)) => ids.push(decoder.decode(&message).unwrap().id),
            Ok(None) => return (ids, true, gaps),
            Err(_) => match reader.resume().unwrap() {
                Some(_) => gaps += 1,
                None => return (ids, false, gaps),
            },
        }
    }
}

#[test]
fn a_stream_that_is_cut_anywhere_is_healed_and_goes_on() {
    for is_sealed in [false, true] {
        let folder = Folder::new(if is_sealed { "sealed" } else { "cut" });
        let (bytes, begins) = stream(is_sealed);
        for cut in 0..=bytes.len() {
            let path = folder.file(&bytes[..cut]);
            // A message is whole without its padding, too.
            let header = if is_sealed { 80 } else { 32 };
            let whole = (0..3).filter(|id| {
                let at = begins[*id] + header - 8;
                let length = bytes.get(at..at + 8).map_or(0, |it| u64::from_le_bytes(it.try_into().unwrap()) as usize);
                at + 8 + length <= cut
            });
            let whole: Vec<u64> = whole.map(|id| id as u64).collect();
            let healed = append(&path);
            assert_eq!(read(&path), ([&whole[..], &[7]].concat(), true, 0), "cut at byte {cut}");
            match healed {
                None => assert_eq!(folder.names(), ["log.iso"], "cut at byte {cut}"),
                Some((at, count)) => {
                    assert_eq!((at + count) as usize, cut);
                    assert_eq!(folder.take("log.iso.cut"), &bytes[at as usize..cut], "cut at byte {cut}");
                }
            }
        }
    }
}

#[test]
fn what_follows_the_last_message_and_is_none_is_kept_aside() {
    let folder = Folder::new("tail");
    let (bytes, _) = stream(false);
    // A file system may have reserved room that was never written.
    let path = folder.file(&[&bytes[..], &[0; 4096]].concat());
    assert_eq!(append(&path), Some((bytes.len() as u64, 4096)));
    assert_eq!(read(&path), (vec![0, 1, 2, 7], true, 0));
    // The next one has a name of its own.
    let length = fs::metadata(&path).unwrap().len();
    fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(length - 40).unwrap();
    append(&path).unwrap();
    assert_eq!(folder.names(), ["log.iso", "log.iso.cut", "log.iso.cut-2"]);
    assert_eq!(append(&path), None);
    assert_eq!(read(&path), (vec![0, 1, 2, 7, 7], true, 0));
}

#[test]
fn damage_within_a_sealed_stream_stays_where_it_is() {
    let folder = Folder::new("within");
    let (mut bytes, begins) = stream(true);
    bytes[begins[1] + 50] ^= 1;
    assert_eq!(append(&folder.file(&bytes)), None);
    assert_eq!(read(&folder.0.join("log.iso")), (vec![0, 2, 7], true, 1));
    // Nine bytes more between messages: multiples of 16 are counted from the next seal.
    let moved = [&bytes[..begins[2]], b"and so on", &bytes[begins[2]..]].concat();
    for cut in [0, 1, 30] {
        let path = folder.file(&moved[..moved.len() - cut]);
        let healed = append(&path);
        // If nothing can be read behind the damage, all of it goes aside.
        match cut {
            30 => assert_eq!((read(&path), healed.is_some()), ((vec![0, 7], true, 0), true)),
            _ => assert_eq!((read(&path), healed), ((vec![0, 2, 7], true, 1), None), "{cut}"),
        }
    }
    // A message that is cut, with others of the same writer behind it.
    let path = folder.file(&[&bytes[..begins[1]], &bytes[begins[2]..begins[2] + 70], &bytes[begins[2]..]].concat());
    assert_eq!(append(&path), None);
    assert_eq!(read(&path), (vec![0, 2, 7], true, 1));
}

#[test]
fn a_file_of_somebody_else_is_left_alone() {
    let folder = Folder::new("other");
    let (bytes, begins) = stream(false);
    let newer = |at: usize, to: u8| {
        let mut bytes = bytes.clone();
        bytes[at] = to;
        bytes
    };
    for (content, code) in [
        (b"river,depth\n1,0.5\n".to_vec(), Code::NotAMessage),
        (b"\x89MCAP0\r\n".to_vec(), Code::NotAMessage),
        (newer(begins[1] + 4, 2), Code::Version),
        (newer(begins[1] + 5, 1), Code::Flags),
    ] {
        let path = folder.file(&content);
        let error = Appended::open(&path).unwrap_err();
        assert_eq!((error.code(), error.path()), (code, &*path.display().to_string()), "{error}");
        assert_eq!((fs::read(&path).unwrap(), folder.names()), (content, vec!["log.iso".into()]));
    }
    assert_eq!(Appended::open(folder.0.join("no/such/file")).unwrap_err().code(), Code::Io);
}

#[test]
fn one_at_a_time_appends() {
    let folder = Folder::new("one");
    let path = folder.0.join("log.iso");
    let mut first = Writer::append(&path).unwrap();
    let error = Appended::open(&path).unwrap_err();
    assert!(error.code() == Code::Io && error.to_string().contains("nobody else"), "{error}");
    write(&mut first, 7);
    drop(first);
    assert_eq!(append(&path), None);
    assert_eq!(read(&path), (vec![7, 7], true, 0));
}
