"""Writes a stream of records and reads it again, as somebody else would."""

import sys

import isoform
import numpy as np

path = sys.argv[1] if len(sys.argv) > 1 else "river.iso"

sample = np.dtype([("step", "i4"), ("station", "S16"), ("depth", "f4", (3,))], align=True)
samples = np.array([(step, b"Old Mill", (0.5, 0.25 * step, 2.0)) for step in range(3)], sample)
with isoform.Writer(path, sample) as stream:
    stream.write(samples)

seen = np.dtype([("depth", "f8", (3,)), ("step", "i8"), ("temperature", "f4")])
for row in isoform.Decoder(seen).decode_many(isoform.Reader(path)):
    print(row["step"], row["depth"].tolist(), row["temperature"])
