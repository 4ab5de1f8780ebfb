"""Whatever a function is given, it returns or raises: no argument ends the process. In a process of its own, which would die."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import isoform
import numpy as np
import pytest
from isoform.errors import Error


@dataclass
class Inner:
    a: int = 0
    text: str = ""


@dataclass
class Sample:
    step: int = 0
    x: float = 0.0
    z: complex = 0j
    flag: bool = False
    name: str = ""
    inner: Inner = field(default_factory=Inner)
    inners: list[Inner] = field(default_factory=list)
    numbers: list[float] = field(default_factory=list)


#: Where something else is put into one than its annotations say.
SAMPLE: Any = Sample
DTYPE = np.dtype([("step", "i4"), ("x", "f8"), ("p", [("a", "i2")], (2,))])


def stream_of(record: tuple[Any, ...]) -> bytes:
    stream = io.BytesIO()
    isoform.Writer(stream, DTYPE).write(record)
    return stream.getvalue()


STREAM = stream_of((1, 0.5, [(1,), (2,)]))


class Lying(list[Any]):
    """Says that it has more elements than memory has."""

    def __len__(self) -> int:
        return 1 << 40


class LyingSequence:
    """The same, which is no list."""

    def __len__(self) -> int:
        return 1 << 40

    def __getitem__(self, index: int) -> str:
        if index > 1:
            raise IndexError
        return "x"


class Fails:
    """Raises whatever it is asked for."""

    def __getattr__(self, name: str) -> Any:
        raise ValueError(name)

    def __iter__(self) -> Iterator[Any]:
        raise ValueError("iter")

    def __len__(self) -> int:
        raise ValueError("len")

    def __index__(self) -> int:
        raise ValueError("index")

    def __str__(self) -> str:
        raise ValueError("str")

    __repr__ = __str__

    def __eq__(self, other: object) -> bool:
        raise ValueError("eq")

    def __hash__(self) -> int:
        raise ValueError("hash")


class Endless:
    """Has itself for everything that it is asked for."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, int) and index > 2:
            raise IndexError(index)
        return self

    def __len__(self) -> int:
        return 1 << 62


class Text(str):
    """A string of another class."""


def raising() -> Iterator[Any]:
    yield from ()
    raise ValueError("the generator")


def nested(depth: int, make: Callable[[Any], Any]) -> Any:
    value = make(0)
    for _ in range(depth):
        value = make(value)
    return value


def arguments() -> dict[str, Callable[[], Any]]:
    """Each is made anew for each call."""

    def itself() -> Any:
        value: list[Any] = []
        value += [value, value]
        return value

    def itself_as_dict() -> Any:
        value: dict[str, Any] = {}
        value.update(step=value, inner=value, inners=[value], numbers=[value])
        return value

    def messages() -> Any:
        return [isoform.Encoder(DTYPE).encode(np.zeros((), DTYPE)), isoform.Encoder(Sample).encode(Sample())]

    deep = {
        "deep list": nested(200_000, lambda inner: [inner]),
        "deep tuple": nested(200_000, lambda inner: (inner,)),
        "deep dict": nested(200_000, lambda inner: {"step": inner, "inner": inner}),
    }
    return {
        **{name: (lambda value=value: value) for name, value in deep.items()},  # type: ignore[misc]
        "text": lambda: "x",
        "empty text": lambda: "",
        "text of a subclass": lambda: Text("x"),
        "text that is no Unicode": lambda: "\ud800",
        "text with NUL": lambda: "a\0b",
        "long text": lambda: "x" * 1_000_000,
        "bytes": lambda: b"x",
        "bytearray": lambda: bytearray(b"x"),
        "memoryview": lambda: memoryview(b"x"),
        "dict": lambda: {"step": 1},
        "dict of a number": lambda: {1: 2},
        "dict of itself": itself_as_dict,
        "None": lambda: None,
        "list": lambda: [],
        "list of itself": itself,
        "list of text": lambda: ["x"],
        "a list that says 2^40": lambda: Lying(["x"]),
        "a list of records that says 2^40": lambda: Lying([Sample(), Sample()]),
        "messages that say 2^40": lambda: Lying([messages()]),
        "sequence that says 2^40": LyingSequence,
        "sample of lists that say 2^40": lambda: SAMPLE(numbers=Lying([1.5]), inners=Lying([Inner()])),
        "messages": messages,
        "messages in lists": lambda: [[messages()], messages()],
        "0": lambda: 0,
        "-1": lambda: -1,
        "huge": lambda: 10**5000,
        "-huge": lambda: -(10**5000),
        "2^63": lambda: 1 << 63,
        "infinity": lambda: float("inf"),
        "not a number": lambda: float("nan"),
        "complex": lambda: 1j,
        "True": lambda: True,
        "generator that raises": raising,
        "what raises": Fails,
        "what raises, in a list": lambda: [Fails()],
        "what has no end": Endless,
        "what has no end, in a list": lambda: [Endless()],
        "sample": Sample,
        "sample of a list of itself": lambda: SAMPLE(numbers=itself(), inners=itself(), inner=itself(), name=itself()),
        "sample of what raises": lambda: SAMPLE(*(Fails() for _ in range(8))),
        "sample of huge": lambda: SAMPLE(10**5000, 10**5000, 10**5000),
        "sample in a sample": lambda: SAMPLE(inners=[Sample()], inner=Sample()),
        "array": lambda: np.zeros(3, DTYPE),
        "array of another type": lambda: np.zeros(3),
        "array of objects": lambda: np.array([None, "x", Fails], object),
        "array without rows": lambda: np.zeros((0, 3), DTYPE),
        "number of NumPy": lambda: np.float32(1.5),
        "type": lambda: int,
        "function": lambda: len,
        "module": lambda: sys,
        "dtype": lambda: DTYPE,
        "dtype of objects": lambda: np.dtype([("o", object)]),
        "empty dtype": lambda: np.dtype([]),
        "dataclass": lambda: Sample,
        "format": lambda: isoform.Format.of(DTYPE),
        "format of objects": lambda: isoform.Format.of(Sample),
        "file": lambda: io.BytesIO(b"ISOF" + bytes(200)),
    }


