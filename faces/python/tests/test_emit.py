"""What `emit` puts into records, and when."""

from __future__ import annotations

import enum
import os
from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote

import isoform
import numpy as np
import pytest


def test_nobody_listens_before_it_is_started() -> None:
    isoform.emit("early", value=object())


def emitted(name: str, *values: dict[str, Any], units: dict[str, str] | None = None) -> Iterator[Any]:
    """The views of records as somebody else receives them."""
    for record in records(name, *values, units=units):
        yield record.view()


def records(name: str, *values: dict[str, Any], units: dict[str, str] | None = None) -> Iterator[Any]:
    isoform.emit(name, units, **values[0])
    with isoform.emit_start("isoform-tests-python") as emitting:
        (id,) = [id for id in emitting.ids() if f"/{name.replace('/', '.')}/" in unquote(id)]
        sink = isoform.Node().open(id).sink()
        place = isoform._isoform._Place(name)
        while not place.heard:
            pass
        for each in values:
            isoform.emit(name, units, **each)
            while not isinstance(event := sink.recv(60), isoform.Record):
                assert event is not None
            yield event.record


def test_records_that_nobody_hears_are_numbered() -> None:
    with isoform.emit_start("isoform-tests-python") as emitting:
        for step in range(3):
            isoform.emit("python/unheard", step=step)
        (id,) = [id for id in emitting.ids() if "/python.unheard/" in unquote(id)]
        sink = isoform.Node().open(id).sink()
        place = isoform._isoform._Place("python/unheard")
        while not place.heard:
            pass
        isoform.emit("python/unheard", step=3)
        joined, record = sink.recv(60), sink.recv(60)
        assert isinstance(joined, isoform.Joined) and joined.earlier == 3
        assert isinstance(record, isoform.Record) and record.sequence == 3
        assert (sink.counts.earlier, sink.counts.lost) == (3, 0)


def test_values_are_fields_of_their_types() -> None:
    grid = np.arange(12, dtype=">f4").reshape(3, 4)[:, ::2]
    values = dict(step=7, ratio=0.5, wet=True, station="Old Mill", grid=grid, list=[1, 2], none=np.array([]), wave=1j, small=np.int8(-3))
    (view,) = emitted("python/values", values, units={"grid": "m"})
    assert (view.step, view.ratio, view.wet, view.station, view.wave, view.small) == (7, 0.5, True, "Old Mill", 1j, -3)
    assert np.array_equal(view.grid, grid) and view.grid.dtype == np.float32
    assert list(view.list) == [1, 2] and len(view.none) == 0


def test_lists_and_ranges_are_what_they_say() -> None:
    plain = np.ma.masked_array([1, 2], mask=False)
    values = dict(large=[2**63 + 1, 1], one=2**63 + 1, range=range(3), float=[2**53, 0.5], nan=[1, float("nan")], plain=plain, pair=(plain, plain))
    (view,) = emitted("python.lists", values)
    assert list(view.large) == [2**63 + 1, 1] and view.one == 2**63 + 1
    assert list(view.range) == [0, 1, 2] and list(view.float) == [2**53, 0.5] and list(view.plain) == [1, 2]
    assert view.nan[0] == 1 and np.isnan(view.nan[1]) and view.pair.tolist() == [[1, 2], [1, 2]]


@pytest.mark.parametrize("name", ["", "x" * 300, "tab\tname", "nl\nname", "0" * 32, "a\0b"], ids=ascii)
def test_a_name_that_no_channel_can_have_is_said(name: str) -> None:
    before = isoform.emit_failed()
    with isoform.emit_start("isoform-tests-python") as emitting:
        with pytest.warns(RuntimeWarning, match="is not emitted: .*expected (a name|1 to 255 bytes)"):
            isoform.emit(name, value=1)
        isoform.emit(name, value=2)
        assert all(f"/{name}" not in id for id in emitting.ids()) or not name
    assert isoform.emit_failed() == before + 2


def test_each_reason_is_said_once() -> None:
    views = emitted("python.reasons", {"value": 1}, {"value": 2})
    assert next(views).value == 1
    reasons: list[tuple[dict[str, Any], str]] = [
        ({"value": None}, "found NoneType"),
        ({"value": "a\0b"}, "NUL|nul"),
        ({"value": "a\ud800"}, "value: expected text that UTF-8 can represent, found a lone surrogate at index 1$"),
        ({"other": {}}, "other: expected numbers"),
    ]
    for wrong, says in reasons:
        with pytest.warns(RuntimeWarning, match=says):
            isoform.emit("python.reasons", **wrong)
        isoform.emit("python.reasons", **wrong)
    assert next(views).value == 2


