"""`isoform.open`: files as messages, records, and columns."""

from __future__ import annotations

import warnings
from pathlib import Path

import isoform
import numpy as np
import pytest

OLD = np.dtype([("step", ">i4"), ("depth", ">f8")])
NEW = np.dtype([("depth", "f4"), ("wind", "f8")])


@pytest.fixture
def river(tmp_path: Path) -> Path:
    path = tmp_path / "river.iso"
    with isoform.Writer(path, OLD) as stream:
        stream.write(np.array([(1, 0.5), (2, 0.25)], OLD))
    return path


def test_a_file_is_read_in_one_line_and_again(river: Path) -> None:
    file = isoform.open(river)
    for _ in range(2):
        assert [message.view().step for message in file] == [1, 2]
        records = isoform.open(str(river)).records()
        assert records["step"].tolist() == [1, 2] and records["depth"].tolist() == [0.5, 0.25]
    columns = file.columns(["depth"])
    assert columns.names == ["depth"] and columns["depth"].tolist() == [0.5, 0.25]
    seen = file.records(NEW, missing="zero")
    assert seen.dtype == NEW and seen["depth"].tolist() == [0.5, 0.25] and seen["wind"].tolist() == [0, 0]
    with pytest.raises(isoform.Mismatch, match="wind"):
        file.records(NEW)


def test_records_of_several_names_are_chosen_by_name(tmp_path: Path) -> None:
    path = tmp_path / "mixed.iso"
    other = np.dtype([("name", "S4")])
    encoders = [isoform.Encoder(OLD, name="Level"), isoform.Encoder(other, name="Gauge")]
    with isoform.Writer(path) as stream:
        for step in range(3):
            stream.write(encoders[0].encode(np.array((step, 0.5), OLD)[()]))
            stream.write(encoders[1].encode(np.array((b"Ferr",), other)[()]))
    file = isoform.open(path)
    assert {format.name for format in file.formats()} == {"Level", "Gauge"}
    assert file.records(name="Level")["step"].tolist() == [0, 1, 2]
    assert len(file.columns(name="Gauge")) == 3
    assert file.records(name="Gauge")["name"].tolist() == [b"Ferr"] * 3
    with pytest.raises(isoform.Usage, match="several names in .*, Level, Gauge: choose one by name='Level'"):
        file.records()
    with pytest.raises(isoform.Usage, match="expected records of Nobody, found Level, Gauge"):
        file.columns(name="Nobody")


