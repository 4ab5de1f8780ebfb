"""Formats of dtypes, classes and ctypes structures, and records of them there and back."""

from __future__ import annotations

import copy
import ctypes
import dataclasses
import enum
import gc
import io
import pickle
import sys
import types
from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from typing import Annotated, Any, NamedTuple, Optional

import isoform
import numpy as np
import numpy.typing as npt
import pytest
from isoform import alias, char, f32, i32, length, required, unit

FOREIGN = ">" if sys.byteorder == "little" else "<"
DTYPES = [
    np.dtype([("a", "i4"), ("b", "f8")]),
    np.dtype([("a", ">i4"), ("b", ">f8"), ("c", ">u2"), ("d", "u1")]),
    np.dtype([("a", "<i2"), ("b", "<c16"), ("c", "<c8"), ("h", "<f2"), ("t", "?")]),
    np.dtype([("a", "i1"), ("b", "f8"), ("s", "S7"), ("c", "S1")], align=True),
    np.dtype([("m", ">f4", (2, 3)), ("names", "S5", (4,)), ("p", [("x", ">i8"), ("q", [("y", ">i2")])], (2,))]),
    np.dtype({"names": ["a", "b"], "formats": [">i4", ">f8"], "offsets": [4, 24], "itemsize": 48}),
    np.dtype([("l", np.longdouble), ("c", np.clongdouble)]),
]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_a_dtype_becomes_a_format_and_a_dtype_again(dtype: np.dtype[Any]) -> None:
    format = isoform.Format.of(dtype, "R")
    assert format.dtype == dtype
    assert format.dtype.isalignedstruct == dtype.isalignedstruct
    assert (format.name, format.size) == ("R", dtype.itemsize)
    assert isoform.Format.parse(format.description) == format
    assert isoform.Format.of(format.dtype, "R").token == format.token
    assert {field.name: field.offset for field in format.fields} == {
        name: dtype.fields[name][1] for name in dtype.fields or () if dtype.fields
    }


def test_dtypes_that_differ_in_alignment_have_formats_of_their_own() -> None:
    fields = [("a", "i4"), ("b", "i4")]
    both = [np.dtype(fields), np.dtype(fields, align=True)]
    nested = [np.dtype([("p", dtype, (2,))]) for dtype in both]
    for name, step in (("First", 1), ("Second", -1)):
        assert [isoform.Format.of(dtype, name).alignment for dtype in both[::step]] == [1, 4][::step]
        fields_of = [isoform.Format.of(dtype, name).fields[0] for dtype in nested[::step]]
        assert [field.structure.alignment for field in fields_of if field.structure] == [1, 4][::step]


def test_whatever_numpy_takes_for_a_dtype_is_one() -> None:
    for record in ([("a", "i4")], {"names": ["a"], "formats": ["i4"]}):
        assert isoform.Encoder(record).encode((7,)).view()["a"] == 7


def test_byte_order_is_kept() -> None:
    for order, name in (("<", "little"), (">", "big")):
        assert isoform.Format.of(np.dtype([("a", f"{order}i4"), ("b", "S3")])).byte_order == name


@pytest.mark.parametrize(
    ("kind", "expected"), [("U4", "text as `S`"), ("O", "a dataclass"), ("M8[s]", "view the column"), ("V3", "`u1`")]
)
def test_what_no_format_can_say_is_refused_at_its_field(kind: str, expected: str) -> None:
    with pytest.raises(isoform.Error) as fault:
        isoform.Format.of(np.dtype([("a", "i4"), ("x", [("bad", kind)])]))
    assert (fault.value.code, fault.value.path) == (isoform.Code.Declaration, "record.x.bad")
    assert expected in fault.value.expected


def test_two_byte_orders_are_refused() -> None:
    with pytest.raises(isoform.Error, match="one byte order"):
        isoform.Format.of(np.dtype([("a", "<i4"), ("b", ">i4")]))
    with pytest.raises(isoform.Error, match="a structured dtype"):
        isoform.Format.of(np.dtype("f8"))


def filled(dtype: np.dtype[Any], count: int) -> np.ndarray[Any, np.dtype[Any]]:
    """An array of records, with something else in every byte that may have it."""
    array = np.zeros(count, dtype)
    for name in dtype.names or ():
        column = array[name]
        if column.dtype.names:
            column[...] = filled(column.dtype, column.size).reshape(column.shape)
        elif column.dtype.kind == "S":
            column[...] = np.arange(column.size).astype(column.dtype).reshape(column.shape)
        else:
            column[...] = np.arange(1, column.size + 1).reshape(column.shape) % 97
    return array


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_arrays_go_through_a_stream(dtype: np.dtype[Any]) -> None:
    array = filled(dtype, 100)
    stream = io.BytesIO()
    with isoform.Writer(stream, dtype) as writer:
        writer.write(array)
        writer.write(array[::-2])  # not in one piece
        writer.write(array[3])
    stream.seek(0)
    came = isoform.Decoder(dtype).decode_many(isoform.Reader(stream))
    np.testing.assert_array_equal(came, np.concatenate([array, array[::-2], array[3:4]]))
    stream.seek(0)
    native = isoform.Decoder(dtype.newbyteorder("=")).decode_many(isoform.Reader(stream))
    assert native.dtype.isnative and native.flags.writeable
    np.testing.assert_array_equal(native[:100], array)


