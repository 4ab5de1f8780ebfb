"""Event channels, between the nodes of one process and of two."""

from __future__ import annotations

import asyncio
import math
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import isoform
import numpy as np
import numpy.typing as npt
import pytest

FOREIGN = ">" if sys.byteorder == "little" else "<"
SAMPLE = np.dtype([("step", f"{FOREIGN}i4"), ("depth", f"{FOREIGN}f8")])
SEEN = np.dtype([("depth", "f4"), ("step", "i8")])


def samples(count: int) -> np.ndarray[Any, np.dtype[Any]]:
    array = np.zeros(count, SAMPLE)
    array["step"], array["depth"] = np.arange(count), 0.5
    return array


@pytest.fixture
def node() -> isoform.Node:
    return isoform.Node()


@pytest.fixture
def river(node: isoform.Node) -> Iterator[isoform.Channel]:
    channel = node.create("river", SAMPLE)
    yield channel
    channel.close()


def test_events_of_another_layout_come_one_by_one_and_in_batches(river: isoform.Channel) -> None:
    other = isoform.Node().open(river.id)
    assert other.format == river.format and len(other.members) == 2
    with isoform.Sink(other, SEEN) as sink, river.source(SAMPLE) as source:
        source.wait_for_sinks(1, 10)
        assert source.submit(samples(1000)) == 999 and source.sinks == 1
        joined = sink.recv()
        assert isinstance(joined, isoform.Joined) and joined.format == isoform.Format.of(SAMPLE)
        first = sink.recv()
        assert isinstance(first, isoform.Record) and first.record == np.array((0.5, 0), SEEN)
        assert (first.sequence, first.time > 1.7e18) == (0, True)
        rest: list[Any] = []
        while len(rest) < 999:
            some = sink.recv_many(300)
            assert isinstance(some, isoform.Records) and len(some) <= 300
            assert some.stamps["sequence"].tolist() == some.records["step"].tolist()
            rest += some.records["step"].tolist()
        assert rest == list(range(1, 1000))
        assert sink.recv(0) is None and sink.recv_many(timeout=0.01) is None
        assert sink.counts == (1000, 1000, 0, 0, 0, 0, 0, 0)
        (ledger,) = source.close()
        assert (ledger.submitted, ledger.acknowledged, ledger.lost, ledger.is_exact) == (1000, 1000, 0, True)
        assert source.close() == []
        assert sink.recv() == isoform.Left(0, 0)


@dataclass
class Note:
    step: int
    text: str
    depth: list[float]


def test_objects_and_views(node: isoform.Node) -> None:
    channel = node.create("notes", Note)
    with channel.sink(Note) as objects, channel.sink() as messages, channel.source(Note) as source:
        source.submit(Note(1, "one", [0.5]))
        source.submit([Note(2, "two", []), Note(3, "three", [1.0, 2.0])])
        notes = objects.records()
        assert [next(notes) for _ in range(3)] == [Note(1, "one", [0.5]), Note(2, "two", []), Note(3, "three", [1.0, 2.0])]
        views = messages.records()
        assert [next(views).view()["text"] for _ in range(3)] == ["one", "two", "three"]
        with pytest.raises(isoform.Usage):
            messages.recv_many()


def test_what_cannot_work_is_refused_before_the_first_event(river: isoform.Channel) -> None:
    @dataclass
    class Wrong:
        step: str

    for end in (river.sink, river.source):
        with pytest.raises(isoform.Mismatch) as fault:
            end(Wrong)
        assert (fault.value.code, fault.value.path) == (isoform.Code.NoConversion, "step")


def test_fields_that_a_sink_asks_for_must_exist(river: isoform.Channel, node: isoform.Node) -> None:
    with pytest.raises(isoform.Usage) as fault:
        river.sink(SEEN, fields=["nope"])
    assert (fault.value.code, fault.value.actual) == (isoform.Code.NoSuchField, "nope")
    assert fault.value.expected == "one of depth, step"
    river.sink(SEEN, fields=["d"], rules=[("depth", "alias", "d")]).close()
    channel = node.create("any")
    with channel.sink(fields=["depth", "nope"]) as sink, channel.source(SAMPLE) as source:
        refused = sink.recv(20)
        assert isinstance(refused, isoform.Refused) and refused.error.code == isoform.Code.NoSuchField
        assert refused.error.actual == "nope" and source.submit(samples(1)) == 0 and source.sinks == 0


def test_a_sink_asks_for_less(river: isoform.Channel, node: isoform.Node) -> None:
    query = "where step % 10 == 3 | select step"
    other = isoform.Node().open(river.id)
    step = np.dtype([("step", "i8")])
    sink = other.sink(step, query=query, until="left")
    source = river.source(SAMPLE)
    source.wait_for_sinks(1, 10)
    source.submit(samples(40))
    closing = threading.Thread(target=source.close)
    closing.start()
    assert [int(record["step"]) for record in sink.records()] == [3, 13, 23, 33]
    closing.join()
    assert (sink.counts.received, sink.counts.skipped) == (4, 36)
    with pytest.raises(isoform.Error, match="line 1 column 6"):
        river.sink(query="where")
    with pytest.raises(isoform.Error, match="step, depth"):
        river.sink(query="where level > 3")


