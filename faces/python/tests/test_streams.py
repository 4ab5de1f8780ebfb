"""Streams, through files, pipes and objects."""

from __future__ import annotations

import copy
import errno
import gc
import io
import os
import pickle
import signal
import sys
import threading
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import isoform
import numpy as np
import pytest

LEVEL = np.dtype([("level", "f8")])


def levels(*values: float) -> np.ndarray[Any, np.dtype[Any]]:
    return np.array([(value,) for value in values], LEVEL)


def test_a_stream_of_several_formats_is_read_as_it_was_written(tmp_path: Path) -> None:
    path = tmp_path / "a.iso"
    other = isoform.Encoder(isoform.Format.of_shape("record Note\n  text  string")).encode({"text": "hello"})
    with isoform.Writer(path, LEVEL) as writer:
        writer.write(levels(1, 2))
        writer.write(other)
        writer.write(isoform.Encoder(LEVEL).encode_many(levels(3)))
    with isoform.Reader(path) as reader:
        names = [message.format.name for message in reader]
        assert names == ["record", "record", "Note", "record"]
        assert [format.name for format in reader.formats()] == ["Note", "record"]
        assert reader.position == path.stat().st_size
    with isoform.Reader(str(path)) as reader:
        batch = reader.next_batch()
        assert batch is not None and len(batch) == 2 and batch[-1].view()["level"] == 2
        with pytest.raises(IndexError):
            batch[2]
    with pytest.raises(isoform.Mismatch):
        isoform.Decoder(LEVEL).decode_many(isoform.Reader(path))


def test_a_message_without_a_body_is_refused_when_it_is_used() -> None:
    stream = io.BytesIO()
    isoform.Writer(stream, LEVEL).write(levels(1))
    described, body = stream.getvalue(), LEVEL.itemsize + -LEVEL.itemsize % 16
    empty = described[: -8 - body] + bytes(8)
    batch = isoform.Reader(io.BytesIO(empty)).next_batch()
    assert batch is not None and (len(batch), batch[0].body) == (1, b"")
    for use in (batch.array, batch[0].view, lambda: isoform.Decoder(LEVEL).decode_many(batch)):
        with pytest.raises(isoform.BadInput):
            use()


def test_messages_are_passed_on() -> None:
    first, second = io.BytesIO(), io.BytesIO()
    isoform.Writer(first, LEVEL).write(levels(1, 2, 3))
    first.seek(0)
    writer = isoform.Writer(second)
    writer.write(list(isoform.Reader(first)))
    assert first.getvalue() == second.getvalue()
    with pytest.raises(isoform.Usage):
        writer.write(levels(1))


def test_a_growing_stream_is_read_on() -> None:
    stream = io.BytesIO()
    writer = isoform.Writer(stream, LEVEL)
    writer.write(levels(1))
    written = stream.getvalue()
    growing = io.BytesIO(written[:-10])
    reader = isoform.Reader(growing)
    with pytest.raises(isoform.BadInput) as fault:
        next(reader)
    assert fault.value.code == isoform.Code.Cut
    growing.write(written[-10:])
    growing.seek(len(written) - 10)
    assert next(reader).view()["level"] == 1
    assert next(reader, None) is None


class Slow(io.RawIOBase):
    """A pipe that has as many bytes as it says, and counts what was read."""

    def __init__(self, stream: bytes) -> None:
        self.stream, self.at, self.come = stream, 0, 0

    def read(self, size: int = -1) -> bytes:
        taken = self.stream[self.at : min(self.come, self.at + size)]
        self.at += len(taken)
        return taken


SENT = np.dtype([("step", ">i4"), ("ok", "?"), ("grid", ">f8", (100, 20))])


def grids(count: int) -> np.ndarray[Any, np.dtype[Any]]:
    records = np.zeros(count, SENT)
    records["step"], records["grid"] = range(count), np.arange(count)[:, None, None] / 4
    return records


