//! What is planned for a pair of formats, as text: a change in a plan shows here first.

use isoform_core::Shape;
use isoform_core::plan::{Faults, Plan, Rules, Step, Transform, Verdict, compare};
use isoform_core::{Code, Format, Value};
use std::sync::Arc;

fn format(shape: &str, layout: &str) -> Format {
    Shape::parse(shape).unwrap().on(&layout.parse().unwrap()).unwrap()
}

fn plan(wire: &Format, native: &Format, rules: &Rules) -> String {
    Plan::new(wire, native, rules, Faults::Error).unwrap().to_string().split_once('\n').unwrap().1.to_string()
}

fn refused(wire: &Format, native: &Format, rules: &Rules) -> (Code, String) {
    let error = Plan::new(wire, native, rules, Faults::Error).unwrap_err();
    (error.code(), error.path().to_string())
}

const K1: &str = "record K\n Cnstatv int\n Cstatev double[12]\n Cnprops int\n Cprops double[110]\n Cndi int[4]\n";

#[test]
fn equal_formats_need_one_move_and_no_engine() {
    let k = format(K1, "x86_64");
    assert_eq!(
        plan(&k, &k, &Rules::new()),
        "  direct: the record is used where it was received\n  move 0 <- 0 x1008\n"
    );
}

#[test]
fn another_byte_order_swaps_arrays_and_permutes_scalars() {
    assert_eq!(
        plan(&format(K1, "s390x"), &format(K1, "x86_64"), &Rules::new()),
        "  swap 8 8 <- 8 x12\n  swap 8 112 <- 112 x110\n  permute 4 swap 0<-0 104<-104 992<-992 996<-996 1000<-1000 1004<-1004\n"
            .replace("swap 8 8 <- 8", "swap 8 <- 8 8")
            .replace("swap 8 112 <- 112", "swap 112 <- 112 8")
    );
}

#[test]
fn what_the_sender_appended_costs_nothing() {
    let (old, new) = ("record R\n a int\n b double\n", "record R\n a int\n b double\n c double[3]\n");
    assert_eq!(
        plan(&format(new, "x86_64"), &format(old, "x86_64"), &Rules::new()),
        "  direct: the record is used where it was received\n  move 0 <- 0 x16\n"
    );
}

#[test]
fn an_unexpected_field_in_front_moves_the_rest_in_one_run() {
    let wire = format("record R\n z double\n a int\n b double\n", "x86_64");
    assert_eq!(plan(&wire, &format("record R\n a int\n b double\n", "x86_64"), &Rules::new()), "  move 0 <- 8 x16\n");
}

#[test]
fn dropped_fields_are_never_copied() {
    let wire = format("record R\n a i32\n secret i32\n b f64\n", "x86_64");
    let native = format("record R\n a i32\n b f64\n", "x86_64");
    // `secret` lies where the native record has a gap, so the record could not be used in place without showing it;
    // still it is in place, as every native field is where it must be.
    assert_eq!(
        plan(&wire, &native, &Rules::new()),
        "  direct: the record is used where it was received\n  move 0 <- 0 x4\n  move 8 <- 8 x8\n"
    );
}

#[test]
fn widening_defaults_and_zeros() {
    let wire = format("record R\n n int\n t float\n", "powerpc");
    let native = format("record R\n n i64\n t double\n p float\n q int[3]\n", "x86_64");
    let rules = Rules::new().default("R", "p", Value::Float(1.5)).default_zero("R", "q");
    assert_eq!(
        plan(&wire, &native, &rules),
        "  convert 0 <- 0 integer(4) big -> integer(8)  # n\n  convert 8 <- 4 float(4) big -> float(8)  # t\n  \
         fill 16 0000c03f\n  zero 20 x12\n"
    );
}

#[test]
fn arrays_behind_pointers_and_their_lengths() {
    let shape = "record P\n x double\n y double\nrecord R\n n int\n p P[n]\n name string\n";
    assert_eq!(
        plan(&format(shape, "powerpc"), &format(shape, "x86_64"), &Rules::new()),
        "  array *8 <- *4 [n4@0 <- n4@0] swap 8*2  # p\n  string 16 <- 8  # name\n"
    );
    assert!(plan(&format(shape, "x86_64"), &format(shape, "x86_64"), &Rules::new()).starts_with("  direct"));
}

#[test]
fn arrays_of_structures_have_steps_of_their_own() {
    let shape = "record P\n a short\n b double\n c int\nrecord R\n p P[10]\n";
    assert_eq!(
        plan(&format(shape, "s390x"), &format(shape, "x86_64"), &Rules::new()),
        "  each 0 <- 0 24<-24 x10  # p\n    permute 2 swap 0<-0\n    permute 4 swap 16<-16\n    permute 8 swap 8<-8\n"
    );
}

#[test]
fn aliases_reach_into_nested_structures() {
    let wire = format("record V\n x double\n y double\nrecord R\n pos V\n temp int\n", "x86_64");
    let native = format("record R\n y double\n temperature int\n", "x86_64");
    let rules = Rules::new().alias("R", "y", "pos.y").alias("R", "temperature", "temp");
    assert_eq!(plan(&wire, &native, &rules), "  move 0 <- 8 x12\n");
}

