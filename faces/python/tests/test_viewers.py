"""`isoform record --viewers`, read back by readers of ROS 2 messages that know nothing of Isoform."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import isoform
import pytest

mcap = pytest.importorskip("mcap.reader")
ros2 = pytest.importorskip("mcap_ros2.decoder")

SHAPE = """record Point
  x f32
  y f64
  n i8
record Mixed
  small i8
  wide u64
  huge i128
  hugest u128[2]
  wet bool
  half f16
  brain bf16
  single f32
  double f64 unit="m"
  quad f128
  ext long double
  wave complex f32
  waves complex f64[2]
  letter char
  code char[8]
  Station string
  state enumeration{dry=-1,flood=700}
  point Point
  points Point[2]
  fixed i16[3]
  n i32
  list f64[n]
  list_of Point[n]
  texts string[2]
  rows u8
  grid f32[rows][2]
  cube i16[2][1][2]
  pointer Point*
  last u8
"""

RECORD = {
    "small": -7,
    "wide": 2**64 - 1,
    "huge": -3,
    "hugest": [1, 2**127],
    "wet": True,
    "half": 0.5,
    "brain": 1.5,
    "single": 0.1,
    "double": 0.1,
    "quad": 0.25,
    "ext": -0.75,
    "wave": [1.5, -2.0],
    "waves": [[1.0, 2.0], [3.0, 4.0]],
    "letter": "k",
    "code": "KIEL",
    "Station": "Süd",
    "state": "flood",
    "point": {"x": 1.0, "y": 2.0, "n": 3},
    "points": [{"x": 4.0, "y": 5.0, "n": 6}, {"x": 7.0, "y": 8.0, "n": 9}],
    "fixed": [1, -2, 3],
    "n": 2,
    "list": [0.5, 1.5],
    "list_of": [{"x": 1.0, "y": 1.5, "n": 1}, {"x": 2.0, "y": 2.5, "n": 2}],
    "texts": ["a", ""],
    "rows": 3,
    "grid": [[1, 2], [3, 4], [5, 6]],
    "cube": [[[1, 2]], [[3, 4]]],
    "pointer": {"x": 0.5, "y": -0.5, "n": -1},
    "last": 255,
}


def plain(value: Any) -> Any:
    if hasattr(value, "__slots__") or hasattr(value, "__dict__"):
        names = getattr(value, "__slots__", None) or vars(value)
        return {name: plain(getattr(value, name)) for name in names}
    if isinstance(value, (list, tuple)) or hasattr(value, "tolist"):
        return [plain(item) for item in value]
    return value


@pytest.mark.parametrize("layout", ["x86_64", "i386", "s390x", "armv7", "powerpc64le"])
def test_every_type_is_read_back(tmp_path: Path, layout: str) -> None:
    target = os.environ.get("CARGO_TARGET_DIR") or Path(__file__).parents[3] / "target"
    program = Path(target).resolve() / "debug" / "isoform"
    if not program.exists() or subprocess.run([program, "help", "record"], capture_output=True).returncode:
        pytest.skip("the command is not built, or makes no recordings")
    shape = tmp_path / "mixed.shape"
    shape.write_text(SHAPE, encoding="utf-8")
    records = tmp_path / "mixed.json"
    empty = RECORD | {"n": 0, "list": [], "list_of": [], "rows": 0, "grid": [], "Station": None, "pointer": None, "small": 5}
    records.write_text(f"{json.dumps(RECORD)}\n{json.dumps(empty)}\n", encoding="utf-8")
    publisher = subprocess.Popen(
        [program, "pub", "mixed", "--lossless", "--shape", f"{shape}#Mixed@{layout}", records], stderr=subprocess.PIPE, text=True
    )
    assert publisher.stderr
    id = publisher.stderr.readline().removeprefix("-- ").strip()
    path = tmp_path / "run.mcap"
    subprocess.run([program, "record", "--viewers", "--once", "--lossless", id, "-o", path], check=True, capture_output=True)
    publisher.stderr.close()
    assert publisher.wait(60) == 0
    with path.open("rb") as file:
        reader = mcap.make_reader(file, validate_crcs=True, decoder_factories=[ros2.DecoderFactory()])
        found = [
            (schema, channel, plain(decoded))
            for schema, channel, _, decoded in reader.iter_decoded_messages(topics=["mixed/0/Mixed"])
        ]
    assert [(schema.name, channel.message_encoding) for schema, channel, _ in found] == [("isoform/msg/Mixed", "cdr")] * 2
    assert b"float64 double # m\n" in found[0][0].data
    expected = RECORD | {
        "huge": [-3, -1],
        "hugest": [1, 0, 0, 2**63],
        "single": pytest.approx(0.1),
        "wave": [1.5, -2.0],
        "waves": [1.0, 2.0, 3.0, 4.0],
        "letter": ord("k"),
        "state": 700,
        "grid": [1, 2, 3, 4, 5, 6],
        "grid_xs": [3, 2],
        "cube": [1, 2, 3, 4],
        "cube_xs": [2, 1, 2],
        "pointer": [RECORD["pointer"]],
        "x_x_x53tation": "Süd",
    }
    del expected["Station"]
    nothing = expected | {"n": 0, "list": [], "list_of": [], "rows": 0, "grid": [], "grid_xs": [0, 0], "x_x_x53tation": "", "pointer": [], "small": 5}
    assert [values for _, _, values in found] == [expected, nothing]
    # The recording is one as any other.
    dumped = subprocess.run([program, "dump", "--json", path], check=True, capture_output=True, text=True).stdout
    assert len(dumped.splitlines()) == 2
