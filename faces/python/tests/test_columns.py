"""Columns, for NumPy and for Arrow."""

from __future__ import annotations

import enum
import gc
import io
import sys
from dataclasses import dataclass
from typing import Any

import isoform
import numpy as np
import pytest

FOREIGN = ">" if sys.byteorder == "little" else "<"
WIRE = np.dtype(
    [
        ("i", f"{FOREIGN}i4"),
        ("u", f"{FOREIGN}u8"),
        ("h", f"{FOREIGN}f2"),
        ("x", f"{FOREIGN}f4"),
        ("t", "?"),
        ("s", "S6"),
        ("m", f"{FOREIGN}f8", (2, 3)),
        ("z", f"{FOREIGN}c16"),
    ]
)


def wire(count: int) -> np.ndarray[Any, np.dtype[Any]]:
    array = np.zeros(count, WIRE)
    numbers = np.arange(count)
    array["i"], array["u"], array["h"], array["x"] = -numbers, numbers * 2**40, numbers % 50, numbers / 4
    array["t"], array["s"] = numbers % 3 == 0, [f"n{n}".encode() for n in numbers]
    array["m"] = np.arange(6 * count).reshape(count, 2, 3)
    array["z"] = numbers + 1j
    return array


def batch(array: np.ndarray[Any, np.dtype[Any]]) -> isoform.Batch:
    found = isoform.Encoder(array.dtype).encode_many(array)
    assert found is not None
    return found


def test_columns_are_the_fields_in_the_receivers_types() -> None:
    array = wire(1000)
    columns = isoform.Columns(np.dtype([("x", "f8"), ("i", "i8"), ("m", "f4", (2, 3))]))
    columns.append(batch(array))
    columns.append([batch(array[:5]), isoform.Encoder(WIRE).encode(array[7])])
    assert columns.names == ["x", "i", "m"] and len(columns) == 1006
    wanted = np.concatenate([array, array[:5], array[7:8]])
    for name in columns.names:
        np.testing.assert_array_equal(columns[name], wanted[name])
        assert columns[name].dtype.isnative and not columns[name].flags.writeable
    before = columns["x"]
    columns.append(batch(array[:1]))
    assert len(before) == 1006 and len(columns["x"]) == len(columns) == 1007
    with pytest.raises(KeyError):
        columns["nobody"]
    columns.clear()
    assert len(columns) == 0 and len(columns["x"]) == 0


def test_columns_of_a_foreign_dtype_are_in_this_machines_byte_order() -> None:
    array = wire(10)
    columns = isoform.Columns(WIRE)
    columns.append(batch(array))
    for name in columns.names:
        assert columns[name].dtype.isnative
        np.testing.assert_array_equal(columns[name], array[name])
    point = np.dtype([("p", [("x", f"{FOREIGN}f4"), ("y", f"{FOREIGN}i2")], (2,))])
    points = np.array([([(0.5, 7), (1.5, -7)],)], point)
    columns = isoform.Columns(point)
    columns.append(batch(points))
    assert columns["p"].dtype.isnative and columns["p"].tolist() == points["p"].tolist()


def test_arrow_has_a_foreign_dtype_right() -> None:
    arrow = pytest.importorskip("pyarrow")
    columns = isoform.Columns(np.dtype([("a", f"{FOREIGN}i4")]))
    columns.append(batch(wire(3)["i"].astype(f"{FOREIGN}i4").view([("a", f"{FOREIGN}i4")])))
    assert arrow.record_batch(columns).column("a").to_pylist() == [0, -1, -2]


def test_a_batch_that_does_not_fit_adds_nothing() -> None:
    columns = isoform.Columns(np.dtype([("i", "i8"), ("u", "u1")]))
    columns.append(batch(wire(1)))
    with pytest.raises(isoform.Mismatch) as fault:
        columns.append(batch(wire(3)))
    assert fault.value.path == "[1].u"
    assert len(columns) == len(columns["i"]) == len(columns["u"]) == 1
    with pytest.raises(isoform.Mismatch) as fault:
        isoform.Columns(np.dtype([("nobody", "i8")])).append(batch(wire(1)))
    assert fault.value.code == isoform.Code.NoConversion


def test_of_classes_the_fields_that_are_asked_for() -> None:
    @dataclass
    class Sample:
        i: int
        s: str

    columns = isoform.Columns(Sample, ["i"])
    columns.append(batch(wire(3)))
    assert columns["i"].tolist() == [0, -1, -2]
    with pytest.raises(isoform.Usage) as fault:
        isoform.Columns(Sample, ["nobody"])
    assert fault.value.code == isoform.Code.NoSuchField


