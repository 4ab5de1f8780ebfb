"""Source code that `isoform xmit gen` writes for Python: the same tokens as its documents, and the records of the vectors, which the
tests of other languages write as well. `crates/xmit/tests/back.rs` sees to it that the code is what is written today."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import isoform
import numpy as np
import pytest

GENERATED = Path(__file__).parents[3] / "crates/xmit/tests/generated"
# The vectors are those of a machine of this kind.
SAME = sys.byteorder == "little" and sys.maxsize > 2**32


def module(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"generated_{name}", GENERATED / f"{name}.py")
    assert spec is not None and spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = made
    spec.loader.exec_module(made)
    return made


track = module("track")
everything = None if sys.version_info < (3, 10) else module("everything")


def same_as_its_document(record: Any, document: str, name: str) -> None:
    expected = isoform.Format.of_document(str(GENERATED / document), name)
    found = isoform.Format.of(record)
    assert found == expected, f"{found}\n{expected}"
    assert found.token == expected.token


def back_and_forth(record: type[Any], file: str) -> Any:
    (message,) = isoform.Reader(GENERATED / file)
    came = isoform.Decoder(record).decode(message)
    assert isoform.Encoder(record).encode(came).body == message.body
    return came


def test_track() -> None:
    same_as_its_document(track.Track, "track.idl", "Track")
    same_as_its_document(track.Place, "track.idl", "Place")
    assert track.Place_dtype == np.dtype([("x", "f8"), ("y", "f8")])
    if SAME:
        came = back_and_forth(track.Track, "track.bin")
        assert (came.ull, came.c, came.name, came.colour) == (18 * 10**18, "q", "Old Mill", track.TrackColour.GREEN)
        assert came.ends == [track.Place(2.0, -0.5), track.Place(3.0, -0.75)] and came.grid[1][2] == 6
        assert (came.samples, came.path[1].x, came.maybe, came.other) == ([0.5, -0.25, 3.0], 5.0, 2.5, None)


@pytest.mark.skipif(everything is None, reason="Python 3.10 is needed for fields with defaults before others")
def test_everything() -> None:
    assert everything is not None
    same_as_its_document(everything.type_, "everything.xsd", "type")
    same_as_its_document(everything.Part, "everything.xsd", "Part")
    if SAME:
        came = back_and_forth(everything.type_, "everything.bin")
        assert (came.match, came.level, came.kind, came.raw) == ("a \u00e9", 1.25, everything.typeKind["self"], [0, 255, 7])
        assert came.parts == [everything.Part(1.0, "one"), everything.Part(2.0, None)] and came.tags == ["red", "blue"]
    # The defaults of the document are those of the class.
    old = isoform.Format.of_shape("record type\n  match  string\n  at  i64  unit=\"ns since 1970-01-01T00:00:00Z\"")
    with pytest.raises(isoform.Error, match="raw"):
        isoform.Decoder(everything.type_).decode(isoform.Encoder(old).encode({"match": "x", "at": 1}))
    came = isoform.Decoder(everything.type_, missing="zero").decode(isoform.Encoder(old).encode({"match": "x", "at": 1}))
    assert (came.level, came.count, came.name, came.on, came.kind) == (0.5, 7, "none", True, everything.typeKind.a_b)
