"""Several kinds of records, in streams and on channels."""

from __future__ import annotations

import io
import sys
from ctypes import Structure, c_double, c_int64
from dataclasses import dataclass

import isoform
import numpy as np
import pytest

FOREIGN = ">" if sys.byteorder == "little" else "<"
#: Another name, byte order and other types than River.
GAUGE = np.dtype([("depth", f"{FOREIGN}f4"), ("time", f"{FOREIGN}i4")])
LEVEL = np.dtype([("time", "i8"), ("depth", "f8")])
WIND = np.dtype([("speed", "f4")])


@dataclass
class River:
    time: int
    depth: float


@dataclass
class Alarm:
    text: str


class Level(Structure):
    _fields_ = [("time", c_int64), ("depth", c_double)]


def messages() -> list[isoform.Message]:
    """A River, an Alarm, a Gauge, and a Wind, from a stream."""
    stream = io.BytesIO()
    with isoform.Writer(stream) as writer:
        writer.write(isoform.Encoder(River).encode(River(1, 4.5)))
        writer.write(isoform.Encoder(Alarm).encode(Alarm("high")))
        writer.write(isoform.Encoder(GAUGE, "Gauge").encode((5.5, 3)))
        writer.write(isoform.Encoder(WIND, "Wind").encode((9,)))
    stream.seek(0)
    return list(isoform.Reader(stream))


def test_each_message_becomes_the_kind_that_fits() -> None:
    kinds = isoform.Kinds(Alarm, River)
    assert list(map(kinds.decode, messages()[:3])) == [River(1, 4.5), Alarm("high"), River(3, 5.5)]
    assert kinds.explain(messages()[2].format).startswith("Gauge becomes River: no other kind fits\n  Alarm: does not fit: ")
    assert (kinds.count_of_others, repr(kinds)[:14]) == (0, "Kinds([Format(")


def test_what_fits_none_is_an_error_or_a_message() -> None:
    wind = messages()[3]
    kinds = isoform.Kinds(Alarm, River)
    with pytest.raises(isoform.Mismatch) as caught:
        kinds.decode(wind)
    assert (caught.value.code, caught.value.path) == (isoform.Code.NoConversion, "Wind")
    assert "not Alarm: " in caught.value.actual and "not River: " in caught.value.actual
    lenient = isoform.Kinds(Alarm, River, others="messages")
    assert lenient.decode(wind) is wind
    assert (kinds.count_of_others, lenient.count_of_others) == (1, 1)
    assert lenient.explain(wind.format).startswith("Wind becomes none of the kinds\n")


def test_kinds_can_be_of_any_type() -> None:
    river, alarm, gauge, wind = messages()
    array = isoform.Kinds(("Level", LEVEL), Alarm).decode(gauge)
    assert array.dtype == LEVEL and array["depth"] == 5.5
    level = isoform.Kinds(Alarm, Level).decode(river)
    assert isinstance(level, Level) and (level.time, level.depth) == (1, 4.5)
    named = isoform.Kinds(("Other", LEVEL), ("Wind", WIND), River)
    assert named.decode(wind)["speed"] == 9
    assert named.explain(river.format).startswith("River becomes River: it has the same name\n")
    assert isinstance(isoform.Kinds(river.format, alarm.format).decode(alarm), isoform.View)


def test_settings_are_those_of_all_kinds() -> None:
    wide = isoform.Encoder(np.dtype([("level", "i4")]), "Wide").encode((300,))
    small = np.dtype([("level", "i1"), ("other", "i4")])
    with pytest.raises(isoform.Mismatch):
        isoform.Kinds(small).decode(wide)
    assert isoform.Kinds(small, missing="zero", faults="saturate").decode(wide).tolist() == (127, 0)
    for arguments, words in [
        ({"others": "drop"}, "wrong type at others: expected refuse or messages, found drop"),
        ({"faults": "no"}, "faults"),
        ({"missing": "no"}, "missing"),
    ]:
        with pytest.raises(isoform.Usage, match=words):
            isoform.Kinds(small, **arguments)
    with pytest.raises(isoform.Usage):
        isoform.Kinds()
    with pytest.raises(isoform.Error):
        isoform.Kinds(int)