@pytest.mark.parametrize(
    "units, says",
    [(5, "a dict of units"), ("m", "a dict of units"), ({"value": 5}, "value: expected text as its unit, found int"), ({"v": 1}, "v: expected text")],
)
def test_units_that_are_none_are_said(units: Any, says: str) -> None:
    name = f"python.units.{units}"
    views = emitted(name, {"value": 1}, {"value": 2})
    assert next(views).value == 1
    with pytest.warns(RuntimeWarning, match=says):
        isoform.emit(name, units, value=3)
    assert next(views).value == 2


def test_values_may_be_of_other_types_than_before() -> None:
    views = emitted("python.types", {"value": 1}, {"value": "text"}, {"value": [0.5]}, {"value": [1.5]}, {"other": 2})
    assert next(views).value == 1
    assert next(views).value == "text"
    assert list(next(views).value) == [0.5]
    assert list(next(views).value) == [1.5]
    assert next(views).other == 2


class Stage(enum.IntEnum):
    LOW = 0
    FLOOD = 7
    HIGH = 7


class Gate(enum.Enum):
    OPEN = "open"
    SHUT = ("shut", 3)


class Alarm(enum.IntFlag):
    WATER = 1
    WIND = 2


class Text(str, enum.Enum):
    A = "a"


def test_members_of_an_enum_are_symbols() -> None:
    values = dict(stage=Stage.HIGH, gate=Gate.SHUT, alarm=Alarm.WATER | Alarm.WIND, text=Text.A)
    (record,) = records("python.symbols", values)
    view = record.view()
    assert (view.stage, view.gate, view.alarm, view.text) == ("FLOOD", "SHUT", 3, "A")
    fields = {field.name: field.symbols for field in record.format.fields}
    assert fields["stage"] == {"LOW": 0, "FLOOD": 7} and fields["gate"] == {"OPEN": 0, "SHUT": 1}


Far = enum.IntEnum("Far", {"FAR": 2**70})

MASKED = np.ma.masked_array([1, 2, 3], mask=[False, True, False])
#: NumPy would drop the masks, and round the integers.
LOSSY: list[Any] = [MASKED, [MASKED, MASKED], [[1, np.ma.masked]], [2**53 + 1, 0.5], [[2**53 + 1], [0.5]], [2**63 + 1, -1], (2**53 + 1, 1j)]
WRONG: list[Any] = [Far(2**70), None, {}, 2**70, [[1], [1, 2]], np.longdouble(1), "a\0b", "\ud800", *LOSSY]


@pytest.mark.parametrize("wrong", [{"value": value} for value in WRONG], ids=ascii)
def test_what_is_no_value_is_counted_and_stops_nobody(wrong: dict[str, Any]) -> None:
    name = " ".join(f"python.wrong.{wrong}".split())
    before = isoform.emit_failed()
    views = emitted(name, {"value": 1}, {"value": 2})
    assert next(views).value == 1
    with pytest.warns(RuntimeWarning, match="is not emitted"):
        isoform.emit(name, **wrong)
    isoform.emit(name, **wrong)  # which is said once
    assert isoform.emit_failed() == before + 2
    assert next(views).value == 2


def test_a_unit_of_no_value_is_said() -> None:
    views = emitted("python.units", {"depth": 1.0}, {"depth": 2.0})
    assert next(views).depth == 1.0
    with pytest.warns(RuntimeWarning, match="a unit for dpth, and no such value"):
        isoform.emit("python.units", {"dpth": "m"}, depth=1.5)
    assert next(views).depth == 2.0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_process_emits_nothing() -> None:
    views = emitted("python.forked", {"value": 1}, {"value": 2})
    assert next(views).value == 1
    child = os.fork()
    if child == 0:
        try:
            isoform.emit("python.forked", value=100)
            isoform.emit("python.forked", value=101)
            assert not isoform._isoform._Place("python.forked").heard
            with isoform.emit_start("isoform-tests-python-child") as emitting:  # as a program of its own
                isoform.emit("python.forked", value=102)
                os._exit(0 if any("/python.forked/" in unquote(id) for id in emitting.ids()) else 3)
        finally:
            os._exit(4)
    assert os.waitpid(child, 0)[1] == 0
    assert next(views).value == 2
