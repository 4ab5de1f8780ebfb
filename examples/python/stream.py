"""Writes a stream and reads it again, with a class that somebody else wrote: other types, another order, and a field that nobody
sends.

    python stream.py river.iso
"""

import sys
from dataclasses import dataclass
from typing import Annotated

import isoform
import numpy as np
import numpy.typing as npt


@dataclass
class Sample:
    """What is sent."""

    step: Annotated[int, isoform.i32]
    station: str
    depth: Annotated[npt.NDArray[np.float32], isoform.unit("m")]


@dataclass
class Seen:
    """What is wanted."""

    station: str
    depth: Annotated[list[float], isoform.unit("m")]
    step: int
    temperature: float = 11.5


path = sys.argv[1] if len(sys.argv) > 1 else "river.iso"

with isoform.Writer(path, Sample) as stream:
    for step in range(3):
        stream.write(Sample(step, "Old Mill", np.array([0.5, 0.25 * step, 2], "f4")))

decoder = isoform.Decoder(Seen)
for message in isoform.Reader(path):
    seen: Seen = decoder.decode(message)
    depth = " ".join(f"{number:g}" for number in seen.depth)
    print(f"{seen.station}: step {seen.step}, depth {depth} m, {seen.temperature:g} degrees")
