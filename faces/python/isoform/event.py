"""The events of sinks, and the accounts of sources.

``for event in sink`` yields a :class:`Record` for each record. Other events report that records are lost (:class:`Gap`), or that
a source has joined, has left, is refused, grants another policy, or gives values of its parameters.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ._isoform import Format, Message
from .errors import Error
from .view import View

#: The stamp of a record: the number of the source in this process, the number of the event there, nanoseconds since 1970.
STAMP = np.dtype([("source", "u8"), ("sequence", "u8"), ("time", "u8")])


class Event:
    """An event of a sink."""

    __slots__ = ()


@dataclass(frozen=True)
class Record(Event):
    """A record, with its source, its number there, and the time of its submission by the source's clock (ns since 1970)."""

    record: Any
    source: int
    sequence: int
    time: int


@dataclass(frozen=True)
class Records(Event):
    """Many records at once: an array of records, and an array of their stamps (:data:`STAMP`)."""

    records: Any
    stamps: np.ndarray[Any, np.dtype[Any]]

    @staticmethod
    def _of(records: Any, numbers: np.ndarray[Any, np.dtype[Any]]) -> Records:
        return Records(records, numbers.view(STAMP))

    def __len__(self) -> int:
        return len(self.records)


@dataclass(frozen=True)
class EventHead(Event):
    """The head of a long event, for a sink with `heads`: its source, number, and time as of a :class:`Record`; the `format` of the
    event and the `length` of its body in bytes; and as `message` the fields that have come, all but pointers and those beyond the
    first 65,536 bytes, or `None` if there are none. The event follows, or a :class:`Gap` in its place, or :class:`Left`."""

    message: Message | None
    source: int
    sequence: int
    time: int
    format: Format
    length: int


@dataclass(frozen=True)
class Gap(Event):
    """Events of a source that do not come: the number of the first, their count, and the cause. They are lost if the cause is
    `overrun` (the sink was too slow for its policy), `cut` (the connection broke), `too large`, `ended`, `unknown` (the
    link ended), `declined` (the sink declined the rest) or `thinned` (the source had no time for the query). If it is
    `superseded`, they are not: the sink wants the latest event only, and a newer one took their place."""

    source: int
    first: int
    count: int
    cause: str


@dataclass(frozen=True)
class Joined(Event):
    """A source has joined, at this node. `format` is that of its records, or `None` if they may have several. `earlier` is the number of events
    that it submitted before, and that the sink does not get: they are not among those submitted to it, and not lost."""

    source: int
    node: str
    format: Format | None
    earlier: int = 0


@dataclass(frozen=True)
class Left(Event):
    """A source has left, and sends nothing more. `others` is the number of other sources that are still there, without those that are
    refused. It also comes when a refused source leaves."""

    source: int
    others: int


@dataclass(frozen=True)
class Refused(Event):
    """The records of a source cannot become this sink's, and the error names the field and the reason. Or the source does not
    grant the policy ``lossless``: the code of the error is `NotGranted`. Or the rules of one of the two nodes do not allow it:
    `Forbidden`."""

    source: int
    error: Error


@dataclass(frozen=True)
class Granted(Event):
    """A source grants another policy than the sink asked for, or changes it. The reason is `slow` (the source has waited for
    the sink as long as it may, and drops events now), `caught up` (it waits for the sink again), `less` (it keeps fewer events),
    `not granted` (the policy stays), `forbidden` (the rules of the source's node do not let it wait for this sink), or `asked`."""

    source: int
    policy: str
    reason: str


@dataclass(frozen=True)
class Given(Event):
    """A source with parameters says which values the sink has, from its event number `first` on. It comes after :class:`Joined`, and
    with each change. `change` counts the calls of :meth:`Sink.set_parameters` that the source knew. If the last one was refused,
    `refused` says why, and the values are those of before."""

    source: int
    first: int
    change: int
    values: View
    refused: Error | None


class Counts(NamedTuple):
    """The counts of a sink: events that have arrived (`received`), were taken by the program (`taken`), are `lost`, were
    `superseded` by newer ones under the policy `latest`, and were not wanted (`skipped`); how often the sink was told of a source whose events it does not get (`refused`, one :class:`Refused`
    each); records taken that could not become records of the sink (`unfit`, one error each); and events that sources submitted before the sink had
    them (`earlier`, see :class:`Joined`)."""

    received: int
    taken: int
    lost: int
    superseded: int
    skipped: int
    refused: int
    unfit: int
    earlier: int


@dataclass(frozen=True)
class Ledger:
    """The account of a source with one sink: each submitted event is acknowledged, superseded, lost, skipped, or in
    flight. `superseded` counts events in whose place a newer one is sent, under the policy `latest`: they are not lost.
    `waited` is the time, in seconds, that the source has waited for the sink; `changes` counts changes of the policy. `earlier` is
    the number of events that the source submitted before those that it submitted to the sink."""

    node: str
    sink: int
    policy: str
    present: bool
    submitted: int
    acknowledged: int
    in_flight: int
    losses: dict[str, int]
    skipped: int
    superseded: int
    waited: float
    changes: int
    earlier: int

    @property
    def lost(self) -> int:
        """The number of lost events, for all causes."""
        return sum(self.losses.values())

    @property
    def is_exact(self) -> bool:
        """Whether it adds up."""
        return self.submitted == self.acknowledged + self.superseded + self.lost + self.skipped + self.in_flight

    @staticmethod
    def _of(
        who: tuple[str, int, str, bool],
        counts: tuple[int, int, int, Sequence[tuple[str, int]]],
        waits: tuple[int, int, float, int, int],
    ) -> Ledger:
        submitted, acknowledged, in_flight, losses = counts
        skipped, superseded, waited, changes, earlier = waits
        lost = {cause: count for cause, count in losses if count}
        return Ledger(
            *who, submitted, acknowledged, in_flight, lost, skipped, superseded, waited, changes, earlier
        )


@dataclass(frozen=True)
class SourceReport:
    """A source of a member: its number there, the number of submitted events, the name of its format, its accounts."""

    source: int
    submitted: int
    format: str | None
    sinks: list[Ledger]


@dataclass(frozen=True)
class SinkReport:
    """A sink of a member: its number there, the name of its format if it has one, its policy, and its counts of events, as
    in :class:`Counts`."""

    sink: int
    format: str | None
    policy: str
    received: int
    taken: int
    lost: int
    superseded: int
    refused: int
    unfit: int


@dataclass(frozen=True)
class Member:
    """A node that has a channel open. `answered` is false if its report did not arrive in time."""

    node: str
    addresses: list[str]
    answered: bool
    sources: list[SourceReport]
    sinks: list[SinkReport]

    @staticmethod
    def _of(
        who: tuple[str, list[str], bool],
        sources: Sequence[tuple[int, int, str | None, list[Ledger]]],
        sinks: Sequence[tuple[int, str | None, str, int, int, int, int, int, int]],
    ) -> Member:
        return Member(*who, [SourceReport(*source) for source in sources], [SinkReport(*sink) for sink in sinks])
