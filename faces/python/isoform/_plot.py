"""Plots fields of events as they arrive, for ``python -m isoform plot``.

It is a sink that knows no type: whatever has a field of that name can be drawn, and sources do not wait for it.
"""

from __future__ import annotations

import argparse
import errno
import os
import time
from collections import deque
from collections.abc import Iterable
from typing import Any

import numpy as np

from ._isoform import Message, Node, Sink
from .errors import Code, Error, Unavailable, Usage, cannot_open, wrong_type
from .event import Gap, Joined, Record, Refused
from .view import View

#: So many events wait at a source for a plot that is slow, and so many points are drawn.
EVENTS = 100_000
POINTS = 20_000
#: Seconds from one picture to the next.
FRAME = 0.05
#: So many seconds more than are drawn it waits for the first event.
PATIENCE = 30.0
#: So many numbers are drawn if nobody says which.
MANY = 8


class Field:
    """The plot of one field: its recent numbers, or its last array or table."""

    def __init__(self, path: str, axes: Any, x: str | None = None) -> None:
        self.path = path
        #: The field of the x axis, if that is not the time.
        self.x = x
        self.axes = axes
        #: Times, or numbers of the x axis; and numbers.
        self.points: deque[tuple[float, float]] = deque(maxlen=POINTS)
        self.array: np.ndarray[Any, np.dtype[Any]] | None = None
        self.along: np.ndarray[Any, np.dtype[Any]] | None = None
        self.artist: Any = None
        axes.set_ylabel(plain(path))

    def add(self, time: float, view: Any) -> None:
        values = numbers(self.path, view[self.path])
        along = numbers(self.x, view[self.x]) if self.x is not None else None
        if along is not None and along.shape != (values.shape if values.ndim < 2 else along.shape):
            raise wrong_type(self.x or "", f"as many numbers as {self.path} has", f"{along.size} for {values.size}")
        if values.ndim == 0:
            self.points.append((time if along is None else float(along), float(values)))
        else:
            self.array = values.reshape(-1, values.shape[-1]) if values.ndim > 2 else values
            self.along = along if values.ndim == 1 else None

    def draw(self, begin: float, last: float) -> None:
        if self.array is not None:
            self.draw_array(self.array)
        elif self.points:
            while self.x is None and self.points[0][0] < self.points[-1][0] - last:
                self.points.popleft()
            times, numbers = np.array(self.points).T
            if self.artist is None:
                (self.artist,) = self.axes.plot([], [], linewidth=1)
                self.axes.set_xlabel(plain(self.x or "seconds"))
            self.artist.set_data(finite(times - begin), finite(numbers))
            self.fit()

    def draw_array(self, array: np.ndarray[Any, np.dtype[Any]]) -> None:
        numbers = finite(array)
        if numbers.ndim == 2:
            if self.artist is None or self.artist.get_array().shape != numbers.shape:
                self.axes.clear()
                self.axes.set_ylabel(plain(self.path))
                self.artist = self.axes.imshow(numbers, aspect="auto", interpolation="nearest")
            self.artist.set_data(numbers)
            self.artist.autoscale()
            return
        if self.artist is None:
            (self.artist,) = self.axes.plot([], [], linewidth=1)
            self.axes.set_xlabel(plain(self.x or "element"))
        self.artist.set_data(np.arange(len(numbers)) if self.along is None else finite(self.along), numbers)
        self.fit()

    def fit(self) -> None:
        self.axes.relim()
        self.axes.autoscale_view()


#: The options that are those of a node.
NETWORK = ["insecure", "identity", "identity_key", "trust", "trust_platform", "trust_names", "revoked"]
NETWORK += ["tls_on_loopback", "admit_anyone", "rules"]


def run(given: argparse.Namespace) -> int:
    """Plots until the time is over, or the window or the channel is closed.

    A file is also written if that is interrupted once something has come.
    """
    import matplotlib

    if given.png:
        matplotlib.use("Agg")
        check_file(given.png)
    import matplotlib.pyplot as plt

    seconds = given.seconds if given.seconds is not None or not given.png else 5.0
    channel = Node(**{name: getattr(given, name) for name in NETWORK}).open(given.channel)
    with channel.sink(policy="drop oldest", events=EVENTS, bytes=64 << 20, query=given.query) as sink:
        first = wait_for_first(sink, None if seconds is None else seconds + PATIENCE)
        end = time.monotonic() + seconds if seconds is not None else None
        paths = given.field or numbers_of(first.record.view())
        figure, all_axes = plt.subplots(len(paths), 1, squeeze=False, figsize=(9, 2.4 * len(paths) + 0.6))
        fields = [Field(path, axes, given.x) for path, axes in zip(paths, all_axes[:, 0])]
        picture = Picture(figure, fields, first, given.last)
        try:
            while end is None or time.monotonic() < end:
                going = picture.take(sink)
                if not given.png:
                    picture.draw()
                    plt.pause(FRAME)
                    if not plt.fignum_exists(figure.number):
                        return 0
                if not going:
                    break
        except KeyboardInterrupt:
            if not given.png:
                raise
        picture.draw()
    if given.png:
        try:
            figure.savefig(given.png, dpi=100)
        except OSError as fault:
            raise cannot_open(fault.errno or 0, fault.strerror or str(fault), given.png) from None
        print(f"{given.png}: {picture.account()}")
    return 0