def test_arrow_has_the_same() -> None:
    arrow = pytest.importorskip("pyarrow")
    array = wire(100)
    stream = io.BytesIO()
    with isoform.Writer(stream, WIRE) as writer:
        writer.write(array)
    stream.seek(0)
    columns = isoform.Columns(WIRE.newbyteorder("="))
    columns.append(isoform.Reader(stream))
    record = arrow.record_batch(columns)
    record.validate(full=True)
    assert record.schema.names == list(WIRE.names or ())
    kinds = ["int32", "uint64", "halffloat", "float", "bool", "large_string"]
    assert [str(field.type) for field in record.schema][:6] == kinds
    assert record.column("t").to_pylist() == array["t"].tolist()
    assert [text.encode() for text in record.column("s").to_pylist()] == array["s"].tolist()
    assert record.column("m").to_pylist() == array["m"].tolist()
    assert record.column("z").to_pylist() == [[z.real, z.imag] for z in array["z"]]
    # It is where it was, and stays there.
    assert record.column("i").buffers()[1].address == columns["i"].__array_interface__["data"][0]
    wanted = columns["x"].tolist()
    del columns
    gc.collect()
    [bytes(1000) for _ in range(1000)]
    assert record.column("x").to_pylist() == wanted
    table = arrow.Table.from_batches([record])
    assert table.num_rows == 100 and table.slice(90)["u"].to_pylist() == array["u"][90:].tolist()


def test_capsules_that_nobody_takes_are_let_go() -> None:
    columns = isoform.Columns(np.dtype([("m", "f4", (2, 3))]))
    columns.append(batch(wire(10)))
    values = columns["m"]
    before = sys.getrefcount(values.base)
    for _ in range(100):
        columns.__arrow_c_array__()
    gc.collect()
    after = sys.getrefcount(values.base)
    assert after < before + 50
    if np.dtype(np.longdouble).itemsize == 8:
        return  # as on Windows
    with pytest.raises(isoform.Usage):
        wide = isoform.Columns(np.dtype([("p", [("x", np.longdouble)])]))
        wide.__arrow_c_schema__()


COM = np.dtype(
    [
        ("com", [("x", f"{FOREIGN}f8"), ("tag", "S4")]),
        ("parts", [("mass", f"{FOREIGN}f4"), ("spin", f"{FOREIGN}i2", (2,))], (3,)),
        ("pos", isoform.field((f"{FOREIGN}f4", (2,)), unit="m")),
        ("step", isoform.field(f"{FOREIGN}i4", unit="s")),
    ]
)


def coms() -> np.ndarray[Any, np.dtype[Any]]:
    array = np.zeros(5, COM)
    array["com"]["x"], array["com"]["tag"] = np.arange(5) / 2, [b"a", b"bb", b"", b"dddd", b"e"]
    array["parts"]["mass"] = np.arange(15).reshape(5, 3)
    array["parts"]["spin"] = np.arange(30).reshape(5, 3, 2)
    array["step"] = np.arange(5)
    return array


class Phase(enum.Enum):
    SOLID = -3
    LIQUID = 200
    GAS = 7


@dataclass
class PhaseAt:
    phase: Phase
    step: int


def test_columns_take_paths_and_are_a_mapping_of_their_names() -> None:
    array = coms()
    columns = isoform.Columns(COM, ["com.x", "parts.mass", "parts.spin", "step", "parts"])
    columns.append(batch(array))
    assert list(columns) == columns.keys() == columns.names == ["com.x", "parts.mass", "parts.spin", "step", "parts"]
    assert columns["com.x"].tolist() == array["com"]["x"].tolist()
    assert columns["parts.mass"].tolist() == array["parts"]["mass"].tolist()
    assert columns["parts.spin"].tolist() == array["parts"]["spin"].tolist()
    whole = dict(columns)
    np.testing.assert_array_equal(whole["parts"], array["parts"])
    assert "step" in columns and "x" not in columns
    with pytest.raises(isoform.Usage, match="dict"):
        np.asarray(columns)
    assert repr(columns) == "Columns(5 rows of com.x, parts.mass, parts.spin, step, parts)"
    with pytest.raises(KeyError, match="expected one of com.x"):
        columns["com"]
    for path, expected in (("com.y", "one of x, tag"), ("step.x", "a nested record"), ("nope", "one of com")):
        with pytest.raises(isoform.Usage) as fault:
            isoform.Columns(COM, [path])
        assert fault.value.code == isoform.Code.NoSuchField and expected in fault.value.expected