def test_a_message_is_known_before_its_body_has_come_and_can_be_skipped_or_read_into_an_array() -> None:
    stream = io.BytesIO()
    with isoform.Writer(stream, SENT) as writer:
        writer.write(grids(3))
        writer.write(isoform.Encoder(LEVEL).encode((1.5,)))
    slow = Slow(stream.getvalue())
    reader = isoform.Reader(slow)  # type: ignore[arg-type]
    assert reader.peek() is None
    slow.come = stream.getvalue().index(b"\x89ISO", 1) + 40
    head = reader.peek()
    assert head is not None and head.length == SENT.itemsize and head.format.dtype == SENT
    assert "grid" in str(head.format) and repr(head).endswith(f"{SENT.itemsize} bytes)")
    array = np.zeros(2, head.format.dtype)
    with pytest.raises(isoform.BadInput) as fault:
        reader.read_into(array)
    assert fault.value.code == isoform.Code.Cut
    slow.come = len(slow.stream)
    for index in (0, 1):
        read = reader.read_into(array[index:])
        assert read is not None and read.length == SENT.itemsize
    np.testing.assert_array_equal(array, grids(2))
    assert reader.skip() and reader.peek().format.name == "record"  # type: ignore[union-attr]
    small, memory = bytearray(7), bytearray(64)
    with pytest.raises(isoform.LimitReached) as limit:
        reader.read_into(small)
    assert limit.value.code == isoform.Code.MessageSize and small == bytes(7)
    assert reader.read_into(memory) is not None and np.frombuffer(memory, LEVEL, 1)["level"] == 1.5
    assert reader.peek() is None and reader.read_into(memory) is None and not reader.skip()


def test_skipping_in_a_file_reads_no_body(tmp_path: Path) -> None:
    path = tmp_path / "sparse.iso"
    writer = isoform.Writer(path, SENT)
    writer.write(grids(1))
    writer.close()
    stream = path.read_bytes()
    begin = stream.rindex(SENT.itemsize.to_bytes(8, "little")) + 8
    with open(path, "r+b") as file:  # of which most is a hole
        file.seek(begin - 8)
        file.write((1 << 36).to_bytes(8, "little"))
        file.truncate(begin + (1 << 36))
    with isoform.Reader(path, isoform.Registry(message=1 << 40)) as reader:
        assert reader.peek().length == 1 << 36  # type: ignore[union-attr]
        assert reader.skip() and reader.position == path.stat().st_size
        assert reader.peek() is None


def test_a_body_is_read_only_to_memory_of_its_format() -> None:
    def reader() -> isoform.Reader:
        stream = io.BytesIO()
        isoform.Writer(stream, SENT).write(grids(1))
        stream.seek(0)
        return isoform.Reader(stream)

    noted = np.dtype([("step", isoform.field(">i4", unit="s")), ("ok", "?"), ("grid", ">f8", (100, 20))])
    assert reader().read_into(np.zeros(1, noted)) is not None
    moved = np.dtype({"names": ["step", "ok", "grid"], "formats": ["?", ">i4", SENT["grid"]], "offsets": [4, 0, 5]})
    for dtype in (SENT.newbyteorder("<"), LEVEL, moved, np.dtype("f8"), np.dtype(object)):
        with pytest.raises(isoform.Usage, match="sender's dtype") as fault:
            reader().read_into(np.zeros(1 << 12, dtype))
        assert fault.value.code == isoform.Code.WrongType
    locked = np.zeros(1, SENT)
    locked.setflags(write=False)
    for memory in (locked, np.zeros(4, SENT)[::2], bytes(1 << 16), "text", None, np.zeros(1 << 16, "u1")[::2]):
        with pytest.raises(isoform.Usage, match="contiguous and writable"):
            reader().read_into(memory)
    stream = io.BytesIO()
    isoform.Writer(stream, SENT).write(grids(1))
    wrong = bytearray(stream.getvalue())
    wrong[-SENT.itemsize + 4 - -SENT.itemsize % 16] = 7  # which is no bool
    with pytest.raises(isoform.BadInput) as bad:
        isoform.Reader(io.BytesIO(wrong)).read_into(np.zeros(1, SENT))
    assert bad.value.path == "ok"
    text = io.BytesIO()
    isoform.Writer(text).write(isoform.Encoder(isoform.Format.of_shape("record Note\n  text  string")).encode({"text": "hi"}))
    text.seek(0)
    with pytest.raises(isoform.Usage, match="have no dtype"):
        isoform.Reader(text).read_into(np.zeros(8, LEVEL))


