"""Formats and names with which the tests fill a server: structures laid out as C compilers lay them out."""

import json
import urllib.error
import urllib.parse
import urllib.request

LITTLE, BIG = ("little", 8), ("big", 4)


def structure(machine, name, *fields):
    """A structure as JSON. A field is (name, type, size) and what else it has; its size may be another structure."""
    order, pointer = machine
    end, widest, listed = 0, 1, []
    for field_name, kind, size, *more in fields:
        entry = {"name": field_name, "type": kind, "size": size, **(more[0] if more else {})}
        if isinstance(size, dict):
            entry["size"], alignment = size["size"], size["alignment"]
        elif kind == "string":
            entry["size"] = alignment = pointer
        else:
            alignment = size
        extent = entry["size"]
        for dimension in entry.get("dimensions", []):
            extent = extent * dimension if isinstance(dimension, int) else extent
        if entry.get("indirect"):
            extent = alignment = pointer
        alignment = min(alignment, 16)
        entry["offset"] = -(-end // alignment) * alignment
        end, widest = entry["offset"] + extent, max(widest, alignment)
        listed.append(entry)
    return {"name": name, "size": -(-end // widest) * widest, "alignment": widest, "fields": listed}


def of(machine, *structures):
    """A format as JSON, of structures that each may nest those before."""
    return {"byte order": machine[0], "pointer": machine[1], "structures": list(structures)}


def gauge(machine, version):
    """Three versions of what a gauge in a river reports."""
    place = structure(
        machine, "Place", ("latitude", "float", 8, {"unit": "deg"}), ("longitude", "float", 8, {"unit": "deg"})
    )
    fields = [
        ("step", "integer", 4),
        ("station", "string", 0),
        ("state", "enumeration", 4, {"symbols": {"calm": 0, "rising": 1, "flood": 2}}),
        ("wet", "boolean", 1),
        ("depth", "float", 4, {"unit": "m"}),
        ("where", "Place", place),
        ("samples", "float", 4, {"dimensions": [24], "unit": "m"}),
        ("count", "unsigned integer", 2),
        ("flow", "float", 8, {"dimensions": ["count"], "indirect": True, "unit": "m3/s"}),
    ]
    if version > 1:
        fields[0] = ("step", "integer", 8)
        fields.append(("level", "float", 8, {"unit": "m"}))
    if version > 2:
        del fields[4]
    return of(machine, place, structure(machine, "Gauge", *fields))


def ask(url, method, path, body=None):
    """The JSON of an answer. An answer that is an error is raised, with its problem as text."""
    data = None if body is None else json.dumps(body).encode()
    headers = {"Content-Type": "application/json"} if data else {}
    request = urllib.request.Request(f"{url}/{path}", data, headers, method=method)
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.load(answer)
    except urllib.error.HTTPError as error:
        raise AssertionError(f"{method} {path}: {error.code} {error.read().decode()}") from None


def register(url, format):
    return ask(url, "PUT", "formats", format)["token"]


def fill(url):
    """Fills a server. Returns the token of the first format."""
    name = "names/" + urllib.parse.quote("river gauge", safe="")
    tokens = {version: [register(url, gauge(machine, version)) for machine in (LITTLE, BIG)] for version in (1, 2, 3)}
    ask(url, "POST", f"{name}/versions", {"formats": tokens[1]})
    with_default = {"formats": tokens[2], "rules": {"Gauge": {"level": {"default": 0.5, "aliases": ["stage"]}}}}
    ask(url, "POST", f"{name}/versions", with_default)
    ask(url, "POST", f"{name}/versions", {"formats": tokens[3]})
    prose = {
        "about": "What a gauge reports each second, wherever it stands along the river.",
        "owner": "hydrology@example.org",
        "fields": {
            "step": "Seconds since the gauge was switched on.",
            "station": "The name that people of the place use.",
            "state": "As the gauge itself judges it, from the last ten minutes.",
            "depth": "Depth of water above the gauge's foot.",
            "where.latitude": "WGS 84, positive to the north.",
            "samples": "The last day, one an hour, the latest first.",
        },
    }
    ask(url, "PUT", f"{name}/prose", prose)
    for number, (record, field) in enumerate([("Frame", "pixels"), ("Wave", "samples"), ("Tick", "price"), ("Empty", "nothing")]):
        kind = {"Frame": ("unsigned integer", 1, {"dimensions": [64, 64]}), "Empty": ("integer", 1)}.get(
            record, ("float", 8, {"dimensions": [3 + number]})
        )
        format = of(LITTLE, structure(LITTLE, record, ("time", "integer", 8, {"unit": "ns"}), (field, *kind)))
        ask(url, "POST", f"names/{record.lower()}/versions", {"formats": [register(url, format)]})
    return tokens[1][0]