def test_gaps_do_not_leave_the_process() -> None:
    dtype = np.dtype({"names": ["a", "b"], "formats": ["i2", "i4"], "offsets": [2, 8], "itemsize": 16})
    array = np.frombuffer(b"\xff" * 32, dtype)
    for message in (isoform.Encoder(dtype).encode(array[0]), isoform.Encoder(dtype).encode_many(array)[1]):  # type: ignore[index]
        assert message.body == b"\0\0\xff\xff\0\0\0\0\xff\xff\xff\xff\0\0\0\0"


def test_a_view_copies_nothing_cannot_be_written_to_and_keeps_its_message_alive() -> None:
    dtype = np.dtype([("a", f"{FOREIGN}i4"), ("b", f"{FOREIGN}f8", (1000,))])
    array = filled(dtype, 50)
    batch = isoform.Encoder(dtype).encode_many(array)
    assert batch is not None
    view = batch.array()
    assert view.dtype == dtype and not view.flags.writeable and not view.flags.owndata
    assert batch.array().__array_interface__["data"] == view.__array_interface__["data"]
    with pytest.raises(ValueError):
        view["a"] = 0
    del batch
    gc.collect()
    [bytes(50 * dtype.itemsize) for _ in range(100)]
    np.testing.assert_array_equal(view, array)
    message = isoform.Encoder(dtype).encode(array[7])
    column = message.view()["b"]
    assert np.shares_memory(column, np.frombuffer(message.body, np.uint8))
    del message
    gc.collect()
    np.testing.assert_array_equal(column, array["b"][7])


def test_a_view_of_what_is_no_record_is_refused() -> None:
    dtype = np.dtype([("t", "?")])
    wrong = np.array([7], "u1").view(dtype)
    with pytest.raises(isoform.Usage) as fault:
        isoform.Encoder(dtype).encode_many(wrong)
    assert (fault.value.code, fault.value.path) == (isoform.Code.BadRecord, "[0].t")


def test_other_dtypes_are_not_taken_for_the_declared_one() -> None:
    encoder = isoform.Encoder(np.dtype([("a", "i4")]))
    with pytest.raises(isoform.Usage):
        encoder.encode_many(np.zeros(3, [("a", "i8")]))
    assert encoder.encode((7,)).view()["a"] == 7
    assert encoder.encode_many(np.zeros(0, [("a", "i4")])) is None


def test_numbers_that_do_not_fit() -> None:
    batch = isoform.Encoder(np.dtype([("a", "i4")])).encode_many(np.array([(1,), (300,), (-1,)], [("a", "i4")]))
    assert batch is not None
    native = np.dtype([("a", "u1")])
    with pytest.raises(isoform.Mismatch) as fault:
        isoform.Decoder(native).decode_many(batch)
    assert fault.value.path == "[1].a"
    assert isoform.Decoder(native, faults="saturate").decode_many(batch)["a"].tolist() == [1, 255, 0]
    assert isoform.Decoder(native, faults="wrap").decode_many(batch)["a"].tolist() == [1, 44, 255]


@pytest.mark.parametrize("engine", ["interpreter", "generated", "auto"])
def test_engines_agree(engine: str) -> None:
    kinds = [f"{FOREIGN}{kind}" for kind in ("i4", "f8", "i2", "f4", "i8")]
    foreign = np.dtype([(f"f{i}", kinds[i % 5]) for i in range(100)])
    array = filled(foreign, 3000)
    batch = isoform.Encoder(foreign).encode_many(array)
    assert batch is not None
    decoder = isoform.Decoder(foreign.newbyteorder("="), engine=engine)
    for _ in range(3):
        np.testing.assert_array_equal(decoder.decode_many(batch), array.astype(foreign.newbyteorder("=")))


class Phase(enum.Enum):
    SOLID = 0
    LIQUID = 7


@dataclass
class Point:
    x: float
    y: Annotated[float, f32] = 0.0


@dataclass
class Track:
    step: Annotated[int, i32]
    station: str
    depth: Annotated[npt.NDArray[np.float32], unit("m"), length("n")]
    points: list[Point]
    last: Optional[Point]
    tag: Annotated[str, char[8]]
    grid: Annotated[list[list[int]], isoform.i16[2, 3]]
    phase: Phase
    z: complex
    raw: bytes
    ok: bool
    names: list[str] = field(default_factory=list)


TRACK = Track(
    -5,
    "Old Mill",
    np.array([0.5, 0.25], np.float32),
    [Point(1.0, 2.0), Point(3.0, 4.0)],
    Point(5.0),
    "tagged",
    [[1, 2, 3], [4, 5, 6]],
    Phase.LIQUID,
    1 + 2j,
    b"\xff\x00"[:1],
    True,
    ["a", "", "ü"],
)


