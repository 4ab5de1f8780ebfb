"""Every vector, read by a program in C: vectors.py PROGRAM."""

import json
import pathlib
import subprocess
import sys
from decimal import Decimal

VECTORS = pathlib.Path(__file__).parents[4] / "vectors"


def lines(program, stream):
    """What the program says of a stream."""
    done = subprocess.run([program, str(stream)], capture_output=True, check=True)
    return done.stdout.decode().splitlines()


def exact(text):
    """JSON whose numbers are exact, and zeros have signs."""
    number = lambda digits: str(Decimal(digits).normalize())
    return json.loads(text, parse_float=number, parse_int=number)


def is_part(came, expected):
    """Whether what came is what was expected, in which a field may be left out that is null or zero."""
    if isinstance(expected, dict) and isinstance(came, dict):
        return all(is_part(came.get(name), value) for name, value in expected.items())
    if isinstance(expected, list) and isinstance(came, list):
        return len(came) == len(expected) and all(map(is_part, came, expected))
    return came == expected


def main():
    program, streams, wrong = sys.argv[1], 0, []
    for described in sorted(VECTORS.glob("*/*.json")):
        stream = described.with_suffix(".bin")
        if not stream.exists():
            continue
        streams += 1
        messages = exact(described.read_text())["messages"]
        came = [line.split(" ", 1) for line in lines(program, stream)]
        same = len(came) == len(messages) and all(
            token == message["token"] and is_part(exact(record), message["record"])
            for (token, record), message in zip(came, messages)
        )
        if not same:
            wrong.append(f"{stream}: {came}")
    for case in json.loads((VECTORS / "invalid" / "index.json").read_text()):
        streams += 1
        *records, end = lines(program, VECTORS / "invalid" / case["file"])
        name, path = end.split(" ", 1)
        if (len(records), name) != (case["records"], case["error"]) or case.get("path", path) != path:
            wrong.append(f"{case}: came {len(records)} records, {end}")
    print("\n".join(wrong))
    print(f"{streams} vectors read by C, {len(wrong)} wrong")
    return 1 if wrong or streams < 200 else 0


sys.exit(main())