def test_pandas_takes_columns() -> None:
    pandas = pytest.importorskip("pandas")
    columns = isoform.Columns(COM, ["com.x", "step"])
    columns.append(batch(coms()))
    frame = pandas.DataFrame(dict(columns))
    assert list(frame.columns) == ["com.x", "step"] and frame["com.x"].tolist() == columns["com.x"].tolist()
    with pytest.raises(isoform.Usage, match="dict"):
        pandas.DataFrame(columns)  # which would take the names for the data


def test_arrow_has_text_units_records_and_symbols() -> None:
    arrow = pytest.importorskip("pyarrow")
    array = coms()
    columns = isoform.Columns(COM)
    columns.append(batch(array))
    record = arrow.record_batch(columns)
    record.validate(full=True)
    assert record.column("com").to_pylist() == [{"x": r["x"], "tag": r["tag"].decode()} for r in array["com"]]
    parts = [[{"mass": p["mass"], "spin": p["spin"].tolist()} for p in row] for row in array["parts"]]
    assert record.column("parts").to_pylist() == parts
    assert [record.schema.field(name).metadata for name in ("pos", "step", "com")] == [{b"unit": b"m"}, {b"unit": b"s"}, None]

    samples = [PhaseAt(Phase.GAS, 1), PhaseAt(Phase.SOLID, 2), PhaseAt(Phase.GAS, 3), PhaseAt(Phase.LIQUID, 4)]
    columns = isoform.Columns(PhaseAt)
    columns.append([isoform.Encoder(PhaseAt).encode(sample) for sample in samples])
    record = arrow.record_batch(columns)
    record.validate(full=True)
    assert arrow.types.is_dictionary(record.schema.field("phase").type)
    assert record.column("phase").to_pylist() == ["GAS", "SOLID", "GAS", "LIQUID"]
    assert columns["phase"].tolist() == [7, -3, 7, 200]
    texts = isoform.Columns(np.dtype([("s", "S3")]))
    texts.append(batch(np.array([(b"ok",), (b"\xff",)], [("s", "S3")])))
    with pytest.raises(isoform.Error) as fault:
        arrow.record_batch(texts)
    assert (fault.value.code, fault.value.path) == (isoform.Code.Utf8, "s[1]")


@dataclass
class Noted:
    name: str
    depth: list[float]
    step: int = 0


def test_arrow_batches_are_records_to_send() -> None:
    arrow = pytest.importorskip("pyarrow")
    array = coms()
    columns = isoform.Columns(COM)
    columns.append(batch(array))
    record = arrow.record_batch(columns)
    for records in (record, arrow.Table.from_batches([record, record.slice(2)]), columns):
        stream = io.BytesIO()
        with isoform.Writer(stream, COM) as writer:
            writer.write(records)
        stream.seek(0)
        came = isoform.Decoder(COM).decode_many(isoform.Reader(stream))
        np.testing.assert_array_equal(came[:5], array)
        assert len(came) == (8 if isinstance(records, arrow.Table) else 5)
    rows = [Noted("a", [0.5], 1), Noted("b", [], 2)]
    table = arrow.Table.from_pylist([{"name": row.name, "depth": row.depth, "step": row.step} for row in rows])
    stream = io.BytesIO()
    with isoform.Writer(stream, Noted) as writer:
        writer.write(table)
    stream.seek(0)
    assert isoform.Decoder(Noted).decode_many(isoform.Reader(stream)) == rows


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([{"x": 1.5}], "the columns x, n"),
        ([{"x": 1.5, "n": 1, "more": 2}], "the columns x, n"),
        ([{"x": 1.5, "n": 0.5}], "i32"),
        ([{"x": 1.5, "n": None}, {"x": 1.5, "n": 1}], "no nulls"),
        ([{"x": "text", "n": 1}], "f64"),
        ([{"x": [1.0], "n": 1}], "f64"),
    ],
)
def test_arrow_columns_that_do_not_fit_are_refused(rows: list[dict[str, Any]], expected: str) -> None:
    arrow = pytest.importorskip("pyarrow")
    encoder = isoform.Encoder(np.dtype([("x", "f8"), ("n", "i4")]))
    with pytest.raises(isoform.Usage) as fault:
        encoder.encode_many(arrow.Table.from_pylist(rows))
    assert expected in fault.value.expected