def test_a_dataclass_comes_back() -> None:
    encoder = isoform.Encoder(Track)
    came = isoform.Decoder(Track).decode(encoder.encode(TRACK))
    np.testing.assert_array_equal(came.depth, TRACK.depth)
    assert came.depth.dtype == np.float32
    assert {**vars(came), "depth": 0} == {**vars(TRACK), "depth": 0}
    assert str(encoder.format).splitlines()[4:9] == [
        "  step        i32",
        "  station     string",
        '  depth       f32[n]  unit="m"',
        "  n           u64",
        "  points      Point[points_len]",
    ]


def test_a_view_has_the_same_by_name_and_path() -> None:
    view = isoform.Encoder(Track).encode(TRACK).view()
    assert view.station == view["station"] == "Old Mill"
    assert view["points[1].y"] == 4.0 and view["grid[1]"].tolist() == [4, 5, 6]
    assert view.phase == "LIQUID" and view.last.x == 5.0 and view.raw == "\udcff"
    assert "depth" in view and len(view) == 15
    for path, at in (("points[2]", "points"), ("points[1].z", "points[1]"), ("nobody", ""), ("station.x", "station")):
        with pytest.raises(isoform.Usage) as fault:
            view[path]
        assert (fault.value.code, fault.value.path) == (isoform.Code.NoSuchField, at)
    with pytest.raises(AttributeError):
        view.nobody


def test_a_receiver_has_what_it_wants() -> None:
    @dataclass
    class Seen:
        where: Annotated[str, alias("station")]
        depth: Annotated[list[float], unit("m")]
        step: float
        temperature: float = 11.5
        phase: Phase = Phase.SOLID

    seen = isoform.Decoder(Seen).decode(isoform.Encoder(Track).encode(TRACK))
    assert seen == Seen("Old Mill", [0.5, 0.25], -5.0, 11.5, Phase.LIQUID)

    @dataclass
    class Wants:
        step: int
        wind: Annotated[float, required]

    with pytest.raises(isoform.Mismatch) as fault:
        isoform.Decoder(Wants).decode(isoform.Encoder(Track).encode(TRACK))
    assert (fault.value.code, fault.value.path) == (isoform.Code.Required, "wind")


def test_fields_that_nobody_sends_are_refused_all_at_once() -> None:
    alarm = np.dtype([("time", "i8"), ("level", "u1")])
    depth = np.dtype([("time", "i8"), ("depth", "f8"), ("quality", "u1", (2,))])
    message = isoform.Encoder(alarm, name="Alarm").encode(np.array((7, 1), alarm))
    with pytest.raises(isoform.Error) as fault:
        isoform.Decoder(depth).decode(message)
    assert (fault.value.code, fault.value.path) == (isoform.Code.Required, "depth")
    assert 'missing="zero", for depth (f64), quality (u8[2])' in str(fault.value)
    assert isoform.Decoder(depth, missing="zero").decode(message)["depth"] == 0
    name = isoform.Format.of(depth).name if hasattr(isoform.Format, "of") else isoform.Decoder(depth).format.name
    rules = [(name, "depth", "default", -1.5), (name, "quality", "zero", True)]
    came = isoform.Decoder(depth, rules=rules).decode(message)
    assert (came["depth"], list(came["quality"])) == (-1.5, [0, 0])
    with pytest.raises(isoform.Error) as fault:
        isoform.Decoder(depth, rules=[(name, "depth", "alias", "nonsense..[3]")])
    assert (fault.value.code, fault.value.path) == (isoform.Code.Declaration, f"{name}.depth")


def test_what_is_optional_or_empty_by_default_may_be_missing() -> None:
    @dataclass
    class Alarm:
        time: int

    @dataclass
    class Note:
        time: int
        remark: Optional[str]
        marks: list[float] = field(default_factory=list)
        level: float = 0.5

    message = isoform.Encoder(Alarm).encode(Alarm(7))
    assert isoform.Decoder(Note).decode(message) == Note(7, None, [], 0.5)

    @dataclass
    class Feet:
        depth: Annotated[list[float], unit("ft")]

    with pytest.raises(isoform.Mismatch) as fault:
        isoform.Decoder(Feet).decode(isoform.Encoder(Track).encode(TRACK))
    assert (fault.value.code, fault.value.expected, fault.value.actual) == (isoform.Code.Unit, "ft", "m")


def test_other_classes_with_annotations() -> None:
    class Plain:
        a: int
        b: float = 2.5

    class Row(NamedTuple):
        a: int
        b: float

    message = isoform.Encoder(Row).encode(Row(1, 0.5))
    assert isoform.Decoder(Row).decode(message) == Row(1, 0.5)
    plain = isoform.Decoder(Plain).decode(message)
    assert (type(plain), plain.a, plain.b) == (Plain, 1, 0.5)
    assert isoform.Decoder(Plain).decode(isoform.Encoder(np.dtype([("a", "u1")])).encode((3,))).b == 2.5
    assert isoform.Encoder(Plain).encode(plain).body == message.body


@pytest.mark.parametrize("annotation", [set, dict[str, int], list[dict[str, float]], object])
def test_annotations_that_no_format_can_say_are_refused(annotation: Any) -> None:
    cls = type("Wrong", (), {"__annotations__": {"a": int, "bad": annotation}})
    with pytest.raises(isoform.Error) as fault:
        isoform.Format.of(cls)
    assert (fault.value.code, fault.value.path) == (isoform.Code.Declaration, "Wrong.bad")