def test_a_closed_reader_and_writer_say_so_and_closing_twice_does_no_harm(tmp_path: Path) -> None:
    writer = isoform.Writer(tmp_path / "a.iso", LEVEL)
    writer.close()
    writer.close()
    with pytest.raises(isoform.Unavailable) as fault:
        writer.write(levels(1))
    assert fault.value.code == isoform.Code.Closed
    reader = isoform.Reader(tmp_path / "a.iso")
    assert list(reader) == []
    reader.close()
    reader.close()
    with pytest.raises(isoform.Unavailable):
        next(reader)
    kinds: list[type[Exception]] = [FileNotFoundError, isoform.Unavailable]
    for kind in kinds:
        with pytest.raises(kind, match="nobody.iso") as both:
            isoform.Reader(tmp_path / "nobody.iso")
        error: Any = copy.copy(both.value)
        assert (error.code, error.errno) == (isoform.Code.Io, errno.ENOENT)
        assert error.filename == str(tmp_path / "nobody.iso") and str(error) == str(both.value)
    with pytest.raises(isoform.Usage, match="expected the path of a file, or an object with `read`, found int"):
        isoform.Reader(5)  # type: ignore[arg-type]
    with pytest.raises(FileNotFoundError, match="nobody.iso"):
        isoform.Reader(tmp_path / "nobody.iso")
    # Windows does not open a folder; other systems do, and fail when it is read.
    (tmp_path / "river.iso").mkdir()
    with pytest.raises(OSError, match="river.iso"):
        isoform.Reader(tmp_path / "river.iso")


class Failing(io.RawIOBase):
    def read(self, size: int = -1) -> bytes:
        raise KeyError("own")

    def write(self, data: Any) -> int:
        raise KeyError("own")


def test_the_exception_of_an_object_comes_out_as_it_was() -> None:
    with pytest.raises(KeyError, match="own"):
        next(isoform.Reader(Failing()))  # type: ignore[arg-type]
    with pytest.raises(KeyError, match="own"):
        isoform.Writer(Failing(), LEVEL).write(levels(1))  # type: ignore[arg-type]


@pytest.mark.parametrize("taken", [10**6, -1])
def test_an_object_that_claims_to_have_taken_what_it_was_not_given(taken: int) -> None:
    class Claiming(io.RawIOBase):
        def write(self, data: Any) -> int:
            return taken

    with pytest.raises(isoform.Unavailable, match=f"took {taken} of") as fault:
        isoform.Writer(Claiming(), LEVEL).write(levels(1))  # type: ignore[arg-type]
    assert fault.value.code == isoform.Code.Io


@pytest.mark.parametrize("take", [isoform.Decoder(LEVEL).decode_many, isoform.Columns(LEVEL).append, next])
def test_a_reader_that_is_in_use_is_an_exception(take: Callable[[Any], Any]) -> None:
    class Asking(io.RawIOBase):
        def read(self, size: int = -1) -> Any:
            return take(reader)

    reader = isoform.Reader(Asking())  # type: ignore[arg-type]
    with pytest.raises(RuntimeError, match="borrowed"):
        next(reader)


class Held(io.BytesIO):
    by: Any = None


@pytest.mark.parametrize("make", [isoform.Reader, lambda file: isoform.Writer(file, LEVEL)])
def test_what_is_held_by_a_file_that_it_holds_is_let_go(make: Callable[[Held], Any]) -> None:
    file = Held()
    file.by = make(file)
    known = weakref.ref(file)
    del file
    gc.collect()
    assert known() is None