def test_sinks_of_several_kinds() -> None:
    node = isoform.Node()
    channel = node.create("news")
    sink = channel.sink(isoform.Kinds(River, Alarm))
    lenient = isoform.Sink(channel, isoform.Kinds(Alarm, ("Level", LEVEL), others="messages"))
    with pytest.raises(isoform.Usage, match="arguments of Kinds"):
        channel.sink(isoform.Kinds(River), faults="wrap")
    sources = [channel.source(River), channel.source(Alarm), channel.source(GAUGE, name="Gauge")]
    for source, record in zip(sources, [River(1, 4.5), Alarm("high"), np.array((5.5, 3), GAUGE)]):
        source.submit(record)
    wind = channel.source(WIND, name="Wind")
    wind.submit(np.array((9,), WIND))
    seen: list[object] = []
    refused: list[isoform.Error] = []
    while not refused:
        event = sink.recv(10)
        assert event is not None
        if isinstance(event, isoform.Record):
            seen.append(event.record)
        if isinstance(event, isoform.Refused):
            refused.append(event.error)
    assert sorted(seen, key=repr) == [Alarm("high"), River(1, 4.5), River(3, 5.5)]
    assert refused[0].path == "Wind" and "not River: " in refused[0].actual
    records: list[object] = []
    while len(records) < 4:
        event = lenient.recv(10)
        assert event is not None and not isinstance(event, isoform.Refused)
        if isinstance(event, isoform.Record):
            records.append(event.record)
    depths = sorted(float(record["depth"]) for record in records if isinstance(record, np.void))
    (other,) = [record for record in records if isinstance(record, isoform.Message)]
    assert (depths, Alarm("high") in [r for r in records if isinstance(r, Alarm)], other.view()["speed"]) == ([4.5, 5.5], True, 9)


def test_a_decoder_explains_what_it_does() -> None:
    river, alarm, gauge, wind = messages()
    explained = isoform.Decoder(River).explain(gauge.format)
    assert explained.startswith("wire    Gauge  ") and "depth  " in explained and "\nfull" not in explained[:4]
    assert "measured on" not in explained
    timed = isoform.Decoder(River).explain(gauge.format, time=True)
    assert "\ncost, measured on this " in timed and "  all steps, interpreted\n" in timed
    assert "measured on" not in isoform.Decoder(River).explain(wind.format, time=True)
    refused = isoform.Decoder(River).explain(wind.format)
    assert "\nincompatible: " in refused and "in common" in refused


def stream() -> io.BytesIO:
    """Three Levels, a Wind, two Alarms, a Gauge."""
    file = io.BytesIO()
    with isoform.Writer(file) as writer:
        writer.write(isoform.Encoder(LEVEL, "Level").encode_many(np.array([(1, 0.5), (2, 1.5), (3, 2.5)], LEVEL)))
        writer.write(isoform.Encoder(WIND, "Wind").encode((9,)))
        for text in ("high", "low"):
            writer.write(isoform.Encoder(Alarm).encode(Alarm(text)))
        writer.write(isoform.Encoder(GAUGE, "Gauge").encode((5.5, 4)))
    file.seek(0)
    return file


def test_many_are_decoded_by_kind() -> None:
    kinds = isoform.Kinds(Alarm, ("Level", LEVEL), others="messages")
    alarms, levels, others = kinds.decode_many(isoform.Reader(stream()))
    assert alarms == [Alarm("high"), Alarm("low")]
    assert levels.dtype == LEVEL and levels["time"].tolist() == [1, 2, 3, 4] and levels["depth"][3] == 5.5
    assert [message.view().speed for message in others] == [9] and kinds.count_of_others == 1
    # From a list of messages, or of batches, too; and of a single one.
    messages = list(isoform.Reader(stream()))
    again = kinds.decode_many([messages[:3], messages[3:]])  # type: ignore[list-item]
    assert (again[0], again[1].tolist(), len(again[2])) == (alarms, levels.tolist(), 1)
    assert [len(each) for each in kinds.decode_many(messages[4])] == [1, 0, 0]
    objects, texts = isoform.Kinds(River, Alarm).decode_many(messages[:3] + messages[4:])
    assert objects[2] == River(3, 2.5) and texts == alarms
    with pytest.raises(isoform.Mismatch) as caught:
        isoform.Kinds(Alarm, River).decode_many(isoform.Reader(stream()))
    assert caught.value.path == "Wind" and "not River: " in caught.value.actual
    wrong: list[object] = ["text", 7, {}, [1]]
    for source in wrong:
        with pytest.raises(isoform.Usage):
            kinds.decode_many(source)  # type: ignore[arg-type]
    assert [kinds.kind_of(message.format) for message in messages] == [1, 1, 1, None, 0, 0, 1]


