"""Reads lines of rainfall, such as ``3 0.5 1.25``, and submits a record for each: the time step, and the rain at each gauge.

    python reader.py DOCUMENT < rain.txt
"""

import sys

import isoform

channel = isoform.create("rain")
source = channel.source(isoform.Format.of_document(sys.argv[1], "Rain"), lossless=True)
print(channel.id, flush=True)
source.wait_for_sinks(1, timeout=60)
for line in sys.stdin:
    timestep, *rain = line.split()
    source.submit({"timestep": int(timestep), "rain": [float(gauge) for gauge in rain]})
for account in source.close():
    print(f"rain: submitted {account.submitted}, acknowledged {account.acknowledged}, lost {account.lost}")
