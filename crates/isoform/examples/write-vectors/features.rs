//! The records of the vectors: what they are declared as, and the values that every reader must find in them.
//!
//! Values are written here, as JSON in the manner of `spec/text.md`, and not taken from any library's output.

use isoform::core::{Shape, value};
use isoform::stream::Writer;
use isoform::text::json;
use isoform::{Code, Error, Result};
use serde_json::{Value, json};

/// The layouts in which every feature is written.
pub(crate) const LAYOUTS: [&str; 12] = [
    "x86_64",
    "i386",
    "windows-x64",
    "armv7",
    "aarch64",
    "riscv64",
    "powerpc",
    "powerpc64",
    "s390x",
    "sparc64",
    "mips",
    "sparc",
];

/// Records of one or more formats, put into one stream in this order.
pub(crate) struct Feature {
    pub(crate) name: &'static str,
    /// Each a shape, and records of it.
    pub(crate) parts: &'static [(&'static str, &'static [&'static str])],
}

impl Feature {
    /// The stream that a machine of this layout writes, and what is in it.
    pub(crate) fn on(&self, layout: &str) -> Result<(Vec<u8>, Value)> {
        let layout = layout.parse()?;
        let mut writer = Writer::new(Vec::new());
        let (mut formats, mut messages) = (Vec::new(), Vec::new());
        for (shape, records) in self.parts {
            let format = Shape::parse(shape)?.on(&layout)?;
            formats.push(crate::format_json(&format));
            for record in *records {
                let value = json::parse_partial(&format, record)?;
                writer.write_body(&format, &value::body(&format, &value)?)?;
                let expected: Value =
                    serde_json::from_str(record).map_err(|error| Error::new(Code::Text).found(error))?;
                messages.push(json!({ "token": format.token().to_string(), "record": expected }));
            }
        }
        Ok((writer.into_inner(), json!({ "formats": formats, "messages": messages })))
    }
}

pub(crate) const FEATURES: &[Feature] = &[
    Feature {
        name: "scalars",
        parts: &[(SCALARS, &[ORDINARY_SCALARS, LARGE_SCALARS, SMALL_SCALARS, SPECIAL_SCALARS])],
    },
    Feature { name: "strings", parts: &[(STRINGS, &[SOME_STRINGS, NO_STRINGS])] },
    Feature { name: "arrays", parts: &[(ARRAYS, &[SOME_ARRAYS, EMPTY_ARRAYS, LENGTHS_ONLY])] },
    Feature { name: "nested", parts: &[(NESTED, &[FLEET, NO_FLEET])] },
    Feature { name: "enumerations", parts: &[(ENUMERATIONS, &[FIRST_SYMBOLS, LAST_SYMBOLS])] },
    Feature { name: "wide", parts: &[(WIDE, &[WIDE_NUMBERS, EXTREME_NUMBERS])] },
    Feature { name: "pointers", parts: &[(POINTERS, &[ALL_POINTERS, SOME_POINTERS, NULL_POINTERS])] },
    Feature { name: "packed", parts: &[(PACKED, &[PACKED_RECORD])] },
    Feature {
        name: "evolve",
        parts: &[(SAMPLE_1, &[FIRST_SAMPLE]), (SAMPLE_2, &[SECOND_SAMPLE]), (SAMPLE_3, &[THIRD_SAMPLE])],
    },
];

const SCALARS: &str = r#"
record Scalars
  tiny    signed char
  byte    unsigned char
  small   short
  usmall  unsigned short
  plain   int
  uplain  unsigned int
  far     long
  ufar    unsigned long
  large   long long
  ularge  unsigned long long
  size    size_t
  single  float
  real    double             unit="m/s"
  letter  char
  yes     boolean
  yes4    boolean(4)
  last    signed char
