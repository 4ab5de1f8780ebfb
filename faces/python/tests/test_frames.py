"""Tables of Arrow and data frames as records: their values are converted where they fit, for a dtype as for a class."""

from __future__ import annotations

import io
from dataclasses import dataclass
from typing import Annotated, Any

import isoform
import numpy as np
import pytest

ROW = np.dtype([("step", ">i4"), ("depth", ">f8"), ("small", ">f4"), ("name", "S4")])


@dataclass
class Row:
    step: Annotated[int, isoform.i32]
    depth: float
    small: Annotated[float, isoform.f32]
    name: Annotated[str, isoform.char[4]]


TYPES = pytest.mark.parametrize("kind", [ROW, Row], ids=["dtype", "class"])


def sent(kind: Any, records: Any) -> list[tuple[Any, ...]]:
    """The records, after they were written and read."""
    stream = io.BytesIO()
    isoform.Writer(stream, kind).write(records)
    stream.seek(0)
    return [tuple(row) for row in isoform.Decoder(ROW).decode_many(isoform.Reader(stream)).tolist()]


def columns(**changes: Any) -> dict[str, Any]:
    return {"step": [1, 2], "depth": [0.5, 0.25], "small": [1.5, 0.1], "name": ["a", "b"], **changes}


GOOD = [(1, 0.5, 1.5, b"a"), (2, 0.25, float(np.float32(0.1)), b"b")]


@TYPES
def test_values_of_other_types_are_converted_where_they_fit(kind: Any) -> None:
    arrow = pytest.importorskip("pyarrow")
    assert sent(kind, arrow.table(columns())) == GOOD
    for change in (
        {"step": arrow.array([1, 2], arrow.uint64())},
        {"step": arrow.array([1, 2], arrow.int8())},
        {"depth": arrow.array([0.5, 0.25], arrow.float32())},
        {"name": arrow.array(["a", "b"]).dictionary_encode()},
    ):
        assert sent(kind, arrow.table(columns(**change))) == GOOD
    assert sent(kind, arrow.table(columns(depth=[2**53, -7])))[0][1] == 2**53
    assert sent(kind, arrow.table(columns(small=[np.inf, 2**24])))[0][2] == np.inf


@TYPES
@pytest.mark.parametrize(
    ("change", "path", "code"),
    [
        ({"step": [1, 2**40]}, "[1].step", "Overflow"),
        ({"step": [1.0, 2.0]}, "[0].step", "WrongType"),
        ({"depth": [1, 2**53 + 1]}, "[1].depth", "Inexact"),
        ({"small": [1.0, 1e60]}, "[1].small", "Overflow"),
        ({"small": [1.0, 1e-60]}, "[1].small", "Underflow"),
        ({"depth": [None, 1.0]}, "[0].depth", "WrongType"),
        ({"depth": ["0.5", "1.5"]}, "[0].depth", "WrongType"),
        ({"name": ["a", "abcde"]}, "[1].name", "TooLong"),
        ({"name": [1, 2]}, "[0].name", "WrongType"),
    ],
)
def test_a_value_that_does_not_fit_is_named_by_row_and_column(kind: Any, change: Any, path: str, code: str) -> None:
    arrow = pytest.importorskip("pyarrow")
    with pytest.raises(isoform.Error) as fault:
        sent(kind, arrow.table(columns(**change)))
    assert (fault.value.path, fault.value.code.name) == (path, code)


def test_records_and_arrays_within_are_converted_too() -> None:
    arrow = pytest.importorskip("pyarrow")
    nested = np.dtype([("p", [("x", "f8"), ("y", "i2")]), ("grid", "i2", (2,))])
    encoder = isoform.Encoder(nested)
    pairs = arrow.list_(arrow.int64(), 2)

    def rows(y: int, z: int) -> Any:
        return arrow.table({"p": [{"y": y, "x": 1}], "grid": arrow.array([[3, z]], pairs)})

    many = encoder.encode_many(rows(2, 4))
    assert many is not None and many.array().tobytes() == np.array([((1.0, 2), [3, 4])], nested).tobytes()
    for y, z, path in ((70000, 4, "[0].p.y"), (2, 70000, "[0].grid[1]")):
        with pytest.raises(isoform.Mismatch) as fault:
            encoder.encode_many(rows(y, z))
        assert fault.value.path == path


@TYPES
def test_frames_of_pandas(kind: Any) -> None:
    pytest.importorskip("pyarrow")
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(columns())
    assert sent(kind, frame) == sent(kind, frame.set_index("step")) == sent(kind, frame.set_axis([5, 6])) == GOOD
    frame.index.name = "when"
    assert sent(kind, frame) == GOOD and sent(kind, frame.iloc[:0]) == []
    assert np.isnan(sent(kind, frame.assign(depth=[np.nan, 1.0]))[0][1])
    with pytest.raises(isoform.Usage) as fault:
        sent(kind, frame.assign(step=pandas.array([1, None], dtype="Int64")))
    assert fault.value.path == "[1].step"
    with pytest.raises(isoform.Usage, match="expected the columns step, depth, small, name, found stp, depth, small, name"):
        sent(kind, frame.rename(columns={"step": "stp"}))
    with pytest.raises(isoform.Usage, match="a data frame, found Series"):
        sent(kind, frame["step"])


@TYPES
def test_what_has_no_columns_or_one_twice_is_refused(kind: Any) -> None:
    arrow = pytest.importorskip("pyarrow")
    twice = arrow.Table.from_arrays([arrow.array([1])] * 2, names=["step", "step"])
    for records, expected in ((arrow.array([1, 2]), "columns that are named"), (twice, "the columns step, depth, small, name")):
        with pytest.raises(isoform.Usage) as fault:
            sent(kind, records)
        assert expected in fault.value.expected


def test_an_object_in_a_list_is_named_by_its_place() -> None:
    for records, path in (([Row(1, 0.5, 0.5, "a"), Row(2**40, 0.5, 0.5, "b")], "[1].step"), (Row(2**40, 0.5, 0.5, "b"), "step")):
        with pytest.raises(isoform.Mismatch) as fault:
            sent(Row, records)
        assert fault.value.path == path
