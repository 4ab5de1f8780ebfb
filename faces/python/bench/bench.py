"""What the Python package costs, beside what one would take instead: records of another machine into an array, and events.

Everything is measured in one run, by turns, and what comes is compared before it is timed; a figure is the median of many rounds. With
--json there is a line of JSON for each.
"""

from __future__ import annotations

import argparse
import io
import json
import statistics
import struct
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import fastavro
import isoform
import msgpack
import numpy as np

COUNT = 100_000
FOREIGN, NATIVE = (">", "<") if sys.byteorder == "little" else ("<", ">")
#: M100: a hundred numbers of five kinds in turn, as C lays them out.
KINDS = ["i4", "f8", "i2", "f4", "i8"] * 20
AVRO = {"i4": "int", "f8": "double", "i2": "int", "f4": "float", "i8": "long"}
CODES = {"i4": "i", "f8": "d", "i2": "h", "f4": "f", "i8": "q"}


def m100(order: str) -> np.dtype[Any]:
    return np.dtype([(f"f{i}", order + kind) for i, kind in enumerate(KINDS)], align=True)


def records(dtype: np.dtype[Any]) -> np.ndarray[Any, np.dtype[Any]]:
    array = np.zeros(COUNT, dtype)
    for i in range(100):
        array[f"f{i}"] = (np.arange(COUNT) * (i + 1)) % 30000
    return array


def rounds(ways: dict[str, Callable[[], Any]], seconds: float) -> dict[str, list[float]]:
    """How long each way takes, by turns, until there was time enough for each; the slow ones have fewer."""
    took: dict[str, list[float]] = {name: [] for name in ways}
    while any(sum(times) < seconds and len(times) < 30 for times in took.values()):
        for name, way in ways.items():
            if sum(took[name]) < seconds or len(took[name]) < 3:
                began = time.perf_counter()
                result = way()
                took[name].append(time.perf_counter() - began)
                del result
    return took


def convert(report: Callable[..., None]) -> None:
    foreign, native = m100(FOREIGN), m100(NATIVE)
    assert foreign.itemsize == native.itemsize == 640
    array = records(foreign)
    wanted = array.astype(native)

    stream = io.BytesIO()
    with isoform.Writer(stream, foreign) as writer:
        writer.write(array)
    batch = isoform.Encoder(foreign).encode_many(array)
    assert batch is not None
    decoder = isoform.Decoder(native)
    decoder.decode_many(batch)
    time.sleep(0.5)  # so that the code for the pair of formats is there

    def from_stream() -> Any:
        stream.seek(0)
        return isoform.Decoder(native).decode_many(isoform.Reader(stream))

    rows = [row.item() for row in array]
    line = struct.Struct(foreign_struct(foreign))
    packed = array.tobytes()
    packer = msgpack.Packer()
    messages = [packer.pack(row) for row in rows]
    names = [f"f{i}" for i in range(100)]
    schema = fastavro.parse_schema(
        {"type": "record", "name": "M100", "fields": [{"name": n, "type": AVRO[k]} for n, k in zip(names, KINDS)]}
    )
    avro = io.BytesIO()
    for row in rows:
        fastavro.schemaless_writer(avro, schema, dict(zip(names, row)))

    def by_struct() -> Any:
        return np.array(list(line.iter_unpack(packed)), native)

    def by_msgpack() -> Any:
        return np.array([tuple(msgpack.unpackb(message)) for message in messages], native)

    def by_fastavro() -> Any:
        avro.seek(0)
        read = fastavro.schemaless_reader
        return np.array([tuple(read(avro, schema, None).values()) for _ in range(COUNT)], native)

    ways: dict[str, Callable[[], Any]] = {
        "isoform, a batch": lambda: decoder.decode_many(batch),
        "isoform, a stream": from_stream,
        "numpy astype": lambda: array.astype(native),
        "struct.unpack": by_struct,
        "msgpack": by_msgpack,
        "fastavro": by_fastavro,
    }
    for name, way in ways.items():
        assert np.array_equal(way(), wanted), name
    took = {name: statistics.median(times) for name, times in rounds(ways, 2.0).items()}
    for name, seconds in took.items():
        ratio = seconds / took["isoform, a batch"]
        report(group="python", measure="m100", way=name, records=COUNT, seconds=seconds, of_isoform=ratio)


def foreign_struct(dtype: np.dtype[Any]) -> str:
    """The format of `struct` with the gaps that the dtype has."""
    text, at = FOREIGN, 0
    for i, kind in enumerate(KINDS):
        assert dtype.fields is not None
        offset = dtype.fields[f"f{i}"][1]
        text += "x" * (offset - at) + CODES[kind]
        at = offset + int(kind[1:])
    return text + "x" * (dtype.itemsize - at)


EVENT = np.dtype([("step", f"{NATIVE}i8"), ("depth", f"{NATIVE}f8")])
OTHER = np.dtype([("depth", f"{NATIVE}f4"), ("step", f"{NATIVE}i8"), ("wind", f"{NATIVE}f8")])
EVENTS = 4_000_000
SOURCE = f"""
import isoform, numpy as np, sys
event = np.dtype({EVENT.descr!r})
some = np.zeros(10_000, event)
with isoform.Source(sys.argv[1], event) as source:
    source.wait_for_sinks(1, 20)
    for i in range({EVENTS} // len(some)):
        some["step"] = np.arange(i * len(some), (i + 1) * len(some))
        source.submit(some)
"""


def events(report: Callable[..., None]) -> None:
    """From another process, of 16 bytes each, in batches: into the same dtype, and into another."""
    for way, dtype in (("the same dtype", EVENT), ("another dtype", OTHER)):
        per_second = []
        for _ in range(5):
            channel = isoform.create(f"events-{time.monotonic_ns()}", EVENT)
            with channel.sink(dtype) as sink:
                source = subprocess.Popen([sys.executable, "-c", SOURCE, channel.id])
                came, began = 0, 0.0
                for some in sink.batches():
                    if isinstance(some, isoform.Records):
                        began = began or time.perf_counter()
                        assert some.records["step"][0] == came
                        came += len(some)
                    if isinstance(some, isoform.Left):
                        break
                per_second.append(came / (time.perf_counter() - began))
                assert came == EVENTS and source.wait() == 0
            channel.close()
        rate = statistics.median(per_second)
        report(group="python", measure="events", way=way, bytes=EVENT.itemsize, per_second=rate)


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--json", action="store_true", help="a line of JSON for each figure, and no table")
    as_json = arguments.parse_args().json

    def report(**figure: Any) -> None:
        if as_json:
            print(json.dumps(figure), flush=True)
        elif "seconds" in figure:
            each = figure["seconds"] / figure["records"] * 1e9
            print(f"{figure['way']:20}{figure['seconds'] * 1e3:10.1f} ms{each:9.0f} ns a record{figure['of_isoform']:9.2f} x")
        else:
            print(f"{figure['way']:20}{figure['per_second'] / 1e6:10.2f} million events a second")

    if not as_json:
        print(f"{COUNT} records of 100 numbers, of another byte order, into an array of NumPy's:")
    convert(report)
    if not as_json:
        print(f"\nevents of {EVENT.itemsize} bytes from another process, taken in batches:")
    events(report)


if __name__ == "__main__":
    main()