@pytest.mark.skipif(os.name != "posix", reason="pipes with names")
def test_other_threads_go_on_while_a_pipe_is_waited_for_and_ctrl_c_ends_that(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    keep = os.open(path, os.O_RDWR)
    reader = isoform.Reader(path)
    writer = isoform.Writer(path, LEVEL)

    def write() -> None:
        writer.write(levels(5))
        writer.flush()

    threading.Timer(0.05, write).start()
    assert next(reader).view()["level"] == 5
    with pytest.raises(KeyboardInterrupt):
        threading.Timer(0.05, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
        next(reader)
    os.close(keep)


def test_a_registry_knows_what_a_stream_does_not_say() -> None:
    message = isoform.Encoder(LEVEL).encode((1.5,))
    registry = isoform.Registry()
    with pytest.raises(isoform.Unavailable) as fault:
        isoform.Message.parse(bytes(message), registry)
    assert fault.value.code == isoform.Code.UnknownFormat
    assert fault.value.token == pickle.loads(pickle.dumps(fault.value)).token == message.format.token
    assert registry.learn(message.format.description) == message.format
    assert registry.known(message.format.token) == message.format and len(registry.formats()) == 1
    assert isoform.Message.parse(bytes(message), registry).view()["level"] == 1.5
    reader = isoform.Reader(io.BytesIO(bytes(message)), registry)
    assert next(reader).array()["level"] == 1.5


def test_a_registry_says_what_is_put_up_with() -> None:
    stream = io.BytesIO()
    with isoform.Writer(stream) as writer:
        writer.write(isoform.Encoder(np.dtype([("a", "u1", (1000,))])).encode(([7] * 1000,)))
        writer.write(isoform.Encoder(LEVEL).encode((1.5,)))
    stream.seek(0)
    reader = isoform.Reader(stream, isoform.Registry(message=999))
    with pytest.raises(isoform.LimitReached) as fault:
        next(reader)
    assert fault.value.code == isoform.Code.MessageSize
    assert next(reader).view()["level"] == 1.5  # the next one is none the worse
    stream.seek(0)
    with pytest.raises(isoform.LimitReached):
        list(isoform.Reader(stream, isoform.Registry(description=10)))


@pytest.mark.skipif(os.name != "posix", reason="pipes with names")
def test_ctrl_c_ends_writing_to_a_pipe_that_is_full_and_opening_one_that_nobody_opens(tmp_path: Path) -> None:
    pipes = [tmp_path / name for name in ("read", "write", "full")]
    for pipe in pipes:
        os.mkfifo(pipe)

    def is_interrupted(wait: Callable[[], object]) -> None:
        with pytest.raises(KeyboardInterrupt):
            threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
            wait()

    is_interrupted(lambda: isoform.Reader(pipes[0]))
    is_interrupted(lambda: isoform.Writer(pipes[1]))
    reader = os.open(pipes[2], os.O_RDONLY | os.O_NONBLOCK)
    writer = isoform.Writer(pipes[2], LEVEL)
    is_interrupted(lambda: writer.write(np.zeros(1_000_000, LEVEL)))
    with pytest.raises(isoform.Unavailable, match="only in part"):
        writer.write(levels(1))
    os.close(reader)


GAUGE = np.dtype([("step", "u8"), ("depth", "f8", (4,))])


def gauges(steps: range) -> np.ndarray[Any, np.dtype[Any]]:
    return np.array([(step, (0, step / 10, 0, 0)) for step in steps], GAUGE)


def test_a_reader_with_a_query_gives_what_it_makes_of_the_records(tmp_path: Path) -> None:
    path = tmp_path / "a.iso"
    note = isoform.Encoder(isoform.Format.of_shape("record Note\n  text  string")).encode({"text": "hello"})
    with isoform.Writer(path, GAUGE) as writer:
        writer.write(gauges(range(50)))
        writer.write(note)
        writer.write(gauges(range(50, 100)))
    query = "where step % 10 == 0 | select step, deep = max(depth)"
    expected = [(step, step / 10) for step in range(0, 100, 10)]
    with isoform.Reader(path, query=query) as reader:
        views = [message.view() for message in reader]
        assert [(view["step"], view["deep"]) for view in views] == expected
        assert [field.name for field in reader.formats()[0].fields] == ["step", "deep"]
        assert next(reader, None) is None
    # Whatever takes a reader takes this one.
    deepest = np.dtype([("deep", "f8"), ("step", "i4")])
    assert isoform.Decoder(deepest).decode_many(isoform.Reader(path, query=query))["step"].tolist() == [*range(0, 100, 10)]
    with isoform.Reader(io.BytesIO(path.read_bytes()), query="every 30 | where step >= 0") as reader:
        head = reader.peek()
        assert head is not None and head.format.dtype["depth"].shape == (4,)
        assert reader.skip()
        assert [message.view()["step"] for message in reader] == [30, 60, 90], "counted without other formats"


def test_windows_of_a_query_give_what_they_have_at_the_end(tmp_path: Path) -> None:
    path = tmp_path / "a.iso"
    with isoform.Writer(path, GAUGE) as writer:
        writer.write(gauges(range(25)))
    query = "window 10 | select count(), last = last(step)"
    views = [message.view() for message in isoform.Reader(path, query=query)]
    assert [(view["count"], view["last"]) for view in views] == [(10, 9), (10, 19), (5, 24)]


def test_a_reader_names_the_place_in_a_query_that_is_wrong(tmp_path: Path) -> None:
    path = tmp_path / "a.iso"
    with isoform.Writer(path, GAUGE) as writer:
        writer.write(gauges(range(3)))
    with pytest.raises(isoform.BadInput, match="line 1 column 14"):
        isoform.Reader(path, query="where depth >")
    with isoform.Reader(path, query="where deep > 1") as reader, pytest.raises(isoform.Usage, match="step, depth"):
        next(reader)
    with isoform.Reader(path, query="every 10 ms") as reader, pytest.raises(isoform.Usage, match="times"):
        next(reader)
    with isoform.Reader(io.BytesIO(path.read_bytes()[:-20]), query="where step > 0") as reader:
        assert next(reader).view()["step"] == 1
        with pytest.raises(isoform.BadInput, match="ends within"):
            next(reader)
    failing = io.BytesIO(path.read_bytes())
    reader = isoform.Reader(failing, query="every 2")
    failing.close()
    with pytest.raises(ValueError, match="closed file"):
        next(reader)


def test_a_reader_resumes_behind_damage_in_a_sealed_stream(tmp_path: Path) -> None:
    sent, target = gauges(range(3)), io.BytesIO()
    begins = []
    with isoform.Writer(target, GAUGE, sealed=True) as writer:
        for gauge in sent:
            writer.flush()
            begins.append(target.tell())
            writer.write(gauge)
        writer.flush()
        stream = bytearray(target.getvalue())
    stream[begins[1] + 48 + 32] ^= 1
    reader = isoform.Reader(io.BytesIO(stream))
    assert reader.resume() is None, "there is no damage yet"
    assert next(reader).view()["step"] == 0
    for _ in range(2):
        with pytest.raises(isoform.BadInput, match="damaged"):
            next(reader)
    assert reader.resume() == (begins[1], begins[2])
    assert [message.view()["step"] for message in reader] == [2]


def test_a_stream_that_was_cut_is_healed_before_it_goes_on(tmp_path: Path) -> None:
    path, sent = tmp_path / "gauges.iso", gauges(range(3))
    for sealed in (False, True):
        path.unlink(missing_ok=True)
        with isoform.Writer(path, GAUGE, append=True, sealed=sealed) as writer:
            assert writer.healed is None, "it was not there"
            writer.write(sent[0])
            writer.write(sent[1])
            with pytest.raises(isoform.Error, match="nobody else"):
                isoform.Writer(path, append=True)
        whole = path.read_bytes()
        path.write_bytes(whole[:-20])
        with isoform.Writer(path, GAUGE, append=True) as writer:
            assert writer.healed is not None
            at, count, aside = writer.healed
            assert Path(aside).read_bytes() == whole[at:-20] and at + count == len(whole) - 20
            writer.write(sent[2])
        assert [message.view()["step"] for message in isoform.Reader(path)] == [0, 2]
        stream = bytearray(path.read_bytes())
        stream[-30] ^= 1
        reader = isoform.Reader(io.BytesIO(stream))
        next(reader)
        if sealed:
            with pytest.raises(isoform.BadInput, match="damaged"):
                next(reader)
        else:
            next(reader)
    with pytest.raises(isoform.Error, match="path of a file"):
        isoform.Writer(io.BytesIO(), append=True)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has a /dev/full")
def test_what_a_writer_cannot_write_is_said_with_its_file(monkeypatch: pytest.MonkeyPatch) -> None:
    record = np.zeros((), [("x", "f8")])
    writer = isoform.Writer("/dev/full", record.dtype)
    writer.write(record)
    with pytest.raises(isoform.Error, match="/dev/full"):
        writer.close()

    told: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda unraisable: told.append(unraisable.exc_value))
    writer = isoform.Writer("/dev/full", record.dtype)
    writer.write(record)
    del writer
    gc.collect()
    assert len(told) == 1 and isinstance(told[0], isoform.Error) and "/dev/full" in str(told[0])

    file = io.BytesIO()
    writer = isoform.Writer(file, record.dtype)
    writer.write(record)
    file.close()
    del writer
    gc.collect()
    assert len(told) == 1