"#;
pub(crate) const ORDINARY_SCALARS: &str = r#"{
  "tiny": -1, "byte": 2, "small": -300, "usmall": 40000, "plain": -70000, "uplain": 3000000000, "far": -5, "ufar": 6,
  "large": -5000000000, "ularge": 10000000000000000000, "size": 4096, "single": 0.1, "real": 0.1, "letter": "x",
  "yes": true, "yes4": false, "last": 127
}"#;
pub(crate) const LARGE_SCALARS: &str = r#"{
  "tiny": 127, "byte": 255, "small": 32767, "usmall": 65535, "plain": 2147483647, "uplain": 4294967295,
  "far": 2147483647, "ufar": 4294967295, "large": 9223372036854775807, "ularge": 18446744073709551615,
  "size": 4294967295, "single": 3.4028235e38, "real": 1.7976931348623157e308, "letter": "~", "yes": true, "yes4": true,
  "last": 1
}"#;
pub(crate) const SMALL_SCALARS: &str = r#"{
  "tiny": -128, "byte": 0, "small": -32768, "usmall": 0, "plain": -2147483648, "uplain": 0, "far": -2147483648,
  "ufar": 0, "large": -9223372036854775808, "ularge": 0, "size": 0, "single": 1e-45, "real": 5e-324, "letter": " ",
  "yes": false, "yes4": false, "last": -1
}"#;
pub(crate) const SPECIAL_SCALARS: &str = r#"{
  "tiny": 0, "byte": 128, "small": 256, "usmall": 1, "plain": 16777216, "uplain": 65536, "far": 1, "ufar": 2147483648,
  "large": 1, "ularge": 9223372036854775808, "size": 1, "single": "Infinity", "real": "NaN", "letter": "0", "yes": true,
  "yes4": false, "last": -2
}"#;

const STRINGS: &str = r#"
record Strings
  name   string
  n      short
  empty  string
  none   string
  bytes  string
  pair   string[2]
  list   string[n]
  code   char[8]
  full   char[4]
  m      unsigned char
  text   char[m]
"#;
pub(crate) const SOME_STRINGS: &str = r#"{
  "name": "Isoform", "n": 3, "empty": "", "none": null, "bytes": {"base64": "gP/+AQ=="}, "pair": ["exactly 15 here", "16 bytes long ok"],
  "list": ["Zürich", null, "東京"], "code": "LSZH", "full": "ABCD", "m": 5, "text": "hello"
}"#;
pub(crate) const NO_STRINGS: &str = r#"{
  "name": null, "n": 0, "empty": "", "none": null, "bytes": null, "pair": [null, "only one"], "list": [], "code": "",
  "full": "A", "m": 0, "text": ""
}"#;

const ARRAYS: &str = r#"
record Arrays
  nx       int
  ny       unsigned short
  fixed    double[3]
  matrix   float[2][3]
  line     float[nx]
  grid     double[nx][ny]
  slab     short[nx][2][ny]
  flags    boolean[nx]
  one      int[1]
  spare    long long
  columns  unsigned char[3][ny]
  ids      unsigned long[nx]
"#;
const SOME_ARRAYS: &str = r#"{
  "nx": 3, "ny": 2, "fixed": [1.5, -2.25, 1e100], "matrix": [[1.0, 2.0, 3.0], [4.0, 5.0, 6.5]], "line": [0.1, 0.2, 0.3],
  "grid": [[1.0, 2.0], [3.0, 4.0], [5.0, -0.0]],
  "slab": [[[1, 2], [3, 4]], [[5, 6], [7, 8]], [[9, 10], [11, -12]]],
  "flags": [true, false, true], "one": [7], "spare": -1, "columns": [[1, 2], [3, 4], [5, 255]],
  "ids": [1, 2, 4000000000]
}"#;
const EMPTY_ARRAYS: &str = r#"{
  "nx": 0, "ny": 0, "fixed": [0.0, 0.0, 0.0], "matrix": [[0.0, 0.0, 0.0], [0.0, 0.0, 0.0]], "line": [], "grid": [],
  "slab": [], "flags": [], "one": [0], "spare": 0, "columns": [], "ids": []
}"#;
/// Only some dimensions are 0: arrays of both have no elements, and are empty as a whole.
const LENGTHS_ONLY: &str = r#"{
  "nx": 0, "ny": 2, "fixed": [1.0, 2.0, 3.0], "matrix": [[0.5, 0.5, 0.5], [0.5, 0.5, 0.5]], "line": [], "grid": [],
  "slab": [], "flags": [], "one": [1], "spare": 1, "columns": [[1, 2], [3, 4], [5, 6]], "ids": []
}"#;