def test_a_channel_is_derived_by_a_query(river: isoform.Channel, node: isoform.Node) -> None:
    fourth = river.derive("where step % 4 == 0|select step")
    assert (fourth.query, fourth.name) == ("where step % 4 == 0 | select step", "river")
    assert river.query is None and fourth.id.endswith("?query=where%20step%20%25%204%20%3D%3D%200%20%7C%20select%20step")
    named = fourth.derive("every 2", name="few")
    assert named.name == "few" and "query" not in named.id
    other = isoform.Node()
    step = np.dtype([("step", "i8")])
    sinks = [
        other.open(fourth.id).sink(step, until="left"),
        other.open(named.id).sink(step, until="left"),
        other.open(named.id).sink(step, query="where step > 9", until="left"),
    ]
    source = river.source(SAMPLE)
    source.wait_for_sinks(3, 10)
    source.submit(samples(20))
    closing = threading.Thread(target=source.close)
    closing.start()
    steps = [[int(record["step"]) for record in sink.records()] for sink in sinks]
    assert steps == [[0, 4, 8, 12, 16], [0, 8, 16], [16]]
    closing.join()
    with pytest.raises(isoform.Usage) as fault:
        fourth.source(SAMPLE)
    assert fault.value.code == isoform.Code.WrongType
    with pytest.raises(isoform.Error, match="line 1 column 7"):
        river.derive("where level > 3")
    with pytest.raises(isoform.Error) as taken:
        river.derive("every 2", name="few")
    assert taken.value.code == isoform.Code.Taken
    del named
    with pytest.raises(isoform.Error) as gone:
        other.open(fourth.id.replace("river", "few").split("?")[0])
    assert gone.value.code in (isoform.Code.NoSuchChannel,)


def test_a_source_limits_the_queries_and_sinks_of_others(node: isoform.Node) -> None:
    channel = node.create("little")
    source = channel.source(SAMPLE, query_time=(1e-6, 1e-6), most_queries=1, most_sinks=2)
    other = isoform.Node().open(channel.id)
    with other.sink(query="where step >= 0"):
        source.wait_for_sinks(1, 10)
        with other.sink(query="where step > 7") as second:
            refused = next(event for event in second if isinstance(event, isoform.Refused))
            assert refused.error.code == isoform.Code.Budget
        with other.sink(), other.sink() as third:
            refused = next(event for event in third if isinstance(event, isoform.Refused))
            assert refused.error.code == isoform.Code.Peers
        source.submit(samples(1000))
        thinned = [entry.losses.get("thinned", 0) for entry in source.ledger()]
        assert max(thinned) > 800
    with pytest.raises(isoform.Error, match="a number of seconds"):
        channel.source(SAMPLE, query_time=(-1, 0))


def test_records_warn_of_a_source_that_refuses(node: isoform.Node) -> None:
    channel = node.create("any")
    with channel.sink(query="where level > 3 | select level", until="left") as sink, channel.source(SAMPLE) as refusing:
        refusing.submit(samples(1))
        level = np.dtype([("level", "i8")])
        source = channel.source(level)
        source.submit(np.array([(1,), (5,)], level))
        closing = threading.Thread(target=source.close)
        closing.start()
        with pytest.warns(RuntimeWarning, match='no records of source 0: .* found "level" at line 1 column 7'):
            assert [record.view().level for record in sink.records()] == [5]
        closing.join()


def test_an_iteration_ends_with_the_last_source_if_it_is_asked_to(river: isoform.Channel) -> None:
    other = isoform.Node().open(river.id)
    def submit(*steps: int) -> None:
        """Submits from a source for each number, and closes them while the sink is read."""
        sources = [river.source(SAMPLE) for _ in steps]
        for source, count in zip(sources, steps):
            source.wait_for_sinks(1, 20)
            source.submit(samples(count))
        threading.Thread(target=lambda: [source.close() for source in sources]).start()

    with other.sink(SEEN, until="left") as sink:

        async def main() -> int:
            return len([event async for event in sink if isinstance(event, isoform.Record)])

        for _ in range(2):
            submit(10, 10)
            assert sum(isinstance(event, isoform.Record) for event in sink) == 20
        submit(3)
        assert [int(record["step"]) for record in sink.records()] == [0, 1, 2]
        submit(3)
        assert sum(len(event) for event in sink.batches() if isinstance(event, isoform.Records)) == 3
        submit(3)
        assert asyncio.run(asyncio.wait_for(main(), 20)) == 3
    with pytest.raises(isoform.Usage, match="expected closed or left, found never"):
        river.sink(SEEN, until="never")