@pytest.mark.parametrize(
    ("change", "path"),
    [({"depth": [1, "x"]}, "depth[1]"), ({"points": [Point("x")]}, "points[0].x"), ({"phase": "GAS"}, "phase")],  # type: ignore[arg-type]
)
def test_what_is_wrong_with_an_object_is_said_with_its_path(change: dict[str, Any], path: str) -> None:
    wrong = Track(**{**vars(TRACK), **change})
    with pytest.raises(isoform.Usage) as fault:
        isoform.Encoder(Track).encode(wrong)
    assert fault.value.path == path and f" at {path}" in str(fault.value)


def test_what_is_wrong_with_an_object_is_said_with_the_short_name_of_the_type() -> None:
    cls = type("Wrong", (), {"__annotations__": {"a": int}, "a": "text"})
    with pytest.raises(isoform.Usage, match="wrong type at a: expected i64, found str"):
        isoform.Encoder(cls).encode(cls())


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda view: pickle.loads(pickle.dumps(view))])
def test_a_view_can_be_copied(copied: Callable[[Any], Any]) -> None:
    view = isoform.Encoder(np.dtype([("a", "i4"), ("_b", "f8")])).encode((7, 0.5)).view()
    again = copied(view)
    assert again == view and again is not view and (again.a, again._b) == (7, 0.5)
    with pytest.raises(AttributeError):
        view.__wrapped__


@dataclass
class Called:
    step: int
    names: list[str]


@dataclass
class Holder:
    inner: Called
    all: list[Called]
    text: str


def test_a_view_converts_what_is_long_when_it_is_asked_for() -> None:
    names = [f"n{n}" for n in range(200_000)]
    record = Holder(Called(7, names), [Called(n, []) for n in range(100)], "x" * 10_000)
    message = isoform.Encoder(Holder).encode(record)
    gc.collect()
    before = sys.getallocatedblocks()
    view = message.view()
    assert view.inner.step == 7 and view["inner.step"] == 7
    assert sys.getallocatedblocks() - before < 1000
    assert view["inner.names[199999]"] == "n199999" and view["all[98].step"] == 98 and view["all[97].names"] == []
    assert sys.getallocatedblocks() - before < 2000, "of a long list, the first element that a path names comes alone"
    with pytest.raises(isoform.Usage, match="expected an index below 200000, found '.200000.'"):
        message.view()["inner.names[200000]"]
    with pytest.raises(isoform.Usage, match="no such field at inner.names: expected an index below 200000, found '.x'"):
        message.view()["inner.names.x"]
    assert message.view()["inner.names"] == names and message.view()["text"] == record.text
    assert view.inner.names == names and view["inner.names[3]"] == "n3" and view["all[99].step"] == 99
    assert view.inner.names is view.inner.names and view.text == record.text
    for again in (pickle.loads(pickle.dumps(message.view())), copy.deepcopy(message.view()), copy.copy(message.view())):
        assert again == view and again.inner.names == names
    assert "n199999" in repr(message.view())
    assert dict(message.view())["text"] == record.text


@dataclass
class Notes:
    texts: list[Optional[str]]


def test_lists_of_texts_that_may_be_none() -> None:
    notes = Notes(["a", None, "", "b"])
    assert isoform.Decoder(Notes).decode(isoform.Encoder(Notes).encode(notes)) == notes


def test_names_of_strangers_turn_no_text_around() -> None:
    format = isoform.Format.of_shape("record P\u202e\n  a\u200b  int\n")
    encoder = isoform.Encoder(format)
    batch = encoder.encode_many(np.zeros(2, format.dtype))
    message = encoder.encode((7,))
    shown: list[object] = [format, format.structure, *format.fields, encoder, message, batch, isoform.Decoder(format)]
    shown += [message.view(), isoform.Node().create("a\u202e")]
    for text in map(repr, shown):
        assert text.isprintable() and ("202e" in text or "200b" in text), text


def test_dicts_of_any_format() -> None:
    format = isoform.Format.of_shape("record R\n  n  int\n  big  u128\n  fine  f128\n  text  string", "s390x")
    message = isoform.Encoder(format).encode({"n": 0, "big": 2**127, "fine": Decimal("0.1"), "text": "hi"})
    view = message.view()
    assert (view.n, view.big, view.text, str(view.fine)) == (0, 2**127, "hi", "0.1")
    with pytest.raises(isoform.Usage) as fault:
        isoform.Encoder(format).encode({"nobody": 1})
    assert fault.value.code == isoform.Code.NoSuchField
    assert isoform.Decoder(format).decode(message) == view
    assert isoform.Encoder(format).encode(view).body == message.body


@dataclass
class Spot:
    x: float
    y: float = 0.5


@dataclass
class Buoy:
    name: str
    spot: Spot
    track: list[Spot]
    note: Optional[str]
    depth: list[float] = field(default_factory=lambda: [1.0, 2.0])
    home: Spot = field(default_factory=lambda: Spot(7.0))


