"""Iterators over a channel's events: in batches, records only, or asynchronous; and the default node of a process."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import select
import socket
import threading
import warnings
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any, overload

from ._isoform import Channel, Node, Sink, _forked
from .errors import Code, Error, wrong_type
from .event import Event, Gap, Record, Records, Refused
from .file import File

_lock = threading.Lock()
_shared: Node | None = None
#: How ids of channels begin.
_ID = re.compile(r"iso(\+\w+)?:|\w+://")
#: After this many events, a task lets other tasks run.
_TURN = 64
#: The causes of gaps that a sink asked for.
_WANTED = ("superseded", "declined")


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
    _forked()
    _lock = threading.Lock()  # another thread of the parent may hold it
    _shared = None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)


@overload
def open(source: os.PathLike[str], **options: Any) -> File: ...
@overload
def open(source: str, timeout: float = 5.0, **options: Any) -> Any: ...
def open(source: str | os.PathLike[str], timeout: float = 5.0, **options: Any) -> Channel | File:
    """Opens a channel by its id, such as ``iso://127.0.0.1:7000/river``, or a file by its path: a stream or a recording.

    For a file, the keywords are those of `Reader`, such as `channel` for a recording of several channels.

    >>> isoform.open("river.mcap").records()    # an array, or a list if their sizes vary
    >>> pandas.DataFrame(dict(isoform.open("river.mcap").columns(["step", "rain"])))
    """
    if isinstance(source, str) and _ID.match(source):
        if options:
            raise wrong_type(source, "a file, which these options are for", ", ".join(options))
        return node().open(source, timeout)
    return File(source, **options)


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
    """The records of a sink, without other events. There is a warning where records do not come: of
    each source that is refused, and, once for a sink, of events that are lost."""
    for event in sink:
        if isinstance(event, Record):
            yield event.record
        elif isinstance(event, Refused):
            warnings.warn(f"no records of source {event.source}: {event.error}", RuntimeWarning, stacklevel=2)
        elif isinstance(event, Gap) and event.cause not in _WANTED and sink._notes_loss():
            told = "sink.counts.lost says how many, and iterating over the sink tells of each Gap"
            warnings.warn(f"events of source {event.source} are lost ({event.cause}): {told}", RuntimeWarning, stacklevel=2)


async def events(sink: Sink) -> AsyncIterator[Event]:
    """The events of a sink, for a task. Other tasks run while it waits, and now and then while many events arrive."""
    try:
        descriptor = sink._descriptor()
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
                await _readable(descriptor)
                continue
            yield event
            taken += 1
            if taken % _TURN == 0:
                await asyncio.sleep(0)
    finally:
        socket.close(descriptor)  # os.close closes no socket on Windows; this closes any descriptor on Unix, too


async def _readable(descriptor: int) -> None:
    """Waits until it is readable. Each task needs a copy of its own, since only one may wait for each."""
    loop = asyncio.get_running_loop()
    came = loop.create_future()

    def tell() -> None:
        if not came.done():
            came.set_result(None)

    try:
        loop.add_reader(descriptor, tell)
    except NotImplementedError:  # by the usual loop of Windows
        with _told_by_a_thread(descriptor, lambda: loop.call_soon_threadsafe(tell)):
            await came
        return
    try:
        await came
    finally:
        loop.remove_reader(descriptor)


@contextlib.contextmanager
def _told_by_a_thread(descriptor: int, tell: Callable[[], object]) -> Iterator[None]:
    """Has a thread wait until it is readable, and tell. The thread has ended afterwards."""
    end, of_thread = socket.socketpair()

    def wait() -> None:
        if descriptor in select.select([descriptor, of_thread.fileno()], [], [])[0]:
            tell()

    thread = threading.Thread(target=wait, name="isoform wait", daemon=True)
    with end, of_thread:
        thread.start()
        try:
            yield
        finally:
            end.close()
            thread.join()


__all__ = ["Records", "batches", "create", "events", "node", "open", "records"]