const NESTED: &str = r#"
record Point
  x    double  unit="m"
  y    double  unit="m"
  tag  char
record Track
  name    string
  n       signed char
  points  Point[n]
  home    Point
  pair    Point[2]
  notes   string[n]
record Fleet
  title   string
  count   unsigned int
  lead    Track
  tracks  Track[count]
  end     short
"#;
const FLEET: &str = r#"{
  "title": "two ships", "count": 2,
  "lead": {
    "name": "Vega", "n": 1, "points": [{"x": 1.0, "y": 2.0, "tag": "a"}], "home": {"x": -1.0, "y": -2.0, "tag": "b"},
    "pair": [{"x": 0.5, "y": 0.25, "tag": "c"}, {"x": 0.125, "y": 0.0, "tag": "d"}], "notes": ["first"]
  },
  "tracks": [
    {
      "name": "Altair", "n": 2,
      "points": [{"x": 10.0, "y": 20.0, "tag": "e"}, {"x": 30.0, "y": 40.0, "tag": "f"}],
      "home": {"x": 5.0, "y": 6.0, "tag": "g"},
      "pair": [{"x": 7.0, "y": 8.0, "tag": "h"}, {"x": 9.0, "y": 10.0, "tag": "i"}], "notes": [null, "second of Altair"]
    },
    {
      "name": null, "n": 0, "points": [], "home": {"x": 0.0, "y": 0.0, "tag": "j"},
      "pair": [{"x": 0.0, "y": 0.0, "tag": "k"}, {"x": 0.0, "y": 0.0, "tag": "l"}], "notes": []
    }
  ],
  "end": -7
}"#;
const NO_FLEET: &str = r#"{
  "title": null, "count": 0,
  "lead": {
    "name": null, "n": 0, "points": [], "home": {"x": 0.0, "y": 0.0, "tag": "-"},
    "pair": [{"x": 0.0, "y": 0.0, "tag": "-"}, {"x": 0.0, "y": 0.0, "tag": "-"}], "notes": []
  },
  "tracks": [], "end": 0
}"#;

const ENUMERATIONS: &str = r#"
record Enumerations
  color  enumeration{red=0,green=1,blue=2}
  sign   enumeration(1){minus=-1,zero=0,plus=1}
  mask   unsigned enumeration(2){none=0,all=65535}
  wide   enumeration(8){lowest=-9223372036854775808,highest=9223372036854775807}
  uwide  unsigned enumeration(8){low=3,high=18446744073709551615}
  n      int
  path   enumeration{north=10,east=20,south=30,west=40}[n]
  pair   enumeration(1){off=0,on=1}[2]
"#;
pub(crate) const FIRST_SYMBOLS: &str = r#"{
  "color": "red", "sign": "minus", "mask": "none", "wide": "lowest", "uwide": "low", "n": 3,
  "path": ["north", "west", "east"], "pair": ["off", "on"]
}"#;
pub(crate) const LAST_SYMBOLS: &str = r#"{
  "color": "blue", "sign": "plus", "mask": "all", "wide": "highest", "uwide": "high", "n": 0, "path": [],
  "pair": ["on", "on"]
}"#;

const WIDE: &str = r#"
record Wide
  flag   char
  big    i128
  ubig   u128
  half   f16
  brain  bf16
  quad   f128
  ext    x87(16)
  ext12  x87(12)
  ext10  x87(10)
  twin   double-double(16)
  long   long double
  z      complex float
  w      complex double
  q      complex f128
  n      int
  name   string
  bigs   i128[n]
  halfs  f16[n]
  quads  f128[n]
  zs     complex float[n]
  ws     complex double[n]