def test_an_iteration_ends_if_the_only_source_was_refused(node: isoform.Node) -> None:
    channel = node.create("of others")
    ways: list[Any] = [
        lambda: channel.sink(np.dtype([("wind", "f8")]), until="left"),
        lambda: channel.sink(query="where x > 1", until="left"),
    ]
    for open_sink in ways:
        with open_sink() as sink:
            with channel.source(SAMPLE) as source:
                source.submit(samples(1))
                source.close(timeout=0)
            with pytest.warns(RuntimeWarning, match="no records of source"):
                assert list(sink.records()) == []


def test_listen_says_what_it_expects() -> None:
    for wrong in (5, [5], {"a": 1}):
        with pytest.raises(isoform.Usage) as fault:
            isoform.Node(wrong)  # type: ignore[arg-type]
        assert fault.value.path == "listen" and "127.0.0.1:7000" in fault.value.expected


def test_a_refused_source_is_an_event(node: isoform.Node) -> None:
    channel = node.create("any")
    sink = channel.sink(SEEN)
    channel.source(np.dtype([("step", "S4"), ("depth", "f8")])).submit((b"no", 1))
    refused = sink.recv(20)
    assert isinstance(refused, isoform.Refused) and refused.error.path == "step"
    assert (sink.counts.refused, sink.counts.received) == (1, 0)


@dataclass
class Level:
    step: int
    depth: float
    text: str = ""


@dataclass
class Alarm:
    text: str


@pytest.mark.parametrize("wanted", [SEEN, Level, isoform.Kinds(Level)], ids=["dtype", "class", "kinds"])
def test_a_source_of_objects_says_its_format_and_is_refused_once(node: isoform.Node, wanted: Any) -> None:
    channel = node.create("any of many")
    with channel.sink(wanted, until="left") as sink:
        levels, alarms = channel.source(Level), channel.source(Alarm)
        for step in range(3):
            alarms.submit(Alarm("high"))
            levels.submit(Level(step, 0.5))
        for source in (alarms, levels):
            source.close(timeout=0)
        seen = list(sink)
        joined = [event.format for event in seen if isinstance(event, isoform.Joined)]
        assert isoform.Format.of(Level) in joined and None not in joined
        refused = [event.error for event in seen if isinstance(event, isoform.Refused)]
        assert len(refused) == 1 and isinstance(refused[0], isoform.Mismatch)
        assert len([event for event in seen if isinstance(event, isoform.Record)]) == 3
        assert (sink.counts.refused, sink.counts.taken, sink.counts.unfit) == (1, 3, 0)


def test_a_source_of_objects_submits_messages_of_its_format_alone(node: isoform.Node) -> None:
    channel = node.create("one of many")
    with channel.sink(Level) as sink, channel.source(Level) as source:
        source.submit(isoform.Encoder(Level).encode(Level(1, 0.5)))
        with pytest.raises(isoform.Usage, match="expected Level, the format of the source, found Alarm"):
            source.submit(isoform.Encoder(Alarm).encode(Alarm("high")))
        assert next(sink.records()) == Level(1, 0.5)


@dataclass
class Small:
    step: Annotated[int, isoform.i8]
    text: str = ""


@pytest.mark.parametrize("wanted", [np.dtype([("step", "i1")]), Small, isoform.Kinds(Small)], ids=["dtype", "class", "kinds"])
def test_records_that_do_not_fit_are_counted_and_the_others_come(node: isoform.Node, wanted: Any) -> None:
    channel = node.create("too large")
    with channel.sink(wanted, until="left") as sink, channel.source(Level) as source:
        source.submit([Level(step, 0.5) for step in (1, 300, 400, 2)])
        source.close(timeout=0)
        steps: list[int] = []
        paths: list[str] = []
        while not steps or steps[-1] != 2:
            try:
                event = next(sink)
                if isinstance(event, isoform.Record):
                    steps.append(event.record["step"] if isinstance(event.record, np.void) else event.record.step)
            except isoform.Mismatch as error:
                paths.append(error.path)
        assert steps == [1, 2] and paths == ["event 1 of source 0.step", "event 2 of source 0.step"]
        assert (sink.counts.taken, sink.counts.unfit) == (4, 2)


def test_a_sink_that_is_not_read_does_not_hold_its_source(river: isoform.Channel) -> None:
    sink = isoform.Node().open(river.id).sink(SEEN, window=(1, 1 << 20))
    source = river.source(SAMPLE)
    source.wait_for_sinks(1, 10)
    assert source.submit(samples(100_000)) == 99_999
    (ledger,) = source.ledger()
    assert ledger.is_exact and ledger.lost > 30_000 and ledger.changes == 1 and ledger.waited > 0
    assert isinstance(sink.recv(10), isoform.Joined) and isinstance(sink.recv(10), isoform.Record)
    granted = sink.recv(10)
    assert isinstance(granted, isoform.Granted) and granted.reason == "slow"


