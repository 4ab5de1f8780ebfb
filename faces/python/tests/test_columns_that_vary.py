"""Columns of values whose size varies, for NumPy and for Arrow, and columns of Arrow as such records."""

from __future__ import annotations

import enum
import gc
import io
from dataclasses import dataclass, fields
from typing import Any, Optional

import isoform
import numpy as np
import pytest


class Light(enum.Enum):
    OFF = 0
    ON = 7


@dataclass
class Spot:
    name: Optional[str]
    at: list[float]


@dataclass
class Ship:
    """With a field of each kind that varies in size."""

    name: str
    note: Optional[str]
    depth: list[float]
    crew: list[str]
    lights: list[Light]
    spots: list[Spot]
    home: Spot
    length: Optional[float]
    light: Light
    flags: list[bool]
    step: int
    last: Optional[Spot] = None


def ships(count: int) -> list[Ship]:
    return [
        Ship(
            f"ship {n} é",
            None if n % 3 else f"note {n}",
            [n + 0.5] * (n % 4),
            ["a", "", "ccc"][: n % 4],
            [Light.ON, Light.OFF][: n % 3],
            [Spot(f"s{k}" if k else None, [k / 2] * k) for k in range(n % 3)],
            Spot("home", [1.0, n]),
            None if n % 2 else n / 4,
            Light.ON if n % 2 else Light.OFF,
            [True, False, True][: n % 4],
            n,
            Spot("last", [9.0]) if n % 2 else None,
        )
        for n in range(count)
    ]


def messages(records: list[Any]) -> list[isoform.Message]:
    encoder = isoform.Encoder(type(records[0]))
    return [encoder.encode(record) for record in records]


def plain(value: Any) -> Any:
    """A value as Arrow and columns show it."""
    if isinstance(value, enum.Enum):
        return value.name
    if isinstance(value, list):
        return [plain(item) for item in value]
    if isinstance(value, Spot):
        return {"name": value.name, "at": value.at}
    return value



NAMES = [field.name for field in fields(Ship)]


def test_text_arrays_and_records_are_columns_of_objects() -> None:
    sent = ships(10)
    columns = isoform.Columns(Ship)
    columns.append(messages(sent))
    assert columns.names == NAMES and len(columns) == 10
    for name in NAMES:
        column = columns[name]
        assert column.shape == (10,) and not column.flags.writeable
        if name not in ("light", "step"):
            assert column.tolist() == [plain(getattr(ship, name)) for ship in sent]
    assert columns["light"].dtype == np.int32 and columns["step"].tolist() == list(range(10))
    some = isoform.Columns(Ship, ["spots.name", "spots.at", "last.at", "home.name", "depth_len"])
    some.append(messages(sent))
    assert some["spots.name"].tolist() == [[spot.name for spot in ship.spots] for ship in sent]
    assert some["spots.at"].tolist() == [[spot.at for spot in ship.spots] for ship in sent]
    assert some["last.at"].tolist() == [ship.last and ship.last.at for ship in sent]
    assert some["home.name"].tolist() == ["home"] * 10
    assert some["depth_len"].tolist() == [len(ship.depth) for ship in sent]
    columns.clear()
    assert len(columns["name"]) == 0


def test_arrow_has_text_lists_dictionaries_and_structs() -> None:
    arrow = pytest.importorskip("pyarrow")
    sent = ships(100)
    columns = isoform.Columns(Ship)
    columns.append(messages(sent[:50]))
    first = arrow.record_batch(columns)
    columns.append(messages(sent[50:]))
    record = arrow.record_batch(columns)
    for batch, wanted in ((first, sent[:50]), (record, sent)):
        batch.validate(full=True)
        for name in NAMES:
            assert batch.column(name).to_pylist() == [plain(getattr(ship, name)) for ship in wanted]
    kinds = {field.name: (str(field.type).split("<")[0], field.nullable) for field in record.schema}
    assert kinds["name"] == kinds["note"] == ("large_string", True)
    assert kinds["depth"] == ("large_list", False) and kinds["length"] == ("double", True)
    assert kinds["light"] == ("dictionary", False) and kinds["last"] == ("struct", True)
    assert record.column("note").null_count == 66 and record.column("depth").values.type == arrow.float64()
    # Without a copy, and as long as Arrow needs it.
    again = arrow.record_batch(columns)
    assert again.column("depth").values.buffers()[1].address == record.column("depth").values.buffers()[1].address
    del columns, again
    gc.collect()
    assert arrow.Table.from_batches([record]).slice(90)["name"].to_pylist() == [ship.name for ship in sent[90:]]
    empty = arrow.record_batch(isoform.Columns(Ship))
    empty.validate(full=True)
    assert empty.num_rows == 0


