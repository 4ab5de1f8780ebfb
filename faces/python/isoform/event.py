"""What sinks are told, and the accounts of sources.

``for event in sink`` gives a :class:`Record` for each event, and what else there is to know: that events are lost (:class:`Gap`),
that a source has come or left, or cannot be understood.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .errors import Error

#: A stamp of many: the source as this process tells it from others, the event's number there, nanoseconds since 1970.
STAMP = np.dtype([("source", "u8"), ("sequence", "u8"), ("time", "u8")])


class Event:
    """One thing that a sink is told."""

    __slots__ = ()


@dataclass(frozen=True)
class Record(Event):
    """An event: what was submitted, by which source, as its how manieth, and when by its clock (nanoseconds since 1970)."""

    record: Any
    source: int
    sequence: int
    time: int


@dataclass(frozen=True)
class Records(Event):
    """Many events at once: an array of records, and one of their stamps (:data:`STAMP`)."""

    records: Any
    stamps: np.ndarray[Any, np.dtype[Any]]

    @staticmethod
    def _of(records: Any, numbers: np.ndarray[Any, np.dtype[Any]]) -> Records:
        return Records(records, numbers.view(STAMP))

    def __len__(self) -> int:
        return len(self.records)


@dataclass(frozen=True)
class Gap(Event):
    """Events of a source that will not come: the number of the first, how many, and why: `overrun` (the sink was too slow for its
    policy), `cut` (the connection broke), `too large`, `ended` or `unknown` (the other side is gone)."""

    source: int
    first: int
    count: int
    cause: str


@dataclass(frozen=True)
class Joined(Event):
    """A source has come, at this node."""

    source: int
    node: str


@dataclass(frozen=True)
class Left(Event):
    """A source has left: nothing more comes from it."""

    source: int


@dataclass(frozen=True)
class Refused(Event):
    """A source's events cannot be this sink's: the error says at which field, and why."""

    source: int
    error: Error


@dataclass(frozen=True)
class Ledger:
    """The account of a source with one sink: what was submitted is acknowledged, lost, or in flight, exactly."""

    node: str
    sink: int
    policy: str
    present: bool
    submitted: int
    acknowledged: int
    in_flight: int
    losses: dict[str, int]

    @property
    def lost(self) -> int:
        """How many are lost, for whatever cause."""
        return sum(self.losses.values())

    @property
    def is_exact(self) -> bool:
        """Whether it adds up."""
        return self.submitted == self.acknowledged + self.lost + self.in_flight

    @staticmethod
    def _of(
        who: tuple[str, int, str, bool], counts: tuple[int, int, int, Sequence[tuple[str, int]]]
    ) -> Ledger:
        submitted, acknowledged, in_flight, losses = counts
        return Ledger(*who, submitted, acknowledged, in_flight, {cause: count for cause, count in losses if count})


@dataclass(frozen=True)
class SourceReport:
    """A source of a member: its number there, what it has submitted, its format's name, its accounts."""

    source: int
    submitted: int
    format: str | None
    sinks: list[Ledger]


@dataclass(frozen=True)
class SinkReport:
    """A sink of a member: its number there, its format's name if it has one, and what has come and gone."""

    sink: int
    format: str | None
    policy: str
    received: int
    taken: int
    lost: int


@dataclass(frozen=True)
class Member:
    """A node that has a channel open. `answered` is false if it has not told of itself in time."""

    node: str
    addresses: list[str]
    answered: bool
    sources: list[SourceReport]
    sinks: list[SinkReport]

    @staticmethod
    def _of(
        who: tuple[str, list[str], bool],
        sources: Sequence[tuple[int, int, str | None, list[Ledger]]],
        sinks: Sequence[tuple[int, str | None, str, int, int, int]],
    ) -> Member:
        return Member(*who, [SourceReport(*source) for source in sources], [SinkReport(*sink) for sink in sinks])