def test_the_rest_of_a_long_event_is_declined_by_its_head(node: isoform.Node) -> None:
    pixels = np.zeros(32 << 20, "u1")
    channel = node.create("images")
    image = np.dtype([("number", "i4"), ("halo", "u1", (32 << 20,))])
    source = channel.source(image)
    sink = isoform.Node().open(channel.id).sink(heads=True)
    source.wait_for_sinks(1, 10)
    assert isinstance(sink.recv(10), isoform.Joined)
    declined = 0
    for number in range(10):
        source.submit(np.array([(number, pixels)], image))
        head = sink.recv(20)
        if isinstance(head, isoform.EventHead):
            assert (head.sequence, head.length) == (number, image.itemsize) and head.format.size == image.itemsize
            assert head.message is not None and head.message.view().number == number
            sink.decline(head)
            event = sink.recv(20)
            assert isinstance(event, isoform.Gap | isoform.Record)
            declined += isinstance(event, isoform.Gap) and event.cause == "declined" and event.first == number
            assert not sink.decline(head)
    assert declined
    (ledger,) = source.close(20)
    assert ledger.losses["declined"] == declined and ledger.acknowledged == 10 - declined


def test_one_word_on_each_end_loses_nothing(river: isoform.Channel) -> None:
    opened = isoform.Node().open(river.id)
    source = river.source(SAMPLE, lossless=True)
    sink = opened.sink(SEEN, policy="lossless", window=(2, 1 << 20))
    source.wait_for_sinks(1, 10)
    submitting = threading.Thread(target=source.submit, args=(samples(500),))
    submitting.start()
    assert isinstance(sink.recv(10), isoform.Joined)
    for step in range(500):
        event = sink.recv(10)
        assert isinstance(event, isoform.Record) and event.sequence == step
    submitting.join()
    assert [ledger.policy for ledger in source.ledger()] == ["lossless"]


def test_a_source_that_is_not_lossless_refuses_a_sink_that_is(river: isoform.Channel) -> None:
    source = river.source(SAMPLE, keep=1)
    source.submit(samples(2))
    sink = river.sink(SEEN, policy="lossless")
    refused = sink.recv(10)
    assert isinstance(refused, isoform.Refused) and refused.error.code == isoform.Code.NotGranted
    sink.set_policy("latest")
    source.wait_for_sinks(1, 10)
    assert isinstance(sink.recv(10), isoform.Joined)
    kept = sink.recv(10)
    assert isinstance(kept, isoform.Record) and kept.sequence == 1


@pytest.mark.parametrize(("policy", "cause"), [("oldest:1", "overrun"), ("latest", "superseded")])
def test_gaps_are_events_and_the_ledger_adds_up(river: isoform.Channel, policy: str, cause: str) -> None:
    sink = river.sink(SEEN, policy=policy, window=(1, 1 << 20))
    with river.source(SAMPLE) as source:
        source.submit(samples(100))
        assert isinstance(sink.recv(), isoform.Joined)
        taken = missing = 0
        while taken + missing < 100:
            event = sink.recv(10)
            if isinstance(event, isoform.Gap):
                assert event.cause == cause and event.first == taken + missing
                missing += event.count
            else:
                assert isinstance(event, isoform.Record)
                taken += 1
        assert missing > 0
        (ledger,) = source.ledger()
        # What a newer record has superseded is not lost.
        superseded, lost = (missing, 0) if policy == "latest" else (0, missing)
        assert ledger.is_exact and (ledger.superseded, ledger.lost) == (superseded, lost)
        assert ledger.losses == ({cause: lost} if lost else {})
        assert (sink.counts.superseded, sink.counts.lost) == (superseded, lost)


def test_a_source_that_may_not_publish_is_told(tmp_path: Path) -> None:
    rules = tmp_path / "rules"
    rules.write_text("deny anyone publish on *\nallow anyone all on *\n")
    there, here = isoform.Node(rules=str(rules)), isoform.Node()
    channel = there.create("river", SAMPLE)
    sink = channel.sink(SEEN)
    source = here.open(channel.id).source(SAMPLE)
    with pytest.raises(isoform.Unavailable) as caught:
        source.wait_for_sinks(1, timeout=1)
    assert caught.value.code == isoform.Code.Forbidden and "the right to publish" in str(caught.value)
    declined = source.declined
    assert declined is not None and declined.code == isoform.Code.Forbidden and "line 1" not in str(declined)
    assert channel.source(SAMPLE).declined is None
    sink.close()