class Picture:
    """The plots of all fields, and their title."""

    def __init__(self, figure: Any, fields: list[Field], first: Record, last: float) -> None:
        self.figure, self.fields, self.last = figure, fields, last
        self.begin = first.time
        self.name = first.record.format.name
        self.events = self.lost = 0
        #: Events that have no such fields, or have something else in them.
        self.others = 0
        for field in fields:
            field.add(0.0, first.record.view())
        self.events = 1

    def take(self, sink: Sink) -> bool:
        """Takes the events that arrive while one frame is shown. Returns false if the channel has ended."""
        until = time.monotonic() + FRAME
        while (left := until - time.monotonic()) > 0:
            try:
                event = sink.recv(left)
            except Unavailable:
                return False
            if isinstance(event, Record):
                self.add([event])
            elif isinstance(event, Gap):
                self.lost += event.count
        return True

    def add(self, events: Iterable[Record]) -> None:
        for event in events:
            message: Message = event.record
            view = message.view()
            try:
                for field in self.fields:
                    field.add((event.time - self.begin) / 1e9, view)
                self.events += 1
            except Error:
                self.others += 1

    def account(self) -> str:
        """What was drawn, and what was not."""
        others = f", {self.others} without these fields" if self.others else ""
        return f"{self.events} events, {self.lost} skipped{others}"

    def draw(self) -> None:
        for field in self.fields:
            field.draw(0.0, self.last)
        self.figure.suptitle(plain(f"{self.name}: {self.account()}"))
        self.figure.tight_layout()


def check_file(path: str) -> None:
    """Refuses a file that cannot be written, before the command has waited for events."""
    from matplotlib.backend_bases import FigureCanvasBase

    folder, name = os.path.split(path)
    if not os.path.isdir(folder or "."):
        raise cannot_open(errno.ENOENT, "No such folder", folder)
    known = FigureCanvasBase.get_supported_filetypes()
    ending = os.path.splitext(name)[1][1:].lower()
    # Without an ending, matplotlib writes a .png.
    if ending and ending not in known:
        raise wrong_type("--png", f"a file that ends with .{', .'.join(sorted(known))}", name)


def wait_for_first(sink: Sink, patience: float | None) -> Record:
    """The first record, which determines the fields. A source that refuses the query ends the plot, unless there is another one."""
    until = None if patience is None else time.monotonic() + patience
    has_joined = False
    while True:
        event = sink.recv(None if until is None else max(0.0, until - time.monotonic()))
        if isinstance(event, Record):
            return event
        if isinstance(event, Refused) and not has_joined:
            raise event.error
        has_joined |= isinstance(event, Joined)
        if event is None:
            raise Unavailable("timed out: expected an event to draw", Code.Deadline, "", "an event to draw", "")


def numbers(path: str, item: Any) -> np.ndarray[Any, np.dtype[Any]]:
    """The numbers of a field."""
    values: np.ndarray[Any, np.dtype[Any]] = np.asarray(item)
    if values.dtype.kind not in "iufb":
        raise wrong_type(path, "numbers to draw", type(item).__name__)
    return values


def finite(values: np.ndarray[Any, np.dtype[Any]]) -> np.ndarray[Any, np.dtype[Any]]:
    """The numbers as they can be drawn: a gap where one is infinite."""
    if values.dtype.kind != "f":
        return values.astype("u1") if values.dtype.kind == "b" else values
    # Pictures take no f16 and no long double.
    shown = values.astype({2: "f4", 4: "f4"}.get(values.dtype.itemsize, "f8"))
    # Nor does an axis have the distance between the ends of f64.
    shown[~(np.abs(shown) < 1e300)] = np.nan
    return shown


def plain(text: str) -> str:
    """A name as it is: between two dollars, matplotlib would read a formula."""
    return text.replace("$", r"\$")


def numbers_of(view: View) -> list[str]:
    """The fields that are numbers."""
    found = [name for name, item in view.items() if isinstance(item, (int, float)) and not isinstance(item, bool)]
    if not found:
        raise Usage("no such field: expected a number among " + ", ".join(view), Code.NoSuchField, "", "a number", "")
    return found[:MANY]
