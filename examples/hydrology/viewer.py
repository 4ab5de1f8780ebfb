"""Shows every field of the summaries, whatever the document says today, and opens the gate when the water is high.

    python viewer.py DOCUMENT VIEW CONTROL
"""

import sys

import isoform

document, view, control = sys.argv[1:]
steering = isoform.open(control).source(isoform.Format.of_document(document, "Control"), lossless=True)
sink = isoform.open(view).sink(policy="lossless", until="left")
steering.wait_for_sinks(2, timeout=60)
print("ready", flush=True)

is_open = False
for record in sink.records():
    fields = record.view()
    picture = fields["picture"]
    shown = [f"{field.name} {fields[field.name]:.4g}" for field in record.format.fields if field.name != "picture"]
    print("step", fields["timestep"], *shown[1:], flush=True)
    if fields["timestep"] % 10 == 9:
        print(picture, flush=True)
    if fields["mean"] > 0.02 and not is_open:
        is_open = True
        steering.submit({"sender": "viewer.py", "action": "open"})
print(f"view: took {sink.counts.taken}")
for account in steering.close():
    print(f"control: submitted {account.submitted}, acknowledged {account.acknowledged}, lost {account.lost}")