def test_what_arrow_has_is_sent_again_as_the_same_records() -> None:
    arrow = pytest.importorskip("pyarrow")
    sent, stream = ships(10), io.BytesIO()
    columns = isoform.Columns(Ship)
    columns.append(messages(sent))
    with isoform.Writer(stream, Ship) as writer:
        writer.write(arrow.table(columns))
    stream.seek(0)
    assert isoform.Decoder(Ship).decode_many(isoform.Reader(stream)) == sent


def test_lists_and_nulls_of_arrow_are_records_of_a_class() -> None:
    arrow = pytest.importorskip("pyarrow")

    @dataclass
    class Gauge:
        level: Optional[float]
        on: Optional[bool]
        depth: list[float]
        crew: list[str]
        spots: list[Spot]

    table = arrow.table(
        {
            "level": [1.5, None],
            "on": [None, True],
            "depth": [[0.5, 2.5], []],
            "crew": [["a", ""], []],
            "spots": [[{"name": None, "at": [1.0]}, {"name": "s", "at": []}], []],
        }
    )
    assert table.schema.field("depth").type == arrow.list_(arrow.float64())
    stream = io.BytesIO()
    with isoform.Writer(stream, Gauge) as writer:
        writer.write(table)
    stream.seek(0)
    wanted = [Gauge(1.5, None, [0.5, 2.5], ["a", ""], [Spot(None, [1.0]), Spot("s", [])]), Gauge(None, True, [], [], [])]
    assert isoform.Decoder(Gauge).decode_many(isoform.Reader(stream)) == wanted


def test_other_layouts_rules_and_faults_apply_to_them_too() -> None:
    shape = "record Ship\n  title  string\n  n  short\n  depth  float[n]\n  step  int"
    sender = isoform.Format.of_shape(shape, "powerpc")
    message = isoform.Encoder(sender).encode({"title": "one", "depth": [0.5, 1.5], "step": 300})
    receiver = isoform.Format.of_shape("record Ship\n  name  string\n  n  int\n  depth  double[n]\n  step  unsigned char\n  note  string")
    rules = [("name", "alias", "title"), ("note", "default", "none")]
    columns = isoform.Columns(receiver, ["name", "depth", "note"], rules=rules)
    columns.append([message])
    assert [columns[name].tolist() for name in columns.names] == [["one"], [[0.5, 1.5]], ["none"]]
    every = isoform.Columns(receiver, rules=rules)
    for _ in range(2):
        with pytest.raises(isoform.Mismatch) as fault:
            every.append([message])
        assert fault.value.path == "step"
        assert len(every) == len(every["name"]) == len(every["depth"]) == len(every["step"]) == 0
    with pytest.raises(isoform.Mismatch, match="missing field"):
        isoform.Columns(receiver, ["name", "note"], rules=rules[:1]).append([message])


def test_text_that_is_no_utf8_is_refused_by_arrow_alone() -> None:
    arrow = pytest.importorskip("pyarrow")
    format = isoform.Format.of_shape("record R\n  n  int\n  names  string[n]")
    columns = isoform.Columns(format)
    columns.append([isoform.Encoder(format).encode({"names": ["a", "\udcff"]})])
    assert columns["names"].tolist() == [["a", "\udcff"]]
    with pytest.raises(isoform.BadInput, match="UTF-8") as fault:
        arrow.record_batch(columns)
    assert fault.value.code == isoform.Code.Utf8


def test_a_type_that_arrow_lacks_is_refused_where_its_size_varies() -> None:
    format = isoform.Format.of_shape("record R\n  n  int\n  wide  i128[n]\n  text  string")
    with pytest.raises(isoform.Usage) as fault:
        isoform.Columns(format)
    assert (fault.value.code, fault.value.path) == (isoform.Code.WrongType, "wide")
    assert isoform.Columns(format, ["text"]).names == ["text"]