def test_a_dict_that_lacks_a_field_gets_its_default_or_is_refused() -> None:
    encoder = isoform.Encoder(Buoy)
    message = encoder.encode({"name": "b", "spot": {"x": 1.0}, "track": [{"x": 2.0}, Spot(3.0, 4.0)]})
    whole = Buoy("b", Spot(1.0, 0.5), [Spot(2.0, 0.5), Spot(3.0, 4.0)], None, [1.0, 2.0], Spot(7.0, 0.5))
    assert isoform.Decoder(Buoy).decode(message) == whole
    lacking: list[tuple[dict[str, Any], str, str]] = [
        ({"spot": {"x": 1.0}, "track": []}, "name", "for name (string)"),
        ({"name": "b", "spot": {}, "track": [{}]}, "spot.x", "for spot.x (f64), track[].x (f64)"),
        ({"name": "b"}, "spot.x", "for spot.x (f64), track (Spot[])"),
    ]
    for record, path, expected in lacking:
        with pytest.raises(isoform.Mismatch) as fault:
            encoder.encode(record)
        assert (fault.value.code, fault.value.path) == (isoform.Code.Required, path)
        assert fault.value.expected == f'a value, a default, or the option missing="zero", {expected}'
    zeros = isoform.Encoder(Buoy, missing="zero").encode({"name": "b"})
    assert zeros.view()["spot.x"] == 0 and zeros.view()["spot.y"] == 0.5


class Other:
    """A note of another package."""


@pytest.mark.parametrize(
    ("annotation", "found"),
    [
        (Annotated[float, unit], "isoform.unit without its name"),
        (Annotated[list[float], length], "isoform.length without its name"),
        (Annotated[int, "i32"], "'i32'"),
        (Annotated[int, 4], "4"),
        (Annotated[int, np.int32], "the class int32"),
        (Annotated[int, np.dtype("i4")], "dtype('int32')"),
        (Annotated[int, i32, f32], "Type(words='i32', shape=()), Type(words='f32', shape=())"),
        (Annotated[float, unit("m"), unit("ft")], "Unit(name='m'), Unit(name='ft')"),
    ],
)
def test_notes_that_mean_nothing_are_refused(annotation: Any, found: str) -> None:
    with pytest.raises(isoform.BadInput) as fault:
        isoform.Format.of(dataclasses.make_dataclass("R", [("x", annotation)]))
    assert (fault.value.code, fault.value.path, fault.value.actual) == (isoform.Code.Declaration, "R.x", found)
    foreign = dataclasses.make_dataclass("R", [("x", Annotated[float, Other(), unit("m")])])
    assert isoform.Format.of(foreign).fields[0].unit == "m"


def test_names_in_notes_are_text() -> None:
    nothing: Any = 3.5
    for make in (unit, alias, length, lambda name: isoform.field("f4", unit=name), lambda name: isoform.field("f4", alias=[name]), lambda name: isoform.f32[name]):
        with pytest.raises(isoform.Usage) as fault:
            make(nothing)
        assert fault.value.code == isoform.Code.WrongType
    with pytest.raises(isoform.Usage, match="wrong type at field: expected a dtype"):
        isoform.field("f99")


@dataclass
class Mark:
    x: float
    notes: list[int] = field(default_factory=lambda: [9])


@dataclass
class Whole:
    step: int
    tags: list[float] = field(default_factory=lambda: [1.0, 2.0])
    pair: tuple[float, ...] = (1.0, 2.0)
    count: Optional[int] = 5
    text: Optional[str] = "x"
    home: Mark = field(default_factory=lambda: Mark(7.0))
    n: int = 0
    depth: Annotated[list[float], isoform.length("n")] = field(default_factory=lambda: [1.0, 2.0, 3.0])
    maybe: Optional[list[int]] = field(default_factory=lambda: [4])
    marks: list[Mark] = field(default_factory=lambda: [Mark(1.0)])
    none: list[int] = field(default_factory=list)
    array: npt.NDArray[np.float64] = field(default_factory=lambda: np.array([1.5]))


@dataclass
class Step:
    step: int


def test_every_default_of_a_class_is_one_for_senders_that_lack_the_field() -> None:
    message = isoform.Encoder(Step).encode(Step(1))
    decoder = isoform.Decoder(Whole)
    first, second = decoder.decode_many([message, message])
    for came in (first, second, isoform.Kinds(Whole).decode(message)):
        assert came.array.tolist() == [1.5]
        whole = dataclasses.replace(Whole(1), n=3)
        assert dataclasses.replace(came, array=whole.array) == whole
    assert first.tags is not second.tags
    sent = Whole(1, [], (), None, None, Mark(1.0, []), 0, [], [], [], [], np.array([]))
    came = decoder.decode(isoform.Encoder(Whole).encode(sent))
    assert dataclasses.replace(came, array=sent.array) == sent and came.array.tolist() == []
    assert isoform.Decoder(Whole, rules=[("tags", "zero", True)]).decode(message).tags == []
    # Columns have no class that would give them.
    for columns in (lambda: isoform.Columns(Whole).append([message]), lambda: isoform.Kinds(Whole).columns([message])):
        with pytest.raises(isoform.Mismatch, match="missing field at tags"):
            columns()


