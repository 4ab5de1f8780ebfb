"""A source: makes a channel, waits for somebody to listen, and submits what it has, ten times a second.

    python source.py 127.0.0.1:7000

In another terminal, ``isoform echo iso://127.0.0.1:7000/river`` shows the events, as sink.py does; and
``isoform plot iso://127.0.0.1:7000/river step depth`` draws them.
"""

import sys
import time
from dataclasses import dataclass
from typing import Annotated

import isoform


@dataclass
class Sample:
    step: Annotated[int, isoform.i32]
    station: str
    depth: Annotated[list[float], isoform.f32, isoform.unit("m")]


node = isoform.Node(sys.argv[1]) if len(sys.argv) > 1 else isoform.Node()
channel = node.create("river", Sample)
print(channel.id, flush=True)

source = channel.source(Sample)
source.wait_for_sinks()
for step in range(30):
    source.submit(Sample(step, "Old Mill", [0.5, 0.25 * step, 2]))
    time.sleep(0.1)
for account in source.close():
    print(f"submitted {account.submitted}, taken {account.acknowledged}, lost {account.lost}", file=sys.stderr)
