#!/usr/bin/env python3
"""Random streams, read by the independent reader and by another implementation, which must agree on every message.

    against.py COMMAND [SEED [COUNT]]

COMMAND dump --json - reads a stream from its standard input, and writes a line of JSON for each record. Behind a message
that it refuses it goes on; for each of those, a line on standard error has the text of the error's code, and the path if
a body is at fault.
"""

import json
import pathlib
import random
import re
import subprocess
import sys
from decimal import Decimal

sys.dont_write_bytecode = True

import description
import message
import values
import writer
from body import Verifier
from compare import same
from refused import Refused

TOP = pathlib.Path(__file__).resolve().parents[2]


# The number and the text of each error, by its name.
TABLE = {
    name: (int(number), text)
    for number, name, text in re.findall(
        r"^\| (\d+) \| (\w+) \| [\w ]+ \| (.*?) \|", (TOP / "spec/errors.md").read_text(), re.M
    )
}


def some_stream(chance, count):
    """So many descriptions, each with a few messages; some are damaged."""
    stream = b""
    for _ in range(count):
        data = writer.Formats(chance).description()
        token, format = description.token_of(data), description.parse(data)
        stream += writer.message(message.ZERO, writer.damaged(chance, data) if chance.random() < 0.2 else data)
        for _ in range(3):
            body = bytes(writer.Bodies(chance, format).out)
            if len(body) < 5000:
                stream += writer.message(token, writer.damaged(chance, body) if chance.random() < 0.5 else body)
    return stream


def read(stream):
    """What this reader makes of each message: a record, or why it was refused."""
    known = {}
    for token, body, _ in message.messages(stream):
        try:
            if token == message.ZERO:
                format = description.parse(body)
                known[format.token] = format
            elif token in known:
                Verifier(known[token], body).run()
                yield values.record(known[token], body)
            else:
                raise Refused("UnknownFormat")
        except Refused as refused:
            yield refused


def compare(command, stream):
    """How many messages of a stream the two agree on, and the differences."""
    other = subprocess.run([command, "dump", "--json", "-"], input=stream, capture_output=True)
    lines = other.stdout.decode().split("\n")[:-1]
    errors = [line for line in other.stderr.decode().split("\n") if line and not line.startswith("  ")]
    more = re.search(r"(\d+) messages? more cannot be shown", errors[-1]) if errors else None
    if more:
        errors[-1:] = [None] * int(more.group(1))  # told of, but not in full
    agreed, differences = 0, []
    for mine in read(stream):
        try:
            if isinstance(mine, Refused):
                same_error(mine, errors.pop(0) if errors else "nothing")
            else:
                same(mine, json.loads(lines.pop(0) if lines else "null", parse_float=Decimal), "record")
            agreed += 1
        except AssertionError as problem:
            differences.append(str(problem))
    return agreed, differences + [f"came besides: {line}" for line in lines + errors]


def same_error(mine, line):
    code, text = TABLE[mine.code]
    # What is at fault in a description that breaks several rules, and how to get there, is for each reader to choose.
    expected = text + (f" at {mine.path}" if mine.path else "") if 120 <= code < 130 else ": "
    assert line is None or expected in line, f"expected {expected!r}, found {line!r}"


def main(command, seed="1", count="40"):
    chance = random.Random(int(seed))
    agreed, differences = 0, []
    for _ in range(int(count)):
        one, more = compare(command, some_stream(chance, 4))
        agreed, differences = agreed + one, differences + more
    for difference in differences[:10]:
        print(f"DIFFER: {difference}")
    name = pathlib.Path(command).name
    print(f"python reader and {name}: {agreed} messages agreed, {len(differences)} differed (seed {seed})")
    sys.exit(1 if differences else 0)


if __name__ == "__main__":
    main(*sys.argv[1:])
