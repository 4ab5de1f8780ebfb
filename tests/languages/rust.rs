//! The program in Rust among those that `run.sh` compares: `write FILE [SERVERS]`,
//! `read FILE [SERVERS]`, `source [CERTIFICATE]`, `sink ID [CERTIFICATE]`.
#![allow(clippy::print_stdout, reason = "it is a program")]

#[cfg(unix)]
mod program {
    use isoform::stream::{Reader, Writer};
    use isoform::{Decoder, Encoder, Record, Slice, Str};
    use isoform_channel::{Event, Node};
    use isoform_service::Client;
    use std::error::Error;
    use std::fs::File;
    use std::time::Duration;

    const SAMPLES: i32 = 5;
    const SOON: Duration = Duration::from_secs(60);

    #[derive(Record, Clone, Copy)]
    #[repr(C)]
    struct Place {
        x: i32,
        y: f64,
    }

    #[derive(Record)]
    #[repr(C)]
    struct Sample<'a> {
        step: i32,
        station: Str<'a>,
        #[isoform(unit = "m")]
        depth: Slice<'a, f32>,
        place: Place,
        flags: [u8; 3],
    }

    /// What is wanted: another order, wider numbers, a field that nobody sends, and one that is not asked for.
    #[derive(Record)]
    #[repr(C)]
    struct Wider {
        y: f64,
        x: i64,
    }

    #[derive(Record)]
    #[repr(C)]
    struct Seen<'a> {
        #[isoform(default = 11.5)]
        temperature: f32,
        #[isoform(unit = "m", len = "count")]
        depth: Slice<'a, f64>,
        station: Str<'a>,
        place: Wider,
        step: i16,
    }

    /// Gives each sample to a function.
    fn each<E>(mut submit: impl FnMut(&Sample<'_>) -> Result<(), E>) -> Result<(), E> {
        for step in 0..SAMPLES {
            let depth: Vec<f32> = (0..step).map(|i| 0.25 * (i + step) as f32).collect();
            let (station, place) = (Str::new(c"Old Mill"), Place { x: 7, y: 0.125 });
            submit(&Sample { step, station, depth: Slice::from(&depth[..]), place, flags: [1, 2, 3] })?;
        }
        Ok(())
    }

    fn show(seen: &Seen<'_>) -> Result<(), Box<dyn Error>> {
        let depth: String = seen.depth.iter().map(|depth| format!(" {depth}")).collect();
        let Seen { step, station, place, temperature, .. } = seen;
        println!("{step} {}{depth} {} {} {temperature}", station.to_str()?, place.x, place.y);
        Ok(())
    }

    fn write(path: &str, servers: Option<&str>) -> Result<(), Box<dyn Error>> {
        let mut writer = Writer::new(File::create(path)?);
        if let Some(urls) = servers {
            let client = Client::new(urls)?;
            writer.set_registrar(move |format| client.put(format));
        }
        let mut encoder = Encoder::<Sample<'_>>::new();
        each(|sample| writer.write(&encoder.encode(sample)?).map(drop))?;
        Ok(writer.flush()?)
    }

    fn read(path: &str, servers: Option<&str>) -> Result<(), Box<dyn Error>> {
        let mut reader = Reader::new(File::open(path)?);
        if let Some(urls) = servers {
            reader.registry().set_resolver(Client::new(urls)?);
        }
        let mut decoder = Decoder::<Seen<'_>>::new();
        while let Some(message) = reader.next()? {
            show(decoder.decode(&message)?)?;
        }
        Ok(())
    }

    fn node(certificate: Option<&str>) -> Result<Node, Box<dyn Error>> {
        Ok(match certificate {
            Some(file) => Node::builder().identity(file).tls_on_loopback(true).build()?,
            None => Node::new()?,
        })
    }

    fn source(certificate: Option<&str>) -> Result<(), Box<dyn Error>> {
        let channel = node(certificate)?.create::<Sample<'_>>("samples")?;
        let mut source = channel.source::<Sample<'_>>()?;
        println!("{}", channel.id());
        source.wait_for_sinks(1, SOON)?;
        each(|sample| source.submit(sample).map(drop))?;
        match source.close(SOON)?.first() {
            Some(sink) if sink.ledger.acknowledged == SAMPLES as u64 => Ok(()),
            _ => Err("not all was taken".into()),
        }
    }

    fn sink(id: &str, certificate: Option<&str>) -> Result<(), Box<dyn Error>> {
        let mut sink = node(certificate)?.open(id)?.sink::<Seen<'_>>()?;
        loop {
            match sink.recv()? {
                Event::Record { record, .. } => show(record)?,
                Event::Left(..) => return Ok(()),
                _ => {}
            }
        }
    }

    pub(crate) fn main() -> Result<(), Box<dyn Error>> {
        let words: Vec<String> = std::env::args().skip(1).collect();
        match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
            ["write", path] => write(path, None),
            ["write", path, servers] => write(path, Some(servers)),
            ["read", path] => read(path, None),
            ["read", path, servers] => read(path, Some(servers)),
            ["source"] => source(None),
            ["source", certificate] => source(Some(certificate)),
            ["sink", id] => sink(id, None),
            ["sink", id, certificate] => sink(id, Some(certificate)),
            _ => Err("usage: rust write|read FILE [SERVERS] | source [CERTIFICATE] | sink ID [CERTIFICATE]".into()),
        }
    }
}

#[cfg(unix)]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    program::main()
}

#[cfg(not(unix))]
fn main() {}
