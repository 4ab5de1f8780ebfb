"""Recordings: read as streams, and by a reader of MCAP files that knows nothing of Isoform."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import isoform
import pytest

mcap = pytest.importorskip("mcap.reader")


@dataclass
class Level:
    step: int
    metres: float


@dataclass
class Gauge:
    name: str


LEVELS = [Level(step, step / 4) for step in range(100)]


def record(folder: Path, channels: list[isoform.Channel], submit: Callable[[], object], sources: list[isoform.Source]) -> Path:
    """What sources submit, recorded by the command."""
    target = os.environ.get("CARGO_TARGET_DIR") or Path(__file__).parents[3] / "target"
    program = Path(target).resolve() / "debug" / "isoform"
    if not program.exists() or subprocess.run([program, "help", "record"], capture_output=True).returncode:
        pytest.skip("the command is not built, or makes no recordings")
    path = folder / "river.mcap"
    ids = [channel.id for channel in channels]
    recorder = subprocess.Popen([program, "record", *ids, "--once", "--lossless", "--progress", "-o", path])
    for source in sources:
        source.wait_for_sinks(1, timeout=60)
    submit()
    for source in sources:
        source.close()
    assert recorder.wait(60) == 0
    return path


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    """A recording of a hundred events, of the command's."""
    channel = isoform.create(tmp_path.name)
    source = channel.source(Level, lossless=True)
    return record(tmp_path, [channel], lambda: [source.submit(level) for level in LEVELS], [source])


def test_a_recording_is_read_as_a_stream(recording: Path) -> None:
    decoder = isoform.Decoder(Level)
    assert [decoder.decode(message) for message in isoform.Reader(recording)] == LEVELS
    assert isoform.open(recording).records(Level) == LEVELS
    columns = isoform.open(recording).columns(["metres"])
    assert columns["metres"].tolist() == [level.metres for level in LEVELS]


OLDER = isoform.Format.of_shape("record Level\n  step  int\n  metres  float\n")


@pytest.fixture
def several(tmp_path: Path) -> Path:
    """A recording of two channels. One has gauges, and levels of two shapes, as after a program was changed."""
    river, lake = isoform.create(f"{tmp_path.name}-river"), isoform.create(f"{tmp_path.name}-lake")
    sources = [river.source(Level, lossless=True), river.source(OLDER, lossless=True), river.source(Gauge, lossless=True), lake.source(Level, lossless=True)]

    def submit() -> None:
        sources[0].submit(Level(0, 0.5))
        sources[1].submit({"step": 1, "metres": 1.5})
        sources[2].submit(Gauge("north"))
        sources[3].submit(Level(7, 7.5))

    return record(tmp_path, [river, lake], submit, sources)


def test_one_channel_of_several_is_chosen(several: Path) -> None:
    lake, river = (f"{several.parent.name}-{name}" for name in ("lake", "river"))
    assert isoform.open(several, channel=lake).records(Level) == [Level(7, 7.5)]
    assert len(list(isoform.open(several, channel=[lake, river]))) == 4
    assert [message.format.name for message in isoform.Reader(several, channel=lake)] == ["Level"]
    with pytest.raises(isoform.Error, match="ocean"):
        list(isoform.open(several, channel="ocean"))
    stream = several.with_suffix(".iso")
    with isoform.Writer(stream, Level) as writer:
        writer.write(Level(1, 1.0))
    with pytest.raises(isoform.Error, match="a recording, which has channels"):
        isoform.open(stream, channel=lake)


def test_kinds_and_shapes_of_one_channel_are_told_apart(several: Path) -> None:
    river = isoform.open(several, channel=f"{several.parent.name}-river")
    with pytest.raises(isoform.Error, match="Gauge"):
        river.columns()
    assert sorted(river.records(Level, name="Level"), key=lambda level: level.step) == [Level(0, 0.5), Level(1, 1.5)]
    # A table has one shape: that of the first sender, and others are converted to it.
    columns = river.columns(name="Level")
    assert sorted(columns["metres"].tolist()) == [0.5, 1.5]
    assert river.records(name="Gauge")[0]["name"] == "north"


def test_events_have_their_stamps(recording: Path) -> None:
    name, messages = recording.parent.name, list(isoform.open(recording))
    assert [(message.topic, message.source, message.sequence) for message in messages] == [(name, 0, number) for number in range(100)]
    submitted, recorded = [message.submitted or 0 for message in messages], [message.recorded or 0 for message in messages]
    assert 0 < submitted[0] and submitted == sorted(submitted) and all(late >= early for early, late in zip(submitted, recorded))
    columns = isoform.open(recording).columns(stamps=True)
    assert columns.names == [f"isoform.{stamp}" for stamp in ("topic", "source", "sequence", "submitted", "recorded")] + ["step", "metres"]
    assert columns["isoform.submitted"].dtype == "datetime64[ns]" and columns["isoform.submitted"].astype("i8").tolist() == submitted
    assert columns["isoform.topic"].tolist() == [name] * 100 and columns["isoform.sequence"].tolist() == list(range(100))
    assert columns["isoform.source"].tolist() == [0] * 100 and "isoform.recorded" in columns
    whole = isoform.Columns(Level, ["metres", "isoform.recorded"])
    whole.append(isoform.Reader(recording))
    whole.append(messages)
    assert whole.names == ["isoform.recorded", "metres"]
    assert whole["isoform.recorded"].astype("i8").tolist() == 2 * recorded
    pandas, arrow = pytest.importorskip("pandas"), pytest.importorskip("pyarrow")
    table = arrow.table(columns)
    assert table.schema.field("isoform.submitted").type == arrow.timestamp("ns", "UTC")
    assert table["isoform.submitted"].cast(arrow.int64()).to_pylist() == submitted
    assert table["isoform.topic"].to_pylist() == [name] * 100
    assert pandas.DataFrame(dict(columns))["isoform.submitted"].astype("int64").tolist() == submitted
    whole.clear()
    assert len(whole) == len(whole["isoform.recorded"]) == 0
    with pytest.raises(isoform.Usage, match="time\\(\\)"):
        isoform.open(recording, query="select step").columns(stamps=True)


