"""Columns, for NumPy and for Arrow."""

from __future__ import annotations

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


def test_of_classes_those_of_fixed_size() -> None:
    @dataclass
    class Sample:
        i: int
        s: str

    columns = isoform.Columns(Sample, ["i"])
    columns.append(batch(wire(3)))
    assert columns["i"].tolist() == [0, -1, -2]
    for fields, code in ((["s"], isoform.Code.WrongType), (["nobody"], isoform.Code.NoSuchField)):
        with pytest.raises(isoform.Usage) as fault:
            isoform.Columns(Sample, fields)
        assert fault.value.code == code


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
    kinds = ["int32", "uint64", "halffloat", "float", "bool", "fixed_size_binary[6]"]
    assert [str(field.type) for field in record.schema][:6] == kinds
    assert record.column("t").to_pylist() == array["t"].tolist()
    assert [text.rstrip(b"\0") for text in record.column("s").to_pylist()] == array["s"].tolist()
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
    with pytest.raises(isoform.Usage):
        nested = isoform.Columns(np.dtype([("p", [("x", "f4")])]))
        nested.__arrow_c_schema__()