#[test]
fn enumerations_match_by_symbol() {
    let wire = format("record R\n p enumeration{solid=0,liquid=1,plasma=7}\n", "x86_64");
    let native = format("record R\n p enumeration{liquid=0,solid=1}\n", "x86_64");
    assert_eq!(
        plan(&wire, &native, &Rules::new()),
        "  symbols 0 <- 0 integer(4) little -> integer(4) solid:0->1 liquid:1->0 plasma:7->?  # p\n"
    );
    let rules = Rules::new().default("R", "p", Value::Symbol("solid".into()));
    assert!(plan(&wire, &native, &rules).contains("plasma:7->1"));
    let strangers = format("record R\n p enumeration{red=0}\n", "x86_64");
    assert_eq!(refused(&wire, &strangers, &Rules::new()), (Code::NoConversion, "p".into()));
}

#[test]
fn what_can_never_work_is_refused_at_its_field() {
    let wire = format("record V\n x double\nrecord R\n v V\n s string\n u double unit=\"m\"\n a int[4]\n", "x86_64");
    let none = Rules::new();
    let cases = [
        ("record V\n x string\nrecord R\n v V\n", Code::NoConversion, "v.x"),
        ("record R\n s double\n", Code::NoConversion, "s"),
        ("record R\n u double unit=\"ft\"\n", Code::Unit, "u"),
        ("record R\n a int[3]\n", Code::TooLong, "a"),
        ("record R\n a int[2][2]\n", Code::Shape, "a"),
        ("record R\n a int[4]\n e enumeration{one=1}\n", Code::Required, "e"),
    ];
    for (native, code, path) in cases {
        assert_eq!(refused(&wire, &format(native, "x86_64"), &none), (code, path.into()), "{native}");
    }
    let required = Rules::new().required("R", "w");
    assert_eq!(
        refused(&wire, &format("record R\n a int[4]\n w double\n", "x86_64"), &required),
        (Code::Required, "w".into())
    );
}

#[test]
fn arrays_that_share_a_length_come_together_or_not_at_all() {
    let wire = format("record R\n n int\n a double[n]\n", "x86_64");
    let native = format("record R\n n int\n a double[n]\n b double[n]\n", "x86_64");
    assert_eq!(refused(&wire, &native, &Rules::new()), (Code::Lengths, "n".into()));
    let wire = format("record R\n i int\n j int\n a double[i]\n b double[j]\n", "x86_64");
    assert!(plan(&wire, &native, &Rules::new()).contains("[n4@0 <- n4@4 agree]"));
}

#[test]
fn verdicts_use_the_words_of_schema_registries() {
    let verdict = |wire: &str, native: &str| {
        compare(&format(wire, "x86_64"), &format(native, "x86_64"), &Rules::new(), Faults::Error)
    };
    let (a, ab) = ("record R\n a int\n", "record R\n a int\n b int\n");
    assert_eq!(verdict(a, a), Verdict::Identical);
    assert_eq!(verdict(ab, a), Verdict::NoCopy);
    assert!(matches!(verdict(a, ab), Verdict::Forward(_)), "{:?}", verdict(a, ab));
    assert_eq!(verdict("record R\n a int\n", "record R\n a i64\n p i8*\n"), Verdict::Full);
    assert!(matches!(verdict("record R\n a int[2]\n", "record R\n a int[3]\n"), Verdict::Incompatible(..)));
    assert!(matches!(verdict("record R\n a int[3]\n", "record R\n a int[2]\n"), Verdict::Incompatible(..)));
    assert!(matches!(verdict(a, "record R\n a string\n"), Verdict::Incompatible(..)));
}

