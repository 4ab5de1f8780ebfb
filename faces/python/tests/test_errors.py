"""The one error table is the same in Python."""

from __future__ import annotations

import ctypes
import pickle
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import isoform
import numpy as np
import pytest
from isoform._isoform import codes

SPEC = (Path(__file__).parents[3] / "spec/errors.md").read_text()


def test_codes_are_those_of_the_specification() -> None:
    table = {name: int(number) for number, name in re.findall(r"^\| (\d+) \| (\w+) \|", SPEC, re.M)}
    assert table == {code.name: code.value for code in isoform.Code}
    assert {name: number for number, name, _ in codes()} == table


def test_every_code_has_the_class_of_the_specification() -> None:
    names = dict(re.findall(r"^\| \d+ \| (\w+) \| ([\w ]+) \|", SPEC, re.M))
    words = {"LimitReached": "limit", "BadInput": "bad input"}
    for _, name, cls in codes():
        assert issubclass(getattr(isoform, cls), isoform.Error)
        assert words.get(cls, cls.lower()) == names[name]


ROW = np.dtype([("a", "i4"), ("g", "f8", (3,))])


def test_what_a_view_or_columns_lack_is_a_key_error_too() -> None:
    message = isoform.Encoder(ROW).encode((1, [1, 2, 3]))
    view: Any = message.view()
    columns: Any = isoform.Columns(ROW)
    columns.append([message])
    for mapping in (view, columns):
        for kind in (isoform.Usage, KeyError):
            with pytest.raises(kind, match="no such field: expected one of a, g, found 'b'") as fault:
                mapping["b"]
        error: Any = fault.value
        assert error.code == isoform.Code.NoSuchField
        assert str(pickle.loads(pickle.dumps(error))) == str(error)
        assert "b" not in mapping and "a" in mapping
    assert view.get("b") is None and view["g[1]"] == 2
    with pytest.raises(isoform.Usage, match="the name of a column, one of a, g, which has all elements, found 'g.1.'"):
        columns["g[1]"]
    with pytest.raises(isoform.Usage, match="a whole field, without an index, found g.1."):
        isoform.Columns(ROW, ["g[1]"])


class Pair(ctypes.Structure):
    _fields_ = [("a", ctypes.c_int), ("b", ctypes.c_double)]


@dataclass
class Step:
    step: int = 0


def test_wrong_arguments_are_errors_of_isoform(tmp_path: Path) -> None:
    message: Any = isoform.Encoder(Step).encode(Step())
    decoder: Any = isoform.Decoder(ROW)
    kinds: Any = isoform.Kinds(Step)
    encoder: Any = isoform.Encoder
    pairs: Any = isoform.Encoder(Pair)
    text = tmp_path / "text"
    text.write_text("text")
    for_reading: Any
    for_writing: Any
    with open(text) as for_reading, open(tmp_path / "out", "w") as for_writing:
        wrong: list[tuple[Callable[[], Any], str]] = [
            (lambda: decoder.decode(np.zeros(1, ROW)), "a message, as Reader"),
            (lambda: decoder.decode(bytes(message)), "a message, as Reader"),
            (lambda: kinds.decode(Step()), "a message, as Reader"),
            (lambda: decoder.explain(ROW), "a format, such as"),
            (lambda: kinds.explain(ROW), "a format, such as"),
            (lambda: kinds.kind_of(ROW), "a format, such as"),
            (lambda: encoder("y.iso"), "a structured dtype, a class"),
            (lambda: encoder([("a",)]), "a structured dtype, a class"),
            (lambda: encoder(None), "a structured dtype, a class"),
            (lambda: encoder(3), "a structured dtype, a class"),
            (lambda: encoder(Step()), "a structured dtype, a class"),
            (lambda: encoder(kinds), "a structured dtype, a class"),
            (lambda: isoform.Writer(tmp_path / "out", kinds), "a structured dtype, a class"),
            (lambda: isoform.Reader(for_reading), "a file for bytes"),
            (lambda: isoform.Writer(for_writing), "a file for bytes"),
            (lambda: pairs.encode_many([1, 2]), "Pair"),
            (lambda: pairs.encode_many([Pair(), (2**40, 1)]), "Pair"),
        ]
        for make, expected in wrong:
            with pytest.raises(isoform.Usage) as fault:
                make()
            assert fault.value.code == isoform.Code.WrongType and expected in fault.value.expected


def test_an_error_says_where_what_was_expected_and_what_came() -> None:
    message = isoform.Encoder(isoform.Format.of_shape("record R\n  level  i32")).encode((300,))
    with pytest.raises(isoform.Mismatch) as fault:
        isoform.Decoder(isoform.Format.of_shape("record R\n  level  u8")).decode(message)
    error = fault.value
    assert (error.code, error.path) == (isoform.Code.Overflow, "level")
    assert (error.expected, error.actual) == ("unsigned integer of 1 byte", "300")
    assert str(error) == "overflow at level: expected unsigned integer of 1 byte, found 300"
    assert error.token is None
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.code, again.path) == (str(error), error.code, error.path)
