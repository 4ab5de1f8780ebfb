"""Recordings: read as streams, and by a reader of MCAP files that knows nothing of Isoform."""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

import isoform
import pytest

mcap = pytest.importorskip("mcap.reader")


@dataclass
class Level:
    step: int
    metres: float


LEVELS = [Level(step, step / 4) for step in range(100)]


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    """A recording of a hundred events, of the command's."""
    target = os.environ.get("CARGO_TARGET_DIR") or Path(__file__).parents[3] / "target"
    program = Path(target).resolve() / "debug" / "isoform"
    if not program.exists() or subprocess.run([program, "help", "record"], capture_output=True).returncode:
        pytest.skip("the command is not built, or makes no recordings")
    path = tmp_path / "river.mcap"
    channel = isoform.create(tmp_path.name)
    source = channel.source(Level, lossless=True)
    recorder = subprocess.Popen([program, "record", channel.id, "--once", "--lossless", "-o", path])
    source.wait_for_sinks(1, timeout=60)
    for level in LEVELS:
        source.submit(level)
    source.close()
    assert recorder.wait(60) == 0
    return path


def test_a_recording_is_read_as_a_stream(recording: Path) -> None:
    decoder = isoform.Decoder(Level)
    assert [decoder.decode(message) for message in isoform.Reader(recording)] == LEVELS
    assert isoform.open(recording).records(Level) == LEVELS
    columns = isoform.open(recording).columns(["metres"])
    assert columns["metres"].tolist() == [level.metres for level in LEVELS]


def test_a_query_of_a_recording_knows_the_times(recording: Path) -> None:
    times = [message.view()["at"] for message in isoform.Reader(recording, query="select at = time()")]
    assert len(times) == len(LEVELS) and times == sorted(times)
    windows = [message.view() for message in isoform.Reader(recording, query="window 1 ms | select count(), at = time()")]
    assert sum(window["count"] for window in windows) == len(LEVELS), "the last window, too"
    for window in windows:
        begins = window["at"] - 1_000_000
        assert window["count"] == sum(begins <= time < window["at"] for time in times)


def test_another_reader_finds_every_event_where_it_is_said_to_be(recording: Path) -> None:
    with recording.open("rb") as file:
        reader = mcap.make_reader(file, validate_crcs=True)
        assert reader.get_header().profile == "isoform"
        summary = reader.get_summary()
        assert summary.statistics.chunk_count > 0
        described = {
            schema.id: isoform.Format.parse(schema.data)
            for schema in summary.schemas.values()
            if schema.encoding == "isoform"
        }
        name, events, news = recording.parent.name, [], []
        for schema, channel, message in reader.iter_messages():
            if channel.message_encoding == "isoform":
                assert (channel.topic, schema.name, channel.metadata["isoform.source"]) == (name, "Level", "0")
                events.append((message.sequence, schema.id, message.data))
            else:
                assert (channel.topic, channel.message_encoding) == (f"{name}/news", "json")
                news.extend(json.loads(message.data))
    assert [sequence for sequence, _, _ in events] == list(range(100))
    assert news == ["part", "joined", "left", "account"]
    (form,) = {described[schema] for _, schema, _ in events}
    assert form == isoform.Format.of(Level)
    assert [data for _, _, data in events] == [isoform.Encoder(Level).encode(level).body for level in LEVELS]
