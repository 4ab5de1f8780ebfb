"""A sink that knows nothing: prints whatever records come on a channel, field by field, until their source leaves."""

import sys

import isoform

channel = sys.argv[1] if len(sys.argv) > 1 else "iso://127.0.0.1:7000/river"

with isoform.Sink(channel) as sink:
    for event in sink:
        if isinstance(event, isoform.Record):
            print(dict(event.record.view()))
        elif isinstance(event, isoform.Gap):
            print(f"{event.count} events are lost: {event.cause}")
        elif isinstance(event, isoform.Left):
            break