def test_a_part_is_chosen_by_seconds(recording: Path) -> None:
    times = [message.recorded or 0 for message in isoform.open(recording)]
    middle = (times[50] - times[0]) / 1e9
    late = [message.recorded for message in isoform.open(recording, start=0, end=1e6)]
    assert late == times
    assert len(list(isoform.open(recording, end=middle))) + len(list(isoform.open(recording, start=middle))) >= 100
    parts: list[tuple[dict[str, Any], str]] = [
        ({"start": 2, "end": 1}, "at most the end, 1 seconds"),
        ({"start": 1e6}, "where the recording ends"),
        ({"end": -1}, "such as 0 or 12.5"),
    ]
    for part, says in parts:
        with pytest.raises(isoform.Usage, match=says):
            isoform.open(recording, **part)


def test_a_cut_recording_gives_its_whole_part(recording: Path) -> None:
    recording.write_bytes(recording.read_bytes()[:-30])
    with pytest.raises(isoform.BadInput, match="river.mcap"):
        isoform.open(recording).columns()
    with pytest.warns(RuntimeWarning, match="river.mcap.*what is whole was read"):
        assert len(isoform.open(recording, damage="skip").columns()) == 100


def test_tables_of_other_packages_have_its_columns(recording: Path) -> None:
    pandas, arrow = pytest.importorskip("pandas"), pytest.importorskip("pyarrow")
    steps, metres = [level.step for level in LEVELS], [level.metres for level in LEVELS]
    columns = isoform.open(recording).columns()
    frame = pandas.DataFrame(dict(columns))
    assert frame["step"].tolist() == steps and frame["metres"].tolist() == metres
    table = arrow.table(columns)
    assert table["step"].to_pylist() == steps and table["metres"].to_pylist() == metres


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


def test_options_of_files_are_none_of_channels() -> None:
    with pytest.raises(isoform.Usage, match="channel"):
        isoform.open("iso://127.0.0.1:1/river", channel="river")


def messages_of(path: Path) -> list[Any]:
    with path.open("rb") as file:
        return list(mcap.make_reader(file).iter_messages(log_time_order=False))


@pytest.mark.parametrize("chunks", [True, False])
@pytest.mark.parametrize("compression", ["NONE", "LZ4", "ZSTD"])
@pytest.mark.parametrize("indexes", ["ALL", "NONE", "CHUNK", "MESSAGE"])
@pytest.mark.parametrize("checks", [True, False])
def test_what_another_library_has_rewritten_is_the_same_recording(
    several: Path, tmp_path: Path, chunks: bool, compression: str, indexes: str, checks: bool
) -> None:
    writer = pytest.importorskip("mcap.writer")
    path = tmp_path / "rewritten.mcap"
    target = writer.Writer(
        str(path), 200, getattr(writer.CompressionType, compression), getattr(writer.IndexType, indexes), checks, checks, chunks,
        enable_crcs=checks, enable_data_crcs=checks,
    )  # fmt: skip
    target.start("isoform")
    schemas: dict[int, int] = {}
    channels: dict[int, int] = {}
    for schema, channel, message in messages_of(several):
        if channel.id not in channels:
            if schema.id not in schemas:
                schemas[schema.id] = target.register_schema(schema.name, schema.encoding, schema.data)
            channels[channel.id] = target.register_channel(
                channel.topic, channel.message_encoding, schemas[schema.id], channel.metadata
            )
        target.add_message(channels[channel.id], message.log_time, message.data, message.publish_time, message.sequence)
    target.finish()

    def content(file: Path) -> list[Any]:
        return [(m.topic, m.source, m.sequence, m.submitted, m.recorded, bytes(m)) for m in isoform.open(file)]

    assert content(path) == content(several)
    assert len(content(path)) == 4


def test_a_recording_of_others_says_what_is_in_it(tmp_path: Path) -> None:
    writer = pytest.importorskip("mcap.writer")
    path = tmp_path / "ros.mcap"
    target = writer.Writer(str(path))
    target.start("ros2")
    point = target.register_schema("geometry_msgs/msg/Point", "ros2msg", b"float64 x\n")
    channel = target.register_channel("/pt", "cdr", point)
    for at in range(100):
        target.add_message(channel, at, b"\0\1\0\0" + bytes(8), at)
    target.finish()
    said = "100 messages in the encoding cdr on /pt are not records of Isoform"
    reads: list[Callable[[], object]] = [
        lambda: list(isoform.Reader(path)),
        lambda: list(isoform.open(path)),
        lambda: isoform.open(path).records(),
        lambda: isoform.open(path).columns(),
        lambda: list(isoform.open(path, query="where x > 0")),
        lambda: list(isoform.open(path, start=0)),
    ]
    for read in reads:
        with pytest.raises(isoform.Error, match=said) as raised:
            read()
        assert raised.value.code == isoform.Code.NoSuchChannel
