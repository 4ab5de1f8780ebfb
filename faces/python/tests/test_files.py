"""`isoform.open`: files as messages, records, and columns."""

from __future__ import annotations

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
    with pytest.raises(isoform.Usage, match="expected the name of its records, found Level, Gauge"):
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