"#;
const WIDE_NUMBERS: &str = r#"{
  "flag": "w", "big": "-170141183460469231731687303715884105728", "ubig": "340282366920938463463374607431768211455",
  "half": 0.1, "brain": 0.1, "quad": 0.1, "ext": 0.1, "ext12": -0.1, "ext10": 1.5, "twin": 0.5, "long": -2.75,
  "z": [1.5, -0.1], "w": [0.1, 1e300], "q": [0.1, -2.5], "n": 2, "name": "odd", "bigs": ["1", "-2"],
  "halfs": [65500.0, 6e-8], "quads": [1e4000, -1.0], "zs": [[1.0, 2.0], [3.0, 4.0]], "ws": [[5.0, 6.0], [7.0, 8.0]]
}"#;
const EXTREME_NUMBERS: &str = r#"{
  "flag": "e", "big": "170141183460469231731687303715884105727", "ubig": "0", "half": "Infinity", "brain": "-Infinity",
  "quad": "NaN", "ext": "Infinity", "ext12": "-Infinity", "ext10": "NaN", "twin": -0.0, "long": 0.0,
  "z": ["NaN", "Infinity"], "w": [-0.0, 0.0], "q": [0.0, -0.0], "n": 0, "name": null, "bigs": [], "halfs": [],
  "quads": [], "zs": [], "ws": []
}"#;

const POINTERS: &str = r#"
record Leaf
  k     short
  name  string
record Pair
  left   Leaf*
  right  Leaf*
record Pointers
  leaf    Leaf*
  number  double*
  three   float[3]*
  text    string*
  texts   string[2]*
  pair    Pair*
  pairs   Pair[2]
  big     i128*
  n       int
  list    Pair[n]
  tail    int*
"#;
pub(crate) const ALL_POINTERS: &str = r#"{
  "leaf": {"k": 1, "name": "one"}, "number": 2.5, "three": [1.0, 2.0, 3.0], "text": "pointed at twice",
  "texts": ["a", null], "pair": {"left": {"k": 2, "name": "two"}, "right": {"k": 3, "name": null}},
  "pairs": [{"left": {"k": 4, "name": "four"}, "right": null}, {"left": null, "right": {"k": 5, "name": ""}}],
  "big": "-1", "n": 2,
  "list": [
    {"left": {"k": 6, "name": "six"}, "right": {"k": 7, "name": "seven"}},
    {"left": {"k": 8, "name": null}, "right": {"k": 9, "name": "nine"}}
  ],
  "tail": 10
}"#;
pub(crate) const SOME_POINTERS: &str = r#"{
  "leaf": null, "number": -0.5, "three": null, "text": null, "texts": [null, null], "pair": {"left": null, "right": null},
  "pairs": [{"left": null, "right": null}, {"left": {"k": -1, "name": "x"}, "right": null}], "big": null, "n": 1,
  "list": [{"left": null, "right": null}], "tail": null
}"#;
pub(crate) const NULL_POINTERS: &str = r#"{
  "leaf": null, "number": null, "three": null, "text": null, "texts": null, "pair": null,
  "pairs": [{"left": null, "right": null}, {"left": null, "right": null}], "big": null, "n": 0, "list": [], "tail": null
}"#;

const PACKED: &str = r#"
packed record Packed
  a     char
  real  double
  b     unsigned char
  n     int
  c     boolean
  list  long long[n]
  name  string
  big   u128
  d     short
"#;
const PACKED_RECORD: &str = r#"{
  "a": "p", "real": 1e-3, "b": 9, "n": 2, "c": true, "list": [-1, 9007199254740993], "name": "unaligned",
  "big": "18446744073709551616", "d": -2
}"#;

pub(crate) const SAMPLE_1: &str = r#"
record Sample
  step   int
  temp   float  unit="K"
  state  enumeration{cold=0,hot=1}
"#;
pub(crate) const FIRST_SAMPLE: &str = r#"{"step": 1, "temp": 273.15, "state": "cold"}"#;
pub(crate) const SAMPLE_2: &str = r#"
record Sample
  station  string
  step     long long
  temp     double  unit="K"
  state    enumeration{frozen=0,cold=1,hot=2}
  flow     float[4]
"#;
pub(crate) const SECOND_SAMPLE: &str =
    r#"{"station": "Aare", "step": 5000000000, "temp": 280.25, "state": "hot", "flow": [1.0, 2.0, 3.0, 4.5]}"#;
const SAMPLE_3: &str = r#"
record Position
  lat  double
  lon  double
record Sample
  where  Position
  step   unsigned short
  n      int
  flow   double[n]
"#;
pub(crate) const THIRD_SAMPLE: &str =
    r#"{"where": {"lat": 46.5, "lon": 7.5}, "step": 65535, "n": 3, "flow": [0.1, 0.2, 0.3]}"#;