def test_async_for(river: isoform.Channel) -> None:
    async def main() -> list[int]:
        steps = []
        async for event in river.sink(SEEN):
            if isinstance(event, isoform.Record):
                steps.append(int(event.record["step"]))
            if len(steps) == 5:
                break
        return steps

    async def both() -> list[int]:
        task = asyncio.create_task(main())
        await asyncio.sleep(0)
        source = river.source(SAMPLE)
        for sample in samples(5):
            source.submit(sample)
            await asyncio.sleep(0)
        return await asyncio.wait_for(task, 20)

    assert asyncio.run(both()) == [0, 1, 2, 3, 4]


def test_other_tasks_go_on_while_many_events_come(river: isoform.Channel) -> None:
    async def main() -> int:
        sink = river.sink(SEEN)
        turns = 0

        async def turn() -> None:
            nonlocal turns
            while True:
                turns += 1
                await asyncio.sleep(0)

        other = asyncio.create_task(turn())
        with river.source(SAMPLE) as source:
            source.submit(samples(1000))
            async for event in sink:
                if isinstance(event, isoform.Record) and event.record["step"] == 999:
                    break
        other.cancel()
        return turns

    assert asyncio.run(main()) >= 10


@pytest.mark.skipif(os.name != "posix", reason="the usual loop of Windows waits for no descriptors")
def test_tasks_share_a_sink_and_end_when_it_is_closed(river: isoform.Channel) -> None:
    async def main() -> list[int]:
        sink, source = river.sink(SEEN), river.source(SAMPLE)
        seen = []

        async def take() -> None:
            async for event in sink:
                if isinstance(event, isoform.Record):
                    seen.append(int(event.record["step"]))

        tasks = [asyncio.create_task(take()) for _ in range(3)]
        while len(seen) < 20:
            source.submit(samples(1))
            await asyncio.sleep(0.001)
        assert not any(task.done() for task in tasks)
        loop = asyncio.get_running_loop()
        await loop.run_in_executor(None, sink.close)
        read, write = os.pipe()  # which may have the sink's number now
        came = asyncio.Event()
        loop.add_reader(read, came.set)
        await asyncio.wait_for(asyncio.gather(*tasks), 20)
        os.write(write, b"x")
        await asyncio.wait_for(came.wait(), 20)
        loop.remove_reader(read)
        os.close(read)
        os.close(write)
        assert [event async for event in sink] == []
        return seen

    assert len(asyncio.run(main())) >= 20


class WithoutReaders(asyncio.SelectorEventLoop):
    """Waits for no descriptors, as the usual loop of Windows."""

    def add_reader(self, *arguments: Any) -> None:  # type: ignore[override]
        raise NotImplementedError


def test_tasks_wait_also_on_a_loop_that_waits_for_no_descriptors(river: isoform.Channel) -> None:
    async def main() -> None:
        sink, source = river.sink(SEEN), river.source(SAMPLE)
        seen = []

        async def take() -> None:
            async for event in sink:
                if isinstance(event, isoform.Record):
                    seen.append(int(event.record["step"]))

        tasks = [asyncio.create_task(take()) for _ in range(3)]
        while len(seen) < 20:
            source.submit(samples(1))
            await asyncio.sleep(0.001)
        cancelled = tasks.pop()
        cancelled.cancel()
        with pytest.raises(asyncio.CancelledError):
            await cancelled
        sink.close()
        await asyncio.wait_for(asyncio.gather(*tasks), 20)
        assert not [thread for thread in threading.enumerate() if thread.name == "isoform wait"]

    loop = WithoutReaders()
    try:
        loop.run_until_complete(main())
    finally:
        loop.close()


def test_iteration_ends_with_the_channel(node: isoform.Node) -> None:
    channel = node.create("short", SAMPLE)
    sink = channel.sink(SEEN)
    threading.Timer(0.05, channel.close).start()
    assert list(sink) == []
    assert list(sink.batches()) == []


def interrupt() -> None:
    """As Ctrl-C does."""
    if os.name == "posix":
        os.kill(os.getpid(), signal.SIGINT)
    else:
        signal.raise_signal(signal.SIGINT)


def test_ctrl_c_ends_waiting(river: isoform.Channel) -> None:
    sink = river.sink(SEEN)
    with pytest.raises(KeyboardInterrupt):
        threading.Timer(0.05, interrupt).start()
        sink.recv()
    # A sink that takes nothing lets its source wait.
    source = river.source(SAMPLE)
    with pytest.raises(KeyboardInterrupt):
        threading.Timer(0.3, interrupt).start()
        while True:
            source.submit(samples(10000))
    assert source.ledger()[0].is_exact


def is_interrupted(wait: Callable[[], object]) -> None:
    with pytest.raises(KeyboardInterrupt):
        threading.Timer(0.3, interrupt).start()
        wait()


def test_ctrl_c_ends_closing_and_opening(river: isoform.Channel) -> None:
    sink, source = river.sink(SEEN), river.source(SAMPLE)
    source.submit(samples(10))
    is_interrupted(lambda: source.close(math.inf))
    assert source.close() == [] and isinstance(sink.recv(), isoform.Joined)
    silent = socket.create_server(("127.0.0.1", 0))
    is_interrupted(lambda: isoform.open(f"iso://127.0.0.1:{silent.getsockname()[1]}/river", math.inf))
    silent.close()


