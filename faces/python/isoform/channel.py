"""Iterators over a channel's events: in batches, records only, or asynchronous; and the default node of a process."""

from __future__ import annotations

import asyncio
import os
import threading
import warnings
from collections.abc import AsyncIterator, Iterator
from typing import Any

from ._isoform import Channel, Node, Sink
from .errors import Code, Error
from .event import Event, Record, Records, Refused

_lock = threading.Lock()
_shared: Node | None = None
#: After this many events, a task lets other tasks run.
_TURN = 64


def node() -> Node:
    """The default node of this process, created when it is first needed. It listens on this machine, at a port that the
    system chooses."""
    global _shared
    with _lock:
        if _shared is None:
            _shared = Node()
        return _shared


def _forget() -> None:
    """A forked process makes a node of its own: that of its parent belongs to its parent."""
    global _lock, _shared
    _lock = threading.Lock()  # another thread of the parent may hold it
    _shared = None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)


def open(id: str, timeout: float = 5.0) -> Channel:
    """Opens a channel by its id, such as ``iso://127.0.0.1:7000/river``."""
    return node().open(id, timeout)


def create(name: str, record: Any = None) -> Channel:
    """Creates a channel for records of this type, or of all types."""
    return node().create(name, record)


def batches(sink: Sink, most: int) -> Iterator[Event]:
    """The events of a sink in batches of those that have arrived, until the channel is closed or as the sink's `until` says."""
    while True:
        patience = sink._patience()
        try:
            event = sink.recv_many(most, patience)
        except Error as error:
            if error.code == Code.Closed:
                return
            raise
        if event is not None:
            yield event
        elif patience is not None:
            sink._begin()
            return


def records(sink: Sink) -> Iterator[Any]:
    """The records of a sink, without other events. Of a source that refuses the sink no record comes, so there is a warning."""
    for event in sink:
        if isinstance(event, Record):
            yield event.record
        elif isinstance(event, Refused):
            warnings.warn(f"no records of source {event.source}: {event.error}", RuntimeWarning, stacklevel=2)


async def events(sink: Sink) -> AsyncIterator[Event]:
    """The events of a sink, for a task. Other tasks run while it waits, and now and then while many events arrive."""
    try:
        descriptors = sink._descriptors()
    except Error as error:
        if error.code == Code.Closed:
            return
        raise
    taken = 0
    try:
        while True:
            try:
                event = sink.recv(0)
            except Error as error:
                if error.code == Code.Closed:
                    return
                raise
            if event is None and sink._patience() is not None:
                sink._begin()
                return
            if event is None:
                await _readable(descriptors)
                continue
            yield event
            taken += 1
            if taken % _TURN == 0:
                await asyncio.sleep(0)
    finally:
        for descriptor in descriptors:
            os.close(descriptor)


async def _readable(descriptors: tuple[int, ...]) -> None:
    """Waits until one of them is readable. Each task needs duplicates of its own, since only one may wait for each."""
    loop = asyncio.get_running_loop()
    came = loop.create_future()

    def tell() -> None:
        if not came.done():
            came.set_result(None)

    for descriptor in descriptors:
        loop.add_reader(descriptor, tell)
    try:
        await came
    finally:
        for descriptor in descriptors:
            loop.remove_reader(descriptor)


__all__ = ["Records", "batches", "create", "events", "node", "open", "records"]