/// 64 KiB can describe thousands of fields of one enumeration of thousands of symbols: what is found out about it must be
/// found, and kept, once.
#[test]
fn enumerations_that_are_nested_often_are_planned_once() {
    let shape = |symbols: &str| {
        let fields: String = (0..1000).map(|i| format!(" f{i} E\n")).collect();
        format!("record E\n e enumeration{{{symbols}}}\nrecord R\n{fields}")
    };
    let many: Vec<String> = (0..3000).map(|i| format!("s{i}={}", 2 * i)).collect();
    let wire = format(&shape(&many.join(",")), "s390x");
    let wire = Format::parse(wire.description().as_bytes()).unwrap();
    let plan = Plan::new(&wire, &format(&shape("s7=1,s3=2"), "x86_64"), &Rules::new(), Faults::Error).unwrap();
    let maps: Vec<_> = (plan.steps().iter())
        .map(|step| match step {
            Step::Elements { transform: Transform::Symbols(symbols), .. } => symbols,
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(maps.len(), 1000);
    assert!(maps.iter().all(|map| Arc::ptr_eq(map, maps[0])));
}

#[test]
fn what_an_alias_reaches_into_is_not_ignored() {
    let wire = format("record V\n x i32\n y i32\nrecord R\n v V\n y i32\n n i32\n a i8[n]\n", "x86_64");
    let native = format("record R\n u i32\n", "x86_64");
    let rules = Rules::new().alias("R", "u", "v.y");
    let (_, reports) = Plan::explained(&wire, &native, &rules, Faults::Error).unwrap();
    let reports: Vec<String> = reports.iter().map(|report| format!("{}: {}", report.path, report.action)).collect();
    assert_eq!(reports, ["u: as it is", "y: ignored", "a: ignored"]);
}

#[test]
fn only_gaps_are_copied_along_with_fields() {
    // `s` goes elsewhere, and does not belong into the gap before `b`.
    let wire = format("record R\n a i32\n s i32\n b i64\n", "x86_64");
    let native = format("record R\n t i32\n s i32\n a i32\n b i64\n", "x86_64");
    let rules = Rules::new().default_zero("R", "t");
    assert_eq!(plan(&wire, &native, &rules), "  permute 4 4<-4 8<-0\n  permute 8 16<-8\n  zero 0 x4\n");
}

#[test]
fn another_kind_of_record_is_refused() {
    let wire = format("record Other\n x int\n", "x86_64");
    let native = format("record R\n a int\n b int\n", "x86_64");
    let rules = Rules::new().default("R", "a", Value::Integer(1)).default_zero("R", "b");
    assert_eq!(refused(&wire, &native, &rules), (Code::NoConversion, "R".into()));
    let aliased = Rules::new().alias("R", "a", "x").default_zero("R", "b");
    assert!(Plan::new(&wire, &native, &aliased, Faults::Error).is_ok());
}

#[test]
fn the_cost_of_steps_is_measured_by_the_clock_of_the_caller() {
    use isoform_core::plan::Explanation;
    use std::time::Duration;
    // Five levels of arrays, so that the record would have 16^5 numbers.
    let deep = "record A\n  n int\n  x float[n]\nrecord B\n  n int\n  a A[n]\nrecord C\n  n int\n  b B[n]\n\
                record D\n  n int\n  c C[n]\nrecord E\n  n int\n  d D[n]\n  text string\n";
    let (sent, wanted) = (format(deep, "powerpc"), format(deep, "x86_64"));
    let explained = Explanation::new(&sent, &wanted, &Rules::new(), Faults::Error);
    assert!(explained.times().is_none());
    let mut now = Duration::ZERO;
    let mut clock = || {
        now += Duration::from_micros(64);
        now
    };
    let mut runs = 0;
    let mut other = |body: isoform_core::Body<'_>| {
        assert_eq!(body.format(), &sent);
        runs += 1;
        Ok(())
    };
    let explained = explained.timed(&mut clock, Some(&mut other));
    assert!(runs > 1);
    let times = explained.times().unwrap().unwrap();
    // Each measurement is of one run, which takes as long as one without steps.
    assert_eq!((times.elements, times.verification, times.generated), (8, 64_000.0, Some(64_000.0)));
    assert_eq!((times.interpreted, times.others), (0.0, 0));
    assert!(times.steps.iter().all(|step| step.nanoseconds == 0.0 && step.bytes > 0));
    let within: usize = times.steps.iter().map(|step| step.bytes).sum();
    assert!(within >= times.native - 16 && times.native > 8 * 8 * 8 * 8 * 8 * 4);
    let rows: Vec<[String; 3]> = explained.time_rows().collect();
    assert_eq!(rows.len(), times.steps.len() + 3);
    assert_eq!(rows[rows.len() - 3][1..], ["64000.0", "verification"]);
}

#[test]
fn an_alias_is_named_where_one_side_nests_what_the_other_does_not() {
    let flat = format("record Flat\n  lat double\n  lon double\n  step int\n", "x86_64");
    let nested = "record Place\n  lat double\n  lon double\nrecord Outer\n  at Place\n";
    let nested = format(&format!("{nested}record Nested\n  step int\n  in Outer\n"), "powerpc");
    let place = "record Place\n  lat double\n  lon double\nrecord Two\n  step int\n  at Place\n";
    let two = format(place, "powerpc");
    let expected = |wire: &Format, native: &Format, rules: &Rules| {
        Plan::new(wire, native, rules, Faults::Error).unwrap_err().to_string()
    };
    let none = Rules::new();
    assert!(
        expected(&nested, &flat, &none).contains("; or the alias \"in.at.lat\" of lat, \"in.at.lon\" of lon, found ")
    );
    assert!(expected(&flat, &two, &none).contains("; or the alias \".\" of at, found "));
    // They work.
    let rules = Rules::new().alias("Flat", "lat", "in.at.lat").alias("Flat", "lon", "in.at.lon");
    assert!(Plan::new(&nested, &flat, &rules, Faults::Error).is_ok());
    assert!(Plan::new(&flat, &two, &Rules::new().alias("Two", "at", "."), Faults::Error).is_ok());
    // Aliases do not reach into arrays, and there is none for what is nowhere.
    let many = format("record Place\n  lat double\nrecord Many\n  step int\n  at Place[2]\n", "powerpc");
    assert!(!expected(&many, &flat, &none).contains("alias") && !expected(&two, &two_of(), &none).contains("alias"));
}

fn two_of() -> Format {
    format("record Other\n  step int\n  tide double\n", "x86_64")
}
