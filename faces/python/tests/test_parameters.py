"""A source generates what its sinks ask for: parameters."""

from dataclasses import dataclass

import isoform
import numpy as np
import pytest

TIMEOUT = 20


@dataclass
class Detail:
    level: int
    quantity: str


@dataclass
class Cells:
    step: int
    depth: list[float]


def wait_for(source: isoform.Source, expected: list[tuple[int, int]]) -> list[isoform.Demand]:
    """The demands, once their levels and numbers of sinks are these."""
    demands = source.demands()
    while (seen := sorted((demand.values["level"], demand.sinks) for demand in demands)) != expected:
        told = source.new_demands(TIMEOUT)
        assert told is not None, f"{seen} are demanded, and not {expected}"
        demands = told
    return demands


def step(source: isoform.Source, number: int, demands: list[isoform.Demand]) -> None:
    for demand in demands:
        level = demand.values["level"]
        source.submit_for(demand, Cells(number, [level] * level))


def look(sink: isoform.Sink) -> tuple[int | None, int, int]:
    """The level that was given last, and the next record."""
    level = None
    while True:
        match sink.recv(TIMEOUT):
            case isoform.Given(values=values, refused=None):
                level = values["level"]
            case isoform.Record(record=record):
                return level, record.step, len(record.depth)
            case None:
                pytest.fail("no event in time")
            case _:
                pass


def test_a_program_generates_each_demand_once_and_nothing_without_one() -> None:
    channel = isoform.Node().create("field", Cells)
    source = channel.source(Cells, parameters=Detail(1, "depth"))
    assert source.demands() == [] and source.new_demands(0) is None
    remote = isoform.open(str(channel.id))
    fine = remote.sink(Cells, parameters={"level": 8})
    coarse = remote.sink(Cells, parameters=np.array((2,), dtype=[("level", "i2")])[()])
    plain = remote.sink(Cells)
    demands = wait_for(source, [(1, 1), (2, 1), (8, 1)])
    assert {demand.values["quantity"] for demand in demands} == {"depth"}, "what is not asked for has its default"
    assert '"level":' in repr(demands[0])
    step(source, 0, demands)
    assert [look(sink) for sink in (fine, coarse, plain)] == [(8, 0, 8), (2, 0, 2), (1, 0, 1)]

    coarse.set_parameters({"level": 100, "quantity": "speed"})
    demands = wait_for(source, [(1, 1), (8, 1), (100, 1)])
    finest = next(demand for demand in demands if demand.values["level"] == 100)
    assert isoform.Decoder(Detail).decode(finest.message) == Detail(100, "speed")
    source.grant(finest, {"level": 10})
    step(source, 1, wait_for(source, [(1, 1), (8, 1), (10, 1)]))
    assert [look(sink)[1:] for sink in (fine, coarse, plain)] == [(1, 8), (1, 10), (1, 1)]
    for account in source.close():
        assert account.submitted == account.acknowledged + account.skipped and account.lost == 0


def test_what_does_not_fit_is_refused_with_the_reason() -> None:
    channel = isoform.Node().create("field", Cells)
    source = channel.source(Cells, parameters={"level": 1, "region": [0.0, 1.0]})
    remote = isoform.open(str(channel.id))

    def refusal(sink: isoform.Sink) -> isoform.Error:
        while event := sink.recv(TIMEOUT):
            if isinstance(event, isoform.Refused):
                return event.error
            if isinstance(event, isoform.Given) and event.refused:
                return event.refused
        pytest.fail("no event in time")

    sink = remote.sink(Cells, parameters={"levels": 2})
    error = refusal(sink)
    assert error.code == isoform.Code.NoSuchField and "one of level" in str(error) and "levels" in str(error)
    sink.set_parameters({"level": 2.5})
    assert refusal(sink).code == isoform.Code.Inexact
    sink.set_parameters({"level": 1000})
    (demand,) = wait_for(source, [(1000, 1)])
    source.refuse(demand, "a level of at most 10")
    assert "a level of at most 10" in str(refusal(sink))
    with pytest.raises(TypeError, match="level: expected a number"):
        sink.set_parameters({"level": None})


def test_numbers_in_memory_are_submitted_for_a_demand_too() -> None:
    ticks = np.dtype([("count", "i8")])
    channel = isoform.Node().create("ticks", ticks)
    source = channel.source(ticks, parameters={"rate": 1.0})
    sink = isoform.open(str(channel.id)).sink(ticks, parameters={"rate": 2})
    while not (demands := source.new_demands(TIMEOUT)):
        pass
    assert [demand.values["rate"] for demand in demands] == [2.0]
    source.submit_for(demands[0], np.array((7,), ticks)[()])
    for event in sink:
        if isinstance(event, isoform.Record):
            assert event.record["count"] == 7
            break