def test_defaults_within_nested_records_that_lack_them() -> None:
    place: Any = dataclasses.make_dataclass("Place", [("x", float)])
    annotated: Any = dataclasses.make_dataclass("Sent", [("home", place), ("marks", list[place])])
    wanted: Any = dataclasses.make_dataclass("Wanted", [("home", Mark), ("marks", list[Mark])])
    message = isoform.Encoder(annotated).encode(annotated(place(1.0), [place(2.0), place(3.0)]))
    assert isoform.Decoder(wanted).decode(message) == wanted(Mark(1.0), [Mark(2.0), Mark(3.0)])


def test_a_default_of_an_array_is_an_array() -> None:
    wrong: Any = dataclasses.make_dataclass("Wrong", [("v", list[float], 5)])
    with pytest.raises(isoform.BadInput, match="a list, a tuple or an array as the default of an array, found 5"):
        isoform.Decoder(wrong)


def test_an_object_that_lacks_a_field_is_refused() -> None:
    class Plain:
        __slots__ = ("a", "b", "c")
        a: int
        b: float
        c: Optional[str]

    plain = Plain()
    plain.a = 1
    with pytest.raises(isoform.Mismatch) as fault:
        isoform.Encoder(Plain).encode(plain)
    assert (fault.value.code, fault.value.path) == (isoform.Code.Required, "b")
    plain.b = 0.5
    assert isoform.Encoder(Plain).encode(plain).view().c is None
    format = isoform.Format.of_shape("record R\n a int\n text string\n n int\n v double[n]")
    row = np.array([(1,)], [("a", "i4")])[0]
    for record in ({"a": 1}, {}, row, types.SimpleNamespace(a=1)):
        with pytest.raises(isoform.Mismatch, match="missing field at (text|a): expected a value, a default, or"):
            isoform.Encoder(format).encode(record)
    rules = [("text", "default", "none"), ("v", "zero", True)]
    assert dict(isoform.Encoder(format, rules=rules).encode({"a": 1}).view())["text"] == "none"
    waves = np.arange(100.0)  # which is sent from its memory
    assert isoform.Encoder(format).encode({"a": 1, "text": "", "v": waves}).view().n == 100
    with pytest.raises(isoform.Mismatch, match="for text"):
        isoform.Encoder(format).encode({"a": 1, "v": waves})
    with pytest.raises(isoform.Mismatch, match="for v"):
        isoform.Encoder(format).encode({"a": 1, "text": ""})


def test_rows_that_lack_a_field_get_its_default_or_are_refused() -> None:
    point = np.dtype([("x", "f8"), ("y", isoform.field("f8", default=0.5))])
    dtype = np.dtype([("n", "i4"), ("ends", point, (2,)), ("tag", isoform.field(("i2", (2,)), default=3))])
    encoder = isoform.Encoder(dtype)
    whole = encoder.encode((1, [(2.0, 0.5), (3.0, 4.0)], (3, 3)))
    for record in ({"n": 1, "ends": [{"x": 2.0}, (3.0, 4.0)]}, (1, [(2.0,), (3.0, 4.0)])):
        assert encoder.encode(record).body == whole.body
    assert encoder.encode_many([{"n": 1, "ends": [(2.0,), (3.0, 4.0)]}] * 2)[1].body == whole.body  # type: ignore[index]
    lacking: list[tuple[Any, str]] = [
        ({"n": 1}, "ends"),
        ((1, [(2.0,), ()]), "ends[1].x"),
        ([(1, [(2.0,), (3.0,)]), (1,)], "[1].ends"),
        ([{"n": 1, "ends": [{"y": 2.0}, (3.0, 4.0)]}], "[0].ends[0].x"),
    ]
    for record, path in lacking:
        with pytest.raises(isoform.Mismatch, match="default=") as fault:
            encoder.encode_many(record)
        assert (fault.value.code, fault.value.path) == (isoform.Code.Required, path)
    for wrong in ((1, 2, 3, 4), {"n": 1, "m": 2}):
        with pytest.raises(isoform.Usage):
            encoder.encode(wrong)


class Inner(ctypes.Structure):
    _fields_ = [("a", ctypes.c_uint16), ("b", ctypes.c_double)]


class Outer(ctypes.Structure):
    _fields_ = [("tag", ctypes.c_char * 6), ("inner", Inner * 2), ("n", ctypes.c_int64), ("ok", ctypes.c_bool)]


class Pointing(ctypes.Structure):
    _fields_ = [
        ("n", ctypes.c_int),
        ("name", ctypes.c_char_p),
        ("depth", ctypes.POINTER(ctypes.c_float)),
        ("inner", ctypes.POINTER(Inner)),
    ]
    _lengths_ = {"depth": "n"}


class Foreign(ctypes.BigEndianStructure if sys.byteorder == "little" else ctypes.LittleEndianStructure):  # type: ignore[misc]
    _fields_ = [("a", ctypes.c_int16), ("b", ctypes.c_double * 3)]