def test_batches_of_no_kind_count_each_message() -> None:
    winds = isoform.Encoder(WIND, "Wind").encode_many(np.zeros(5, WIND))
    assert winds is not None
    kinds = isoform.Kinds(River, others="messages")
    assert [len(each) for each in kinds.decode_many(winds)] == [0, 5] and kinds.count_of_others == 5


def test_columns_by_kind() -> None:
    kinds = isoform.Kinds(Alarm, ("Level", LEVEL), others="messages")
    alarms, levels = kinds.columns(isoform.Reader(stream()), ["depth", "text"])
    assert (alarms.names, levels.names, len(alarms), len(levels)) == (["text"], ["depth"], 2, 4)
    assert alarms["text"].tolist() == ["high", "low"] and levels["depth"].tolist() == [0.5, 1.5, 2.5, 5.5]
    assert kinds.columns(isoform.Reader(stream()), into=(alarms, levels)) == (alarms, levels)
    assert (len(alarms), len(levels)) == (4, 8)
    whole = kinds.columns()
    assert [columns.names for columns in whole] == [["text"], ["time", "depth"]]
    with pytest.raises(isoform.Usage, match="one of text, time, depth, found dpeth"):
        kinds.columns(fields=["depth", "dpeth"])
    with pytest.raises(isoform.Usage, match="into"):
        kinds.columns(into=(alarms,))
    with pytest.raises(isoform.Usage, match="into"):
        kinds.columns(fields=["text"], into=(alarms, levels))
    with pytest.raises(isoform.Mismatch):
        isoform.Kinds(Alarm).columns(isoform.Reader(stream()))
    # A kind that has none of the fields has rows, and no columns.
    alarms, levels = kinds.columns(isoform.Reader(stream()), ["depth"])
    assert (alarms.names, len(alarms)) == ([], 2)


def test_sinks_take_many_of_a_kind_and_know_the_fields_of_all() -> None:
    node = isoform.Node()
    channel = node.create("news")
    with pytest.raises(isoform.Usage, match="one of text, time, depth, found dpeth"):
        channel.sink(isoform.Kinds(Alarm, ("Level", LEVEL)), fields=["dpeth"])
    with pytest.raises(isoform.Usage, match="found dpeth"):
        channel.sink(isoform.Kinds(Alarm, ("Level", LEVEL), others="messages"), fields=["dpeth"])
    kinds = isoform.Kinds(Alarm, ("Level", LEVEL), others="messages")
    sink = channel.sink(kinds, fields=["depth", "text"])
    levels, alarms, winds = channel.source(LEVEL, name="Level"), channel.source(Alarm), channel.source(WIND, name="Wind")
    levels.submit(np.array([(1, 0.5), (2, 1.5), (3, 2.5)], LEVEL))
    alarms.submit(Alarm("high"))
    winds.submit(np.zeros(2, WIND))
    levels.submit(np.array([(4, 3.5), (5, 4.5)], LEVEL))
    assert all(isinstance(sink.recv(10), isoform.Joined) for _ in range(3))
    first = sink.recv_many(2, 10)
    assert isinstance(first, isoform.Records) and first.records["time"].tolist() == [1, 2]
    assert first.stamps["sequence"].tolist() == [0, 1]
    seen: list[object] = []
    for event in sink.batches():
        if isinstance(event, isoform.Records):
            seen.append(event.records["time"].tolist())
        else:
            assert isinstance(event, isoform.Record)
            seen.append(event.record if isinstance(event.record, Alarm) else event.record.format.name)
        if len(seen) == 5:
            break
    assert seen == [[3], Alarm("high"), "Wind", "Wind", [4, 5]]
    assert (sink.counts.taken, sink.counts.lost, sink.counts.refused) == (8, 0, 0)