def test_other_threads_go_on_while_the_last_handles_are_dropped() -> None:
    node = isoform.Node()
    channel = node.create("river", SAMPLE)
    sink = isoform.Node().open(channel.id).sink(SEEN)  # which takes nothing
    source = channel.source(SAMPLE)
    source.submit(samples(10))
    turns, over = 0, False

    def turn() -> None:
        nonlocal turns
        while not over:
            turns += 1
            time.sleep(0)

    other = threading.Thread(target=turn)
    other.start()
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1000)  # nobody goes on unless he is let
    try:
        before = turns
        del node, channel, source
        after = turns
    finally:
        sys.setswitchinterval(interval)
        over = True
        other.join()
    assert after > before and sink.counts.received == 10


MEMBER = "import isoform, sys; channel = isoform.open(sys.argv[1]); print(flush=True); sys.stdin.read()"


@pytest.mark.skipif(not hasattr(signal, "SIGSTOP"), reason="a process that is stopped")
def test_ctrl_c_ends_asking_a_member_that_does_not_answer() -> None:
    channel = isoform.Node(silence=1000).create("river", SAMPLE)
    command = [sys.executable, "-c", MEMBER, channel.id]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as member:
        assert member.stdout is not None and member.stdout.readline() and len(channel.members) == 2
        member.send_signal(signal.SIGSTOP)
        try:
            is_interrupted(lambda: channel.info(math.inf))
        finally:
            member.kill()


def test_a_sink_that_is_closed_by_another_thread(river: isoform.Channel) -> None:
    sink = river.sink(SEEN)
    threading.Timer(0.05, sink.close).start()
    with pytest.raises(isoform.Unavailable) as fault:
        sink.recv()
    assert fault.value.code == isoform.Code.Closed
    sink.close()


def test_wrong_addresses_are_errors() -> None:
    with pytest.raises(isoform.Unavailable) as fault:
        isoform.Sink("iso://127.0.0.1:1/nobody")
    assert fault.value.code == isoform.Code.Unreachable
    for id in ("http://x", "iso://127.0.0.1:1"):
        with pytest.raises(isoform.Usage) as fault2:
            isoform.open(id)
        assert fault2.value.code == isoform.Code.Address
    with pytest.raises(isoform.Usage) as fault2:
        isoform.Node("192.0.2.1:0")
    assert fault2.value.code == isoform.Code.Insecure
    with pytest.raises(isoform.Usage):
        isoform.create("x").sink(SEEN, policy="sometimes")


SOURCE = """
import isoform, sys
from dataclasses import dataclass
from functools import partial
@dataclass
class Sample:
    step: int
    depth: float
    name: str = ""
with isoform.Source(sys.argv[1], Sample) as source:
    source.wait_for_sinks(1, 20)
    for step in range(1000):
        source.submit(Sample(step, 0.5, "extra"))
"""


def test_two_processes(node: isoform.Node) -> None:
    channel = node.create("river")
    sink = channel.sink(SEEN)
    other = subprocess.Popen([sys.executable, "-c", SOURCE, channel.id])
    steps = []
    for event in sink:
        if isinstance(event, isoform.Record):
            steps.append(int(event.record["step"]))
        if isinstance(event, isoform.Left):
            break
    assert steps == list(range(1000)) and other.wait(20) == 0
    members = channel.info()
    assert members[0].answered and members[0].sinks[0].taken == 1000


forks = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
FORKS = """
import gc, isoform, numpy as np, os, sys
TYPE = np.dtype([("step", "i4")])
channel = isoform.Node().create("river", TYPE)
other = isoform.Node().open(channel.id)
source, sink = channel.source(TYPE), other.sink(TYPE)
source.wait_for_sinks(1, 10)
child = os.fork()
if child == 0:
    sys.exit()  # which drops the handles of its parent
assert os.waitpid(child, 0) == (child, 0)
source.submit(np.zeros(1, TYPE))
print(*(type(sink.recv()).__name__ for _ in range(2)))
"""


@forks
def test_a_forked_process_that_ends_leaves_the_channels_of_its_parent_alone() -> None:
    run = subprocess.run([sys.executable, "-W", "ignore", "-c", FORKS], capture_output=True, text=True, timeout=60)
    assert (run.returncode, run.stdout, run.stderr) == (0, "Joined Record\n", "")


FORKED_SOURCE = """
import isoform, numpy as np, os
TYPE = np.dtype([("step", "i4")])
channel = isoform.create("river", TYPE)
sink = channel.sink(TYPE)
child = os.fork()
if child == 0:
    source = isoform.open(channel.id).source(TYPE)
    source.wait_for_sinks(1, 10)
    source.submit(np.zeros(1, TYPE))
    source.close()
    os._exit(0)
print(*(type(sink.recv()).__name__ for _ in range(3)), os.waitpid(child, 0)[1])
"""


