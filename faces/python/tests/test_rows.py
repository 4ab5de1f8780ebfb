"""Records for a dtype that are no array: their values are checked as those of a dataclass are."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Optional

import isoform
import numpy as np
import numpy.typing as npt
import pytest

SAMPLE = np.dtype([("step", ">i4"), ("depth", ">f8"), ("station", "S10"), ("wet", "?"), ("grid", ">f4", (2, 3))])
GRID = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]
GOOD: dict[str, Any] = {"step": 1, "depth": 0.5, "station": "Ferry", "wet": True, "grid": GRID}


@dataclass
class Sample:
    step: Annotated[int, isoform.i32]
    depth: float
    station: Annotated[str, isoform.char[10]]
    wet: bool
    grid: Annotated[list[float], isoform.f32[2, 3]]


def masked(values: Any) -> Any:
    return np.ma.array(values, mask=np.zeros(np.shape(values), bool) | (np.asarray(values) == 1))


def by_writing(record: Any) -> None:
    isoform.Writer(io.BytesIO(), SAMPLE).write(record)


WAYS: dict[str, Callable[[Any], Any]] = {
    "write": by_writing,
    "encode": lambda record: isoform.Encoder(SAMPLE).encode(record),
    "encode_many": lambda record: isoform.Encoder(SAMPLE).encode_many(record),
}

#: What a field cannot have, the code of the error, and the rest of its path.
UNFIT: list[tuple[str, Any, str, str]] = [
    ("step", 1.9, "WrongType", ""),
    ("step", "1", "WrongType", ""),
    ("step", None, "WrongType", ""),
    ("step", float("nan"), "WrongType", ""),
    ("step", np.float64(5), "WrongType", ""),
    ("step", np.array([5]), "WrongType", ""),
    ("step", np.ma.masked, "WrongType", ""),
    ("step", 2**40, "Overflow", ""),
    ("depth", None, "WrongType", ""),
    ("depth", "3.5", "WrongType", ""),
    ("depth", 2j, "WrongType", ""),
    ("depth", np.array([2.5]), "WrongType", ""),
    ("depth", np.ma.masked, "WrongType", ""),
    ("depth", 2**53 + 1, "Inexact", ""),
    ("station", None, "WrongType", ""),
    ("station", 5, "WrongType", ""),
    ("station", "a text that is far too long", "TooLong", ""),
    ("wet", "no", "WrongType", ""),
    ("wet", 5, "WrongType", ""),
    ("wet", np.int64(5), "WrongType", ""),
    ("grid", 5, "WrongType", ""),
    ("grid", "123", "WrongType", ""),
    ("grid", {1: 2}, "WrongType", ""),
    ("grid", [1.0, 2.0, 3.0], "WrongType", "[0]"),
    ("grid", [[7.0], [8.0]], "Shape", "[0]"),
    ("grid", [GRID[0], [1.0, 1e60, 3.0]], "Overflow", "[1][1]"),
    ("grid", masked(GRID), "WrongType", "[0][0]"),
]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(("field", "value", "code", "inner"), UNFIT)
@pytest.mark.parametrize("way", WAYS)
def test_what_a_field_cannot_have_is_refused_as_in_a_dataclass(
    way: str, field: str, value: Any, code: str, inner: str
) -> None:
    record = {**GOOD, field: value}
    rows: list[tuple[Any, str]] = [(record, ""), (tuple(record.values()), ""), ([GOOD, record], "[1]."), ([[record]], "[0][0].")]
    for row, outer in rows[: 2 if way == "encode" else 4]:
        with pytest.raises(isoform.Error) as fault:
            WAYS[way](row)
        assert (fault.value.code.name, fault.value.path) == (code, f"{outer}{field}{inner}")
    with pytest.raises(isoform.Error) as of_class:
        isoform.Encoder(Sample).encode(record)
    assert (of_class.value.code.name, of_class.value.expected) == (code, fault.value.expected)


def test_what_a_field_can_have() -> None:
    encoder = isoform.Encoder(SAMPLE)
    whole = np.array((1, 0.5, b"Ferry", True, GRID), SAMPLE)
    changes: list[dict[str, Any]] = [
        {"station": b"Ferry"},
        {"station": np.str_("Ferry")},
        {"step": np.uint64(1), "depth": np.float32(0.5)},
        {"step": np.array(1), "depth": np.array(0.5)},
        {"wet": np.bool_(True), "grid": np.array(GRID)},
        {"grid": (tuple(GRID[0]), np.array(GRID[1], int))},
        {"grid": np.ma.array(GRID)},
    ]
    for change in changes:
        assert encoder.encode({**GOOD, **change}).body == whole.tobytes(), change
    assert encoder.encode({**GOOD, "depth": float("nan")}).array()["depth"] != 0
    assert encoder.encode({**GOOD, "depth": 2**53}).array()["depth"] == 2**53


def test_rows_of_arrays_and_arrays_are_records_too() -> None:
    rows = np.zeros(3, SAMPLE)
    rows["step"] = [1, 2, 3]
    encoder = isoform.Encoder(SAMPLE)
    for records, steps in (
        (rows, [1, 2, 3]),
        (rows[1], [2]),
        (list(rows), [1, 2, 3]),
        ([rows[2], GOOD, rows[:2]], [3, 1, 1, 2]),
        ([[GOOD], [rows]], [1, 1, 2, 3]),
    ):
        many = encoder.encode_many(records)
        assert many is not None and many.array()["step"].tolist() == steps
    assert encoder.encode_many([]) is None


def test_rows_of_another_dtype_are_checked_by_their_fields() -> None:
    wide = np.dtype([("step", "i8"), ("depth", "f8")])
    encoder = isoform.Encoder(np.dtype([("depth", "f8"), ("step", "i4")]))
    many = encoder.encode_many([np.array((7, 0.5), wide)[()]])
    assert many is not None and many.array()["step"].tolist() == [7]
    with pytest.raises(isoform.Mismatch) as fault:
        encoder.encode_many([np.array((2**40, 0.5), wide)[()]])
    assert (fault.value.code, fault.value.path) == (isoform.Code.Overflow, "[0].step")


@pytest.mark.parametrize("records", [[1.0, 2.0], [1], [[1, 0.5, "Ferry", True, GRID]], ["abc"], [None], 5, "abc", None, GOOD.values()])
def test_what_is_no_record_is_refused(records: Any) -> None:
    with pytest.raises(isoform.Usage) as fault:
        by_writing(records)
    assert fault.value.code == isoform.Code.WrongType and "record" in fault.value.expected


def test_masked_records_are_refused() -> None:
    rows: Any = np.ma.zeros(2, SAMPLE)
    rows["depth"][0] = np.ma.masked
    for records in (rows, rows[0], [rows[0]], [rows]):
        with pytest.raises(isoform.Usage, match="found a masked value"):
            by_writing(records)
    by_writing(rows[1:])


def test_events_are_as_strict() -> None:
    source = isoform.Node().create("strict").source(SAMPLE)
    for record in ({**GOOD, "step": 1.9}, [1.0, 2.0]):
        with pytest.raises(isoform.Usage):
            source.submit(record)
    source.submit([GOOD, tuple(GOOD.values())])


def test_a_long_double_keeps_its_digits() -> None:
    dtype = np.dtype([("x", "g"), ("z", "G")])
    third, pair = np.longdouble(1) / 3, np.clongdouble(1 - 1j) / 3
    came = isoform.Decoder(dtype).decode(isoform.Encoder(dtype).encode({"x": third, "z": pair}))
    assert came["x"] == third and came["z"] == pair
    assert np.isinf(isoform.Encoder(dtype).encode((np.longdouble("inf"), 0)).array()["x"])


def test_a_message_as_json() -> None:
    row = {"step": 1, "depth": 0.5, "station": "Ferry", "wet": True, "grid": GRID}
    assert json.loads(isoform.Encoder(SAMPLE).encode(row).json()) == row
    tracks = isoform.Encoder(Tracks).encode(Tracks(None, [Track([0.5])], np.zeros(2)))
    assert tracks.json().startswith('{"name":null,"all":[{"depth":[0.5],"depth_len":1,')
    assert json.loads(tracks.json())["grid"] == [0, 0]


@dataclass
class Track:
    depth: list[float]
    maybe: Optional[list[float]] = None


@dataclass
class Tracks:
    name: Optional[str]
    all: list[Track]
    grid: npt.NDArray[np.float64]


def test_none_is_an_array_only_where_it_is_optional() -> None:
    grid = np.zeros(100)
    good = Tracks(None, [Track([0.5], [1.5]), Track([], None)], grid)
    came = isoform.Decoder(Tracks).decode(isoform.Encoder(Tracks).encode(good))
    # No array is one without elements.
    assert came.name is None and came.all == [Track([0.5], [1.5]), Track([], [])]
    nothing: Any = None
    for wrong, path in (
        (Tracks(None, nothing, grid), "all"),
        (Tracks(None, [Track([]), Track(nothing)], grid), "all[1].depth"),
        (Tracks(None, [], nothing), "grid"),
        ({"name": None, "all": [{"depth": None}], "grid": grid}, "all[0].depth"),
    ):
        with pytest.raises(isoform.Usage, match="expected an array of .*, found None") as fault:
            isoform.Encoder(Tracks).encode(wrong)
        assert (fault.value.code, fault.value.path) == (isoform.Code.WrongType, path)
    # A format of another language does not say it.
    format = isoform.Format.of_shape("record R\n  n  int\n  v  double[n]")
    assert isoform.Encoder(format).encode({"v": None}).view().n == 0


def test_a_null_list_of_arrow_is_none() -> None:
    arrow = pytest.importorskip("pyarrow")
    encoder = isoform.Writer(io.BytesIO(), Track)
    encoder.write(arrow.table({"depth": [[0.5], []], "maybe": [[1.5], None]}))
    with pytest.raises(isoform.Usage) as fault:
        encoder.write(arrow.table({"depth": [[0.5], None], "maybe": [[1.5], None]}))
    assert fault.value.path == "[1].depth"


@dataclass
class Texts:
    names: list[str]
    times: list[float]
    count: int
    flags: list[bool]
    z: complex


def test_what_no_array_or_number_of_a_dataclass_is() -> None:
    good: dict[str, Any] = {"names": ["a"], "times": [], "count": 1, "flags": [True], "z": 1j}
    encoder = isoform.Encoder(Texts)
    for change, path in (
        ({"names": "abc"}, "names"),
        ({"names": {"a": 1}}, "names"),
        ({"names": {"a"}}, "names"),
        ({"flags": np.array([0, 5])}, "flags[0]"),
        ({"times": np.array([1, 2], "m8[ns]")}, "times"),
        ({"times": np.array([1, 2], "M8[s]")}, "times"),
        ({"times": [np.timedelta64(1, "ns")]}, "times[0]"),
        ({"times": [np.datetime64(1, "s")]}, "times[0]"),
        ({"count": np.timedelta64(1, "ns")}, "count"),
        ({"flags": [np.int64(5)]}, "flags[0]"),
        ({"z": "ab"}, "z"),
        ({"z": [1, 2, 3]}, "z"),
        ({"z": {}}, "z"),
    ):
        with pytest.raises(isoform.Usage) as fault:
            encoder.encode(Texts(**{**good, **change}))
        assert (fault.value.code, fault.value.path) == (isoform.Code.WrongType, path)