def functions() -> dict[str, Callable[[Any], Any]]:
    """Everything that is given something from outside, apart from channels."""
    dtype, sample = isoform.Format.of(DTYPE), isoform.Format.of(Sample)
    found: dict[str, Callable[[Any], Any]] = {
        "Format.of": isoform.Format.of,
        "Format.of named": lambda value: isoform.Format.of(DTYPE, value),
        "Format.parse": isoform.Format.parse,
        "Format.of_shape": isoform.Format.of_shape,
        "Format.of_shape of a layout": lambda value: isoform.Format.of_shape("record P\n  x  int\n", value),
        "Format ==": lambda value: dtype == value,
        "Registry": lambda value: isoform.Registry(message=value, depth=value),
        "Registry with": lambda value: isoform.Registry(servers=value),
        "Registry, resolver": lambda value: isoform.Registry(resolver=value),
        "Servers": lambda value: isoform.Servers(value),
        "Servers with": lambda value: isoform.Servers("http://127.0.0.1:1", cache=value),
        "Servers within": lambda value: isoform.Servers("http://127.0.0.1:1", deadline=value, bearer=value),
        "Servers.put": lambda value: isoform.Servers("http://127.0.0.1:1").put(value),
        "Servers.find": lambda value: isoform.Servers("http://127.0.0.1:1").find(value),
        "Reader at": lambda value: isoform.Reader(io.BytesIO(), servers=value, resolver=value),
        "Writer at": lambda value: isoform.Writer(io.BytesIO(), servers=value),
        "Registry.register": lambda value: isoform.Registry().register(value),
        "Registry.learn": lambda value: isoform.Registry().learn(value),
        "Registry.known": lambda value: isoform.Registry().known(value),
        "Message.parse": lambda value: isoform.Message.parse(value, isoform.Registry()),
        "Message.parse with": lambda value: isoform.Message.parse(b"", value),
        "Reader": isoform.Reader,
        "Reader, read": lambda value: list(isoform.Reader(value)),
        "Reader with": lambda value: isoform.Reader(io.BytesIO(), value),
        "Reader of channels": lambda value: isoform.Reader(io.BytesIO(), channel=value),
        "Kinds": lambda value: isoform.Kinds(value),
        "Kinds.columns into": lambda value: isoform.Kinds(DTYPE).columns(into=value),
        "Kinds.columns of fields": lambda value: isoform.Kinds(DTYPE).columns(fields=value),
        "Reader.read_into": lambda value: isoform.Reader(io.BytesIO(STREAM)).read_into(value),
        "Encoder of missing": lambda value: isoform.Encoder(Sample, missing=value),
        "Encoder of rules": lambda value: isoform.Encoder(Sample, rules=value),
        "Writer": isoform.Writer,
        "Writer of": lambda value: isoform.Writer(io.BytesIO(), value),
        "Writer.write": lambda value: isoform.Writer(io.BytesIO()).write(value),
        "Writer.describe": lambda value: isoform.Writer(io.BytesIO()).describe(value),
        "View": lambda value: isoform.View(value, value),
        "View of": lambda value: repr(isoform.View("P", value)),
        "View[]": lambda value: isoform.Encoder(sample, missing="zero").encode({}).view()[value],
        "View ==": lambda value: isoform.Encoder(sample, missing="zero").encode({}).view() == value,
        "Columns": isoform.Columns,
        "Columns of fields": lambda value: isoform.Columns(DTYPE, value),
        "Columns with faults": lambda value: isoform.Columns(DTYPE, faults=value),
        "Columns.append": lambda value: isoform.Columns(DTYPE).append(value),
        "Columns[]": lambda value: isoform.Columns(DTYPE)[value],
        "Encoder": isoform.Encoder,
        "Encoder named": lambda value: isoform.Encoder(Sample, value),
        "Decoder": isoform.Decoder,
        "Decoder of rules": lambda value: isoform.Decoder(Sample, rules=value),
        "Decoder of a default": lambda value: isoform.Decoder(Sample, rules=[("Sample", "step", "default", value)]),
        "Decoder of an engine": lambda value: isoform.Decoder(Sample, engine=value, faults=value, name=value),
        "length": isoform.length,
        "unit": isoform.unit,
    }
    for name, record in {"dtype": DTYPE, "dataclass": Sample, "format": dtype, "format of objects": sample}.items():
        found[f"Encoder({name}).encode"] = isoform.Encoder(record).encode
        found[f"Encoder({name}).encode_many"] = isoform.Encoder(record).encode_many
        found[f"Decoder({name}).decode"] = isoform.Decoder(record).decode
        found[f"Decoder({name}).decode_many"] = isoform.Decoder(record).decode_many
        found[f"Writer({name}).write"] = isoform.Writer(io.BytesIO(), record).write
    return found


