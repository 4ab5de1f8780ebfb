"""The one error table is the same in Python."""

from __future__ import annotations

import pickle
import re
from pathlib import Path

import isoform
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
