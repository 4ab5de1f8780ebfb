"""The program in Python among those that run.sh compares: `write FILE [SERVERS]`, `read FILE [SERVERS]`,
`source [CERTIFICATE]`, `sink ID [CERTIFICATE]`."""

import sys
from dataclasses import dataclass
from typing import Annotated, Iterator

import isoform

SAMPLES = 5


@dataclass
class Place:
    x: Annotated[int, isoform.i32]
    y: float


@dataclass
class Sample:
    step: Annotated[int, isoform.i32]
    station: str
    depth: Annotated[list[float], isoform.f32, isoform.unit("m")]
    place: Place
    flags: Annotated[list[int], isoform.u8[3]]


@dataclass
class Wider:
    y: float
    x: int


@dataclass
class Seen:
    """What is wanted: another order, wider numbers, a field that nobody sends, and one that is not asked for."""

    depth: Annotated[list[float], isoform.unit("m")]
    station: str
    place: Wider
    step: Annotated[int, isoform.i16]
    temperature: Annotated[float, isoform.f32] = 11.5


def samples() -> Iterator[Sample]:
    for step in range(SAMPLES):
        yield Sample(step, "Old Mill", [0.25 * (i + step) for i in range(step)], Place(7, 0.125), [1, 2, 3])


def show(seen: Seen) -> None:
    numbers = [*seen.depth, seen.place.x, seen.place.y, seen.temperature]
    print(seen.step, seen.station, *(f"{number:g}" for number in numbers))


def node(certificate: str) -> isoform.Node:
    return isoform.Node(identity=certificate, tls_on_loopback=True) if certificate else isoform.Node()


def main(what: str, where: str = "", which: str = "") -> None:
    if what == "write":
        with isoform.Writer(where, Sample, servers=which or None) as stream:
            for sample in samples():
                stream.write(sample)
    elif what == "read":
        decoder = isoform.Decoder(Seen)
        for message in isoform.Reader(where, servers=which or None):
            show(decoder.decode(message))
    elif what == "source":
        channel = node(where).create("samples", Sample)
        source = channel.source(Sample)
        print(channel.id, flush=True)
        source.wait_for_sinks(1, timeout=60)
        for sample in samples():
            source.submit(sample)
        assert source.close(60)[0].acknowledged == SAMPLES
    else:
        with node(which).open(where).sink(Seen) as sink:
            for event in sink:
                if isinstance(event, isoform.Record):
                    show(event.record)
                elif isinstance(event, isoform.Left):
                    break


main(*sys.argv[1:])
