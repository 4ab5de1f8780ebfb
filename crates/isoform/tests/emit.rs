//! What `emit!` puts into records, and when. The outlet is that of the process, so one test at a time has it.

use isoform::emit::{self, Numbers, Outlet, Topic};
use isoform::{Array, Code, Error, Record, Result, Shared, Strided, text};
use std::cell::Cell;
use std::sync::{Arc, Mutex, MutexGuard};

static TURN: Mutex<()> = Mutex::new(());

/// Keeps what is emitted under the names that it listens to.
#[derive(Default)]
struct Kept {
    deaf: bool,
    refuses: bool,
    records: Mutex<Vec<(&'static str, Shared)>>,
}

impl Outlet for Kept {
    fn open(&self, _: &'static str, numbers: &Arc<Numbers>) {
        if !self.deaf {
            numbers.hear();
        }
    }

    fn take(&self, name: &'static str, record: Shared) -> Result<()> {
        if self.refuses {
            return Err(Error::new(Code::Closed));
        }
        self.records.lock().unwrap().push((name, record));
        Ok(())
    }
}

fn outlet(kept: Kept) -> (MutexGuard<'static, ()>, Arc<Kept>) {
    let turn = TURN.lock().unwrap_or_else(|turn| turn.into_inner());
    let kept = Arc::new(kept);
    emit::set_outlet(Some(kept.clone()));
    (turn, kept)
}

impl Kept {
    fn json(&self) -> Vec<String> {
        let records = self.records.lock().unwrap();
        let json = |record: &Shared| {
            let message = record.incoming().expect("one piece");
            text::json::line(message.view().unwrap())
        };
        records.iter().map(|(_, record)| json(record)).collect()
    }
}

#[derive(Record, Clone, Copy)]
#[repr(C)]
struct Point {
    x: f32,
    y: f64,
}

#[derive(Record)]
struct Station {
    name: String,
    depths: Vec<f64>,
}

#[test]
fn values_are_fields_of_their_types() {
    let (_turn, kept) = outlet(Kept::default());
    let (step, grid, name) = (7_i16, vec![0.5, 1.5], String::from("Kiel"));
    let (flag, point) = (true, Point { x: 1.0, y: 2.0 });
    let station = Station { name: "Old Mill".into(), depths: vec![3.0] };
    let matrix = [1_u8, 2, 3, 4, 5, 6];
    let column = Strided::new(&matrix, 1, [3], [2]).unwrap();
    isoform::emit!(
        "values",
        step,
        flag,
        depth in "m" = &grid,
        part = grid[1..],
        name,
        kind = "gauge",
        point,
        points = [point; 2],
        station = &station,
        table = Array::new(&matrix, [2, 3]).unwrap(),
        column,
        big = u128::MAX,
    );
    assert_eq!(
        kept.json(),
        [concat!(
            r#"{"step":7,"flag":true,"depth":[0.5,1.5],"depth_len":2,"part":[1.5],"part_len":1,"name":"Kiel","kind":"gauge","#,
            r#""point":{"x":1.0,"y":2.0},"points":[{"x":1.0,"y":2.0},{"x":1.0,"y":2.0}],"#,
            r#""station":{"name":"Old Mill","depths":[3.0],"depths_len":1},"#,
            r#""table":[[1,2,3],[4,5,6]],"table_dim0":2,"table_dim1":3,"column":[2,4,6],"column_len":3,"#,
            r#""big":"340282366920938463463374607431768211455"}"#
        )]
    );
    let records = kept.records.lock().unwrap();
    let (name, record) = &records[0];
    let fields = record.format().structure().fields();
    let unit = |name: &str| fields.iter().find(|field| &*field.name == name).and_then(|field| field.unit.clone());
    assert_eq!((*name, record.format().name()), ("values", "values"));
    assert_eq!((unit("depth").as_deref(), unit("part")), (Some("m"), None));
}

#[test]
fn nothing_is_evaluated_unless_somebody_listens() {
    let (_turn, kept) = outlet(Kept { deaf: true, ..Kept::default() });
    let count = Cell::new(0);
    let evaluated = || {
        count.set(count.get() + 1);
        count.get()
    };
    let place = || isoform::emit!("seldom", count = evaluated());
    place();
    assert_eq!((count.get(), kept.json()), (0, vec![]));
    let louder = Arc::new(Kept::default());
    emit::set_outlet(Some(louder.clone()));
    place();
    emit::set_outlet(None);
    place();
    assert_eq!((count.get(), louder.json()), (1, vec![r#"{"count":1}"#.to_string()]));
}

/// An outlet whose first listener comes, and is emitted to, while it starts.
struct Early {
    first: Mutex<Option<u64>>,
    kept: Kept,
}

fn early(step: i32) {
    isoform::emit!("early", step);
}

impl Outlet for Early {
    fn open(&self, name: &'static str, numbers: &Arc<Numbers>) {
        if name == "early" {
            *self.first.lock().unwrap() = Some(numbers.hear());
            early(7);
        }
    }

    fn take(&self, name: &'static str, record: Shared) -> Result<()> {
        self.kept.take(name, record)
    }
}

impl Early {
    fn start() -> Arc<Early> {
        let outlet = Arc::new(Early { first: Mutex::default(), kept: Kept::default() });
        emit::set_outlet(Some(outlet.clone()));
        outlet
    }

    /// The number of the first record that it has heard.
    fn first(&self) -> Option<u64> {
        *self.first.lock().unwrap()
    }
}

#[test]
fn records_from_before_an_outlet_are_numbered_and_none_is_lost_while_it_starts() {
    let _turn = TURN.lock().unwrap_or_else(|turn| turn.into_inner());
    emit::set_outlet(None);
    (0..3).for_each(early);
    let before = emit::failed();
    let outlet = Early::start();
    early(8);
    assert_eq!((outlet.first(), emit::failed()), (Some(3), before));
    assert_eq!(outlet.kept.json(), [r#"{"step":7}"#, r#"{"step":8}"#]);
    // Records of another outlet are no earlier ones of this one's.
    assert_eq!(Early::start().first(), Some(0));
    emit::set_outlet(None);
    (0..2).for_each(early);
    assert_eq!(Early::start().first(), Some(2));
    emit::set_outlet(None);
}

/// A generic function has one place for all of its types.
#[test]
fn one_place_may_have_values_of_several_types() {
    fn place<T: emit::Value>(value: T) {
        isoform::emit!("generic", value);
    }
    let (_turn, kept) = outlet(Kept::default());
    for _ in 0..2 {
        place(1_u8);
        place(0.5_f64);
        place(vec![1_i64, -2]);
    }
    let once = [r#"{"value":1}"#, r#"{"value":0.5}"#, r#"{"value":[1,-2],"value_len":2}"#];
    assert_eq!(kept.json(), once.into_iter().chain(once).collect::<Vec<_>>());
}

#[test]
fn what_cannot_be_emitted_is_counted() {
    let (_turn, kept) = outlet(Kept::default());
    let before = emit::failed();
    isoform::emit!("text", text = "with\0NUL");
    assert_eq!((kept.json(), emit::failed()), (vec![], before + 1));
    drop((_turn, kept));
    let (_turn, _kept) = outlet(Kept { refuses: true, ..Kept::default() });
    isoform::emit!("text", text = "without");
    assert_eq!(emit::failed(), before + 2);
}

/// Names of channels may have what those of records cannot.
#[test]
fn names_of_records_follow_from_those_of_channels() {
    let (_turn, kept) = outlet(Kept::default());
    let x = 1;
    isoform::emit!("river.step [1]", x);
    let records = kept.records.lock().unwrap();
    assert_eq!((records[0].0, records[0].1.format().name()), ("river.step [1]", "river/step__1_"));
}

/// Records of several threads at one place.
#[test]
fn records_of_many_threads_are_whole() {
    let (_turn, kept) = outlet(Kept::default());
    std::thread::scope(|scope| {
        for thread in 0..4_u32 {
            scope.spawn(move || (0..500_u32).for_each(|number| isoform::emit!("threads", thread, number)));
        }
    });
    let mut expected: Vec<_> = (0..4).flat_map(|thread| (0..500).map(move |number| (thread, number))).collect();
    let mut found: Vec<_> = (kept.records.lock().unwrap().iter())
        .map(|(_, record)| {
            let message = record.incoming().unwrap();
            let view = message.view().unwrap();
            (view.i64("thread").unwrap(), view.i64("number").unwrap())
        })
        .collect();
    let of = |thread| found.iter().filter(|(of, _)| *of == thread).map(|(_, number)| *number).collect::<Vec<_>>();
    assert!((0..4).all(|thread| of(thread).is_sorted()));
    found.sort_unstable();
    expected.sort_unstable();
    assert_eq!(found, expected);
    assert!(Topic::named("threads").is_heard());
}