def test_what_is_no_file_is_told_at_once(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        isoform.open(str(tmp_path / "nowhere.iso"))
    with isoform.Writer(tmp_path / "empty.iso", OLD):
        pass
    with pytest.raises(isoform.Usage, match="found no records"):
        isoform.open(tmp_path / "empty.iso").records()


VOLT = np.dtype([("i", "i4"), ("volt", "f8")])
LABEL = np.dtype([("i", "i4"), ("big", "i8")])


@pytest.fixture
def mixed(tmp_path: Path) -> Path:
    """Two kinds of records of one name, as a program may emit them; the second one twice, from two machines."""
    path = tmp_path / "mixed.iso"
    encoders = [isoform.Encoder(dtype, name="mix") for dtype in (VOLT, LABEL, LABEL.newbyteorder(">"))]
    with isoform.Writer(path) as stream:
        for i in range(3):
            stream.write(encoders[0].encode_many(np.array([(i, i / 4)], VOLT)))
            stream.write(encoders[1 + i % 2].encode_many(np.array([(i, i + 2**53)], encoders[1 + i % 2].format.dtype)))
    return path


def test_a_kind_is_chosen_by_number_or_format(mixed: Path) -> None:
    file = isoform.open(mixed)
    kinds = file.kinds()
    assert [[field.name for field in format.fields] for format in kinds] == [["i", "volt"], ["i", "big"]]
    assert file.columns(kind=1)["volt"].tolist() == [0, 0.25, 0.5]
    for columns in (file.columns(kind=2), file.columns(name="mix", kind=kinds[1]), file.columns(record=kinds[1])):
        assert columns["i"].tolist() == [0, 1, 2] and columns["big"].tolist() == [2**53, 2**53 + 1, 2**53 + 2]
    assert file.columns(["i"], kind=2)["i"].tolist() == [0, 1, 2]
    assert file.records(kind=2)["big"].tolist() == [2**53, 2**53 + 1, 2**53 + 2]
    assert file.records(LABEL, kind=2).dtype == LABEL
    for kind in (0, 3, -1):
        with pytest.raises(isoform.Usage, match="a number from 1 to 2, or a format"):
            file.columns(kind=kind)
    assert file.kinds("other") == []
    with pytest.raises(isoform.Usage, match="records of other"):
        file.columns(name="other")


@pytest.mark.parametrize("fields", [None, ["i"], ["i", "volt"], ["i", "big"]])
def test_several_kinds_are_told_and_not_mixed(mixed: Path, fields: list[str] | None) -> None:
    file = isoform.open(mixed)
    for missing in ("refuse", "zero"):
        with pytest.raises(isoform.Usage, match=r"kind=1 .. kind=2 \(1: i i32, volt f64; 2: i i32, big i64\)"):
            file.columns(fields, missing=missing)
    with pytest.raises(isoform.Mismatch, match="volt.*kind=1"):
        file.records(VOLT)
    with pytest.warns(RuntimeWarning, match=r"with the fields big, i lack volt, which is zero in their rows.*kind=1") as told:
        assert file.records(VOLT, missing="zero")["volt"].tolist() == [0, 0, 0.25, 0, 0.5, 0]
    assert len(told) == 1 and told[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # all kinds have this field
        assert file.columns(record=np.dtype([("i", "i8")]), missing="zero")["i"].tolist() == [0, 0, 1, 1, 2, 2]


def test_kinds_with_other_types_for_one_field_are_told(tmp_path: Path) -> None:
    path = tmp_path / "types.iso"
    with isoform.Writer(path) as stream:
        for record in (np.array([(1,)], [("v", "i8")]), np.array([([1, 2],)], [("v", "i8", 2)])):
            stream.write(isoform.Encoder(record.dtype, name="x").encode_many(record))
    with pytest.raises(isoform.Mismatch, match=r"kind=1 .. kind=2 \(1: v i64; 2: v i64\[2\]\)"):
        isoform.open(path).columns()
    assert isoform.open(path).columns(kind=2)["v"].tolist() == [[1, 2]]


def test_a_query_may_fit_a_format_further_on(mixed: Path) -> None:
    messages = list(isoform.Reader(mixed, query="select big"))
    assert [message.view().big for message in messages] == [2**53, 2**53 + 1, 2**53 + 2]
    assert isoform.open(mixed, query="select i, big").columns()["i"].tolist() == [0, 1, 2]
    with pytest.raises(isoform.Usage, match="nobody"):
        list(isoform.Reader(mixed, query="select nobody"))
    with mixed.open("rb") as pipe, pytest.raises(isoform.Usage, match="big"):  # it may have no end
        list(isoform.Reader(pipe, query="select big"))


def test_the_whole_part_of_a_cut_file_is_read_if_that_is_asked_for(river: Path) -> None:
    river.write_bytes(river.read_bytes()[:-9])
    with pytest.raises(isoform.BadInput, match="at .*river.iso"):
        isoform.open(river).columns()
    with pytest.warns(RuntimeWarning, match="river.iso.*what is whole was read"):
        assert isoform.open(river, damage="skip").columns()["step"].tolist() == [1]
    assert isoform.open(river, damage="ignore").records()["step"].tolist() == [1]
    assert isoform.open(river, damage="ignore", query="select step").records()["step"].tolist() == [1]
    with pytest.raises(isoform.BadInput, match="river.iso"):
        isoform.open(river, query="select step").records()
    with pytest.raises(isoform.Usage, match="error, skip or ignore"):
        isoform.open(river, damage="heal")


def test_what_only_recordings_have_is_said_with_the_file(river: Path) -> None:
    with pytest.raises(isoform.Usage, match="river.iso: expected a recording, of which a part"):
        isoform.open(river, start=1)
    with pytest.raises(isoform.Usage, match="river.iso: expected a recording, which has channels"):
        isoform.open(river, channel="x")
    message = next(iter(isoform.open(river)))
    stamps: list[object] = [message.topic, message.source, message.sequence, message.submitted, message.recorded]
    assert stamps == [None] * 5
    with pytest.raises(isoform.Usage, match="messages of a recording"):
        isoform.open(river).columns(stamps=True)