def test_a_length_of_no_pointer_is_refused() -> None:
    """Before, the field was sent as if it had no length: one element, or all of an array."""

    def of(kind: Any, lengths: dict[str, str]) -> Any:
        fields = [("n", ctypes.c_int), ("depth", kind)]
        return type("Levels", (ctypes.Structure,), {"_fields_": fields, "_lengths_": lengths})

    for kind, name in ((ctypes.POINTER(ctypes.c_double), "deph"), (ctypes.c_double * 4, "depth")):
        with pytest.raises(isoform.BadInput, match=f"at Levels._lengths_: .*, found '{name}'"):
            isoform.Encoder(of(kind, {name: "n"}))
    with pytest.raises(isoform.BadInput, match="expected a structure, since a union does not say"):
        isoform.Encoder(type("Either", (ctypes.Union,), {"_fields_": [("a", ctypes.c_int)]}))


class Exact(ctypes.Structure):
    _fields_ = [
        ("key", ctypes.c_char * 8),
        ("keys", ctypes.c_char * 3 * 2),
        ("third", ctypes.c_longdouble),
        ("thirds", ctypes.c_longdouble * 2),
    ]


class ExactBehind(ctypes.Structure):
    _fields_ = [("inner", Exact), ("n", ctypes.c_int), ("text", ctypes.POINTER(ctypes.c_char)), ("far", ctypes.POINTER(ctypes.c_longdouble))]
    _lengths_ = {"text": "n", "far": "n"}


def test_a_pointer_changes_no_other_field_of_a_structure() -> None:
    """Before, text was cut at its first NUL, and a long double rounded to a double."""
    third = np.ones(4, np.longdouble) / 3
    outer, text = ExactBehind(n=4), ctypes.create_string_buffer(b"p\0q\0", 4)
    outer.far = ctypes.cast(third.ctypes.data, ctypes.POINTER(ctypes.c_longdouble))
    outer.text = ctypes.cast(text, ctypes.POINTER(ctypes.c_char))
    inner = outer.inner
    for field, source in ((Exact.key, b"ab\0cdefg"), (Exact.keys, b"x\0y\0zz"), (Exact.third, third[:1]), (Exact.thirds, third[:2])):
        ctypes.memmove(ctypes.addressof(inner) + field.offset, source if isinstance(source, bytes) else source.ctypes.data, field.size)
    plain, pointing = isoform.Encoder(Exact).encode(inner), isoform.Encoder(ExactBehind).encode(outer)
    assert pointing.body[: Exact.third.offset] == plain.body[: Exact.third.offset]
    view = pointing.view()
    for name in ("third", "thirds"):
        assert np.array_equal(view.inner[name], plain.view()[name])
    assert view.text == "p\0q\0" and list(view.far) == [plain.view().third] * 4


def test_a_field_with_which_no_object_can_be_made_is_refused() -> None:
    @dataclass
    class Counted:
        step: int
        count: int = dataclasses.field(init=False, default=3)

    with pytest.raises(isoform.BadInput, match="made with, or a ClassVar, found field.init=False") as fault:
        isoform.Encoder(Counted)
    assert fault.value.path == "Counted.count"


class Raising:
    def __init__(self, method: str, fault: BaseException) -> None:
        self.method, self.fault = method, fault

    def _raise(self, method: str) -> Any:
        if method == self.method:
            raise self.fault
        raise TypeError

    def __index__(self) -> int:
        return int(self._raise("index"))

    def __float__(self) -> float:
        return float(self._raise("float"))

    def __iter__(self) -> Any:
        return self._raise("iter")


@dataclass
class Numbers:
    whole: int = 0
    real: float = 0.0
    many: list[int] = dataclasses.field(default_factory=list)


@pytest.mark.parametrize("fault", [KeyboardInterrupt(), ValueError("not now")], ids=repr)
@pytest.mark.parametrize("field, method", [("whole", "index"), ("real", "index"), ("real", "float"), ("many", "iter")])
def test_what_a_value_raises_is_passed_on(field: str, method: str, fault: BaseException) -> None:
    with pytest.raises(type(fault)) as passed:
        isoform.Encoder(Numbers).encode({field: Raising(method, fault)})
    assert passed.value is fault


def test_what_is_no_number_is_an_error_of_its_field() -> None:
    encoder = isoform.Encoder(Numbers)
    for field in ("whole", "real", "many"):
        with pytest.raises(isoform.Usage) as fault:
            encoder.encode({field: Raising("nothing", ValueError())})
        assert fault.value.path == field
    with pytest.raises(isoform.Mismatch) as large:
        encoder.encode({"real": Fraction(10**400)})
    assert (large.value.code, large.value.path) == (isoform.Code.Overflow, "real")


def test_a_lone_surrogate_is_an_error_of_its_field() -> None:
    @dataclass
    class Named:
        names: list[str]

    dtype = np.dtype([("name", "S4")])
    wrong: list[tuple[Any, Any, str]] = [
        (Named, [Named(["a"]), Named(["b", "c\ud800"])], "[1].names[1]"),
        (dtype, [("a",), ("c\ud800",)], "[1].name"),
    ]
    for kind, records, path in wrong:
        with pytest.raises(isoform.Usage, match="expected text that UTF-8 can represent, found a lone surrogate at index 1") as fault:
            isoform.Writer(io.BytesIO(), kind).write(records)
        assert fault.value.path == path