def channel_functions() -> dict[str, Callable[[Any], Any]]:
    """The same of channels."""
    node = isoform.Node()
    channel = node.create("any")
    typed, objects, plain = channel.source(DTYPE), channel.source(Sample), channel.source()
    sink = channel.sink()
    return {
        "Node of silence": lambda value: isoform.Node(silence=value, linger=value),
        "Node that listens": lambda value: isoform.Node(listen=value),
        "create": node.create,
        "create of": lambda value: node.create("other", value),
        "open": lambda value: node.open(value, timeout=0.01),
        "open with a timeout": lambda value: node.open("iso://127.0.0.1:1/x", timeout=value),
        "source of": lambda value: channel.source(value),
        "source named": lambda value: channel.source(DTYPE, name=value),
        "Source": isoform.Source,
        "Sink": isoform.Sink,
        "sink of": lambda value: channel.sink(value),
        "sink with": lambda value: channel.sink(DTYPE, policy=value),
        "sink of events": lambda value: channel.sink(DTYPE, events=value, bytes=value, longest=value),
        "sink of a window": lambda value: channel.sink(DTYPE, window=value),
        "sink of fields": lambda value: channel.sink(DTYPE, fields=value),
        "sink of rules": lambda value: channel.sink(DTYPE, rules=value),
        "info": lambda value: channel.info(timeout=value),
        "submit of a dtype": typed.submit,
        "submit of a dataclass": objects.submit,
        "submit of messages": plain.submit,
        "wait_for_sinks": lambda value: plain.wait_for_sinks(value, 0.01),
        "recv_many": lambda value: sink.recv_many(value, 0.01),
    }


#: What waits for long, as it was asked to, is no news.
PATIENT = {"infinity", "huge", "2^63", "None"}


def main() -> None:
    found = functions()
    if os.name == "posix":
        found.update(channel_functions())
    made = arguments()
    for name, function in found.items():
        for what, make in made.items():
            if "timeout" in name and what in PATIENT or name == "info" and what in PATIENT:
                continue
            print(f"{name}: {what}", flush=True)
            try:
                function(make())
            except Exception:  # noqa: BLE001
                pass
    print("all", flush=True)


def test_no_argument_ends_the_process(tmp_path: Path) -> None:
    run = subprocess.run([sys.executable, __file__], capture_output=True, text=True, timeout=300, cwd=tmp_path)
    told = run.stdout.splitlines()[-1:], run.stderr[-2000:]
    assert run.returncode == 0 and told[0] == ["all"], told


def test_a_length_is_not_believed() -> None:
    for listed in (Lying(["step"]), Lying(["step", "x"])):
        columns = isoform.Columns(DTYPE, listed)
        columns.append(isoform.Reader(io.BytesIO(STREAM)))
        assert list(columns) == [name for name in listed]
    encoder = isoform.Encoder(Sample)
    messages = Lying([encoder.encode(Sample(1)), encoder.encode(Sample(2, numbers=Lying([1.0, 2.0])))])
    assert [record.numbers for record in isoform.Decoder(Sample).decode_many(messages)] == [[], [1.0, 2.0]]


@pytest.mark.parametrize("rows", ["x", b"x", bytearray(b"x"), memoryview(b"x"), {"x": 1}, None, 7])
def test_what_holds_no_rows_is_refused(rows: Any) -> None:
    for append in (isoform.Columns(DTYPE).append, isoform.Decoder(Sample).decode_many, isoform.Decoder(DTYPE).decode_many):
        with pytest.raises(Error) as raised:
            append(rows)
        assert raised.value.code == isoform.Code.WrongType and "messages" in str(raised.value)


def test_lists_lie_in_lists_only_so_deep() -> None:
    itself: list[Any] = []
    itself.append(itself)
    for take in (isoform.Columns(DTYPE).append, isoform.Decoder(Sample).decode_many, isoform.Writer(io.BytesIO()).write):
        with pytest.raises(Error) as raised:
            take(itself)
        assert raised.value.code == isoform.Code.Depth
    messages = [isoform.Encoder(DTYPE).encode(np.zeros((), DTYPE))]
    columns = isoform.Columns(DTYPE)
    lists: Any = [messages, [messages, [messages]]]
    columns.append(lists)
    assert len(columns) == 3


if __name__ == "__main__":
    main()
