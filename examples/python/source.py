"""A source: makes the channel `river`, and submits a record twenty times a second once somebody listens.

Its id is printed; `sink.py ID`, `isoform echo ID` and `isoform plot ID depth` show what comes.
"""

import math
import sys
import time
from dataclasses import dataclass
from typing import Annotated

import isoform


@dataclass
class Sample:
    step: Annotated[int, isoform.i32]
    station: str
    depth: Annotated[float, isoform.unit("m")]


address = sys.argv[1] if len(sys.argv) > 1 else "127.0.0.1:7000"
count = int(sys.argv[2]) if len(sys.argv) > 2 else 1000

channel = isoform.Node(address).create("river", Sample)
print(channel.id, flush=True)
with channel.source(Sample) as source:
    source.wait_for_sinks()
    for step in range(count):
        source.submit(Sample(step, "Old Mill", 2 + math.sin(step / 20)))
        time.sleep(0.05)