def test_none_is_the_default_of_a_text() -> None:
    @dataclass
    class Named:
        step: int
        name: str = None  # type: ignore[assignment]

    @dataclass
    class Step:
        step: int

    assert isoform.Decoder(Named).decode(isoform.Encoder(Step).encode(Step(1))) == Named(1, None)  # type: ignore[arg-type]
    assert isoform.Encoder(Named).encode({"step": 1}).json() == '{"step":1,"name":null}'


def test_ctypes_structures() -> None:
    format = isoform.Format.of(Outer)
    assert (format.size, format.alignment) == (ctypes.sizeof(Outer), ctypes.alignment(Outer))
    assert {field.name: field.offset for field in format.fields} == {
        name: getattr(Outer, name).offset for name in ("tag", "inner", "n", "ok")
    }
    outer = Outer(b"tag", (Inner * 2)(Inner(1, 0.5), Inner(2, 1.5)), -7, True)
    came = isoform.Decoder(Outer).decode(isoform.Encoder(Outer).encode(outer))
    assert (came.tag, came.inner[1].b, came.n, came.ok) == (b"tag", 1.5, -7, True)
    many = isoform.Encoder(Outer).encode_many((Outer * 3)(outer, outer, outer))
    assert many is not None
    assert [each.n for each in isoform.Decoder(Outer).decode_many(many)] == [-7] * 3
    foreign = isoform.Encoder(Foreign).encode(Foreign(5, (1, 2, 3)))
    assert foreign.view()["b"].tolist() == [1, 2, 3] and foreign.format.byte_order != sys.byteorder


def test_a_ctypes_structure_with_more_fields_is_another() -> None:
    class More(Inner):
        _fields_ = [("c", ctypes.c_int)]

    class Same(Inner):
        pass

    encoder = isoform.Encoder(Inner)
    assert encoder.encode(Same(1, 0.5)).body == encoder.encode(Inner(1, 0.5)).body
    for encode in (encoder.encode, encoder.encode_many):
        with pytest.raises(isoform.Usage) as fault:
            encode(More(1, 0.5, 2))
        assert (fault.value.code, fault.value.actual) == (isoform.Code.WrongType, "More")


def test_ctypes_structures_with_pointers() -> None:
    inner = Inner(3, 0.75)
    record = Pointing(2, b"name", (ctypes.c_float * 2)(0.5, 1.5), ctypes.pointer(inner))
    view = isoform.Encoder(Pointing).encode(record).view()
    assert (view.n, view.name, view.depth.tolist(), view.inner.b) == (2, "name", [0.5, 1.5], 0.75)
    empty = isoform.Encoder(Pointing).encode(Pointing()).view()
    assert (empty.name, len(empty.depth), empty.inner) == (None, 0, None)


def test_formats_that_arrays_cannot_hold_say_which_field() -> None:
    with pytest.raises(isoform.Usage) as fault:
        isoform.Format.of(Track).dtype
    assert fault.value.path == "Track.station"


WAVES = isoform.Format.of_shape(
    """record Point
  x  f64
  y  f64
record Waves
  name    string
  n       i32
  time    f64[n]
  level   f32[n]
  rows    i32
  cols    u16
  image   u8[rows][cols]
  points  Point[2]
  note    string
"""
)


def waves(count: int) -> dict[str, Any]:
    return {
        "name": "w",
        "time": np.arange(count, dtype="f8"),
        "level": np.arange(count, dtype="f4"),
        "image": np.arange(2 * count, dtype="u1").reshape(2, count)[:, ::-1],
        "points": [{"x": 1, "y": 2}, {"x": 3, "y": 4}],
        "note": "n" * count,
    }


@pytest.mark.parametrize("count", [3, 100, 60000])
def test_large_arrays_make_the_same_bodies_as_lists(count: int) -> None:
    encoder = isoform.Encoder(WAVES)
    record = waves(count)
    listed = {name: item.tolist() if isinstance(item, np.ndarray) else item for name, item in record.items()}
    message = encoder.encode(record)
    assert message.body == encoder.encode(listed).body
    assert message.body == encoder.encode({**record, "n": count}).body
    assert message.body == encoder.encode({**record, "level": record["level"].astype("f8")}).body
    view = message.view()
    assert view.n == count and view["image"].shape == (2, count) and view.note == "n" * count


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"level": np.zeros(99, "f4")}, "Lengths"),
        ({"n": 99}, "Lengths"),
        ({"image": np.zeros((2, 40000), "u1"), "rows": 3}, "Lengths"),
        ({"image": np.zeros((2, 70000), "u1")}, "Overflow"),
        ({"image": np.zeros(200, "u1")}, "WrongType"),
        ({"time": np.array(["a"] * 100)}, "WrongType"),
        ({"time": np.ma.array(np.zeros(100), mask=np.arange(100) == 50)}, "WrongType"),
    ],
)
def test_large_arrays_that_do_not_fit_are_refused(change: dict[str, Any], code: str) -> None:
    encoder = isoform.Encoder(WAVES)
    with pytest.raises(isoform.Error) as fault:
        encoder.encode({**waves(100), **change})
    assert fault.value.code == isoform.Code[code]
    assert encoder.encode(waves(100)).view().n == 100
