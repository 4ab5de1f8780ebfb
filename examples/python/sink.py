"""A sink that knows nothing: it has no class, and prints what comes on a channel, by name or all of it.

    python sink.py iso://127.0.0.1:7000/river
    python sink.py iso://127.0.0.1:7000/river 'depth[1]'
"""

import sys

import isoform

if len(sys.argv) < 2:
    sys.exit("usage: sink.py ID [PATH ..]")
id, *paths = sys.argv[1:]

with isoform.Sink(id, until="left") as sink:
    for event in sink:
        if isinstance(event, isoform.Record):
            view = event.record.view()
            print(*(view[path] for path in paths)) if paths else print(view)
        elif isinstance(event, isoform.Gap):
            print(f"{event.count} events are lost: {event.cause}", file=sys.stderr)
        elif isinstance(event, isoform.Refused):
            print(f"a source cannot be understood: {event.error}", file=sys.stderr)