@forks
def test_a_forked_process_has_a_default_node_of_its_own() -> None:
    run = subprocess.run([sys.executable, "-W", "ignore", "-c", FORKED_SOURCE], capture_output=True, text=True, timeout=60)
    assert (run.returncode, run.stdout, run.stderr) == (0, "Joined Record Left 0\n", "")


FORKED_USE = """
import isoform, numpy as np, os
TYPE = np.dtype([("step", "i4")])
node = isoform.Node()
channel = node.create("river", TYPE)
ends = channel.source(TYPE), channel.sink(TYPE)
source, sink = ends
source.wait_for_sinks(1, 10)
source.submit(np.zeros(3, TYPE))
child = os.fork()
if child == 0:
    step, said = np.zeros(1, TYPE), set()
    uses = [
        lambda: source.submit(step), lambda: source.wait_for_sinks(1, 10), source.ledger, lambda: source.sinks, source.demands,
        sink.recv, sink.recv_many, lambda: next(sink.records()), lambda: next(sink.batches()), lambda: next(sink), sink.fileno,
        lambda: sink.counts, lambda: sink.set_policy("latest"), channel.info, channel.sink, lambda: channel.source(TYPE),
        lambda: channel.members, lambda: channel.derive("step"), lambda: isoform.Source(channel, TYPE),
        lambda: node.create("other"), lambda: node.open(channel.id),
    ]
    for use in uses:
        try:
            print("no error", use())
        except isoform.Usage as error:
            said.add((error.path, error.expected.split(",")[0], error.actual))
    print(*sorted(said), sep="\\n", flush=True)
    with source, sink:  # whose ends leave those of the parent as they are
        pass
    assert source.close() == []
    channel.close()
    del source, sink, channel, node, ends, uses, use
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
source.submit(np.ones(1, TYPE))
print(*(type(sink.recv()).__name__ for _ in range(5)), sink.counts.lost, *source.close(0)[0].losses)
"""


@forks
def test_a_forked_process_is_refused_the_objects_of_its_parent() -> None:
    """Before, its events were sent with the numbers of the parent's, and the link broke."""
    run = subprocess.run([sys.executable, "-W", "ignore", "-c", FORKED_USE], capture_output=True, text=True, timeout=60)
    made = "'a node of this process', 'one that its parent made before the fork'"
    said = [f"('{what}', {made})" for what in ("channel", "node", "sink", "source")]
    assert (run.returncode, run.stderr) == (0, "")
    assert run.stdout.splitlines() == [*said, "Joined Record Record Record Record 0"]


def test_lost_events_are_warned_about_once(river: isoform.Channel) -> None:
    sink = river.sink(SAMPLE, window=(1, 100), until="left")
    for _ in range(2):
        source = river.source(SAMPLE)
        source.wait_for_sinks(1, 10)
        source.submit(samples(5000))
        source.close(0)
    with pytest.warns(RuntimeWarning) as warned:
        steps = [int(record["step"]) for record in sink.records()]
    assert len(steps) < 10_000 and len(warned) == 1
    said = r"events of source 0 are lost \(\w+\): sink.counts.lost says how many, and iterating over the sink tells of each Gap"
    assert re.fullmatch(said, str(warned[0].message))


def test_what_a_sink_wants_no_more_is_no_loss(river: isoform.Channel) -> None:
    sink, source = river.sink(SAMPLE, policy="latest"), river.source(SAMPLE)
    source.wait_for_sinks(1, 10)
    source.submit(samples(5000))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert any(record["step"] == 4999 for record in sink.records())
    assert sink.counts.superseded > 0


@dataclass
class Waves:
    step: int
    level: npt.NDArray[np.float64]


def test_threads_share_a_source_and_a_sink(node: isoform.Node) -> None:
    channel = node.create("shared", Waves)
    sink, source = channel.sink(Waves), channel.source(Waves)
    faults: list[BaseException] = []
    seen: list[int] = []

    def guarded(act: Callable[[], None]) -> None:
        try:
            act()
        except BaseException as fault:
            faults.append(fault)

    def submit(first: int) -> None:
        for step in range(first, first + 300):
            source.submit(Waves(step, np.full(100, step, "f8")))

    def take() -> None:
        for event in sink:
            if isinstance(event, isoform.Record):
                assert event.record.level.tolist() == [event.record.step] * 100
                seen.append(event.record.step)

    acts: list[Callable[[], None]] = [take] * 4
    takers = [threading.Thread(target=guarded, args=(act,)) for act in acts]
    submitters = [threading.Thread(target=guarded, args=(partial(submit, 300 * i),)) for i in range(3)]
    for thread in takers + submitters:
        thread.start()
    for thread in submitters:
        thread.join()
    source.close()
    channel.close()
    for thread in takers:
        thread.join()
    assert faults == [] and sorted(seen) == list(range(900))


def test_however_many_are_wanted_at_once_there_is_room(node: isoform.Node) -> None:
    large = np.dtype([("step", "i4"), ("depth", "f8", (1 << 18,))])
    channel = node.create("large", large)
    sink, source = channel.sink(large, policy="lossless"), channel.source(large, lossless=True)
    threading.Thread(target=lambda: [source.submit(np.full(1, step, large)) for step in range(20)]).start()
    assert isinstance(sink.recv_many(sys.maxsize), isoform.Joined)
    steps: list[int] = []
    while len(steps) < 20:
        some = sink.recv_many(1 << 40)
        assert isinstance(some, isoform.Records) and 0 < len(some) <= 4
        steps += some.records["step"].tolist()
    assert steps == list(range(20))


def test_what_others_are_told_of_a_node() -> None:
    node = isoform.Node("127.0.0.1:0", advertise=["gateway.example:7000", "unix:/river.sock"])
    assert node.addresses == ["tcp:gateway.example:7000", "unix:/river.sock"]
    assert node.create("river").id.startswith("iso://gateway.example:7000/river/")
    listening = isoform.Node(advertise="gateway.example:0").addresses[0]
    assert listening.startswith("tcp:gateway.example:") and not listening.endswith(":0")
    with pytest.raises(isoform.Error) as refused:
        isoform.Node(advertise="0.0.0.0:7000")
    assert refused.value.code == isoform.Code.Address and refused.value.path == "advertise"


def test_a_certificate_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(isoform.Error) as refused:
        isoform.Node(identity=tmp_path / "nowhere.pem", tls_on_loopback=True)
    assert refused.value.code == isoform.Code.Io and "nowhere.pem" in str(refused.value)


def test_existing_certificates_and_the_authorities_of_the_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("needs openssl")

    def run(command: str) -> None:
        subprocess.run([openssl, *command.split()], cwd=tmp_path, check=True, capture_output=True)

    new = "-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes"
    run(f"req -x509 {new} -keyout ca.key -out ca.pem -subj /CN=ours -days 30")
    run(f"req {new} -keyout host.key -out host.csr -subj /CN=host")
    (tmp_path / "names").write_text("subjectAltName=DNS:pump.lab.example")
    run("x509 -req -in host.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 30 -extfile names -out host.pem")
    own: dict[str, Any] = {"identity": tmp_path / "host.pem", "identity_key": tmp_path / "host.key", "tls_on_loopback": True}
    near = isoform.Node("127.0.0.1:0", **own, trust=tmp_path / "ca.pem")
    channel = near.create("river", SAMPLE)
    with pytest.raises(isoform.Error) as nameless:
        isoform.Node(**own, trust_platform=True)
    assert "a name that certificates must have" in str(nameless.value)
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "ca.pem"))
    far = isoform.Node(**own, trust_platform=True, trust_names=["*.lab.example"], revoked=tmp_path / "none.pem")
    source = channel.source(SAMPLE)
    sink = far.open(channel.id).sink(SAMPLE)
    source.wait_for_sinks(1, timeout=30)
    assert isinstance(sink.recv(timeout=30), isoform.Joined)
    source.close()
    with pytest.raises(isoform.Error):
        isoform.Node(**own, trust_platform=True, trust_names="*.office.example").open(channel.id, timeout=5)


def test_rules(tmp_path: Path) -> None:
    rules = tmp_path / "rules"
    rules.write_text("allow anyone watch on *")
    rules.chmod(0o600)
    with pytest.raises(isoform.Error) as wrong:
        isoform.Node(rules=rules)
    assert wrong.value.code == isoform.Code.Text and "line 1" in str(wrong.value)
    rules.write_text("allow anyone see,subscribe on ticks")
    node = isoform.Node(rules=rules)
    with pytest.raises(isoform.Error) as forbidden:
        isoform.Node().open(node.create("secret").id)
    assert forbidden.value.code == isoform.Code.Forbidden
    channel = node.create("ticks", SAMPLE)
    sink = channel.sink(SAMPLE)
    other = isoform.Node()
    source = other.open(channel.id).source(SAMPLE)
    refused = sink.recv(timeout=30)
    assert isinstance(refused, isoform.Refused) and refused.error.code == isoform.Code.Forbidden
    source.close()
    # Neither may all that may see a channel subscribe to its sources.
    rules.write_text("allow anyone see on ticks")
    watched = isoform.Node(rules=rules).create("ticks", SAMPLE)
    source = watched.source(SAMPLE)
    refused = other.open(watched.id).sink(SAMPLE).recv(timeout=30)
    assert isinstance(refused, isoform.Refused) and refused.error.code == isoform.Code.Forbidden
    source.close()
