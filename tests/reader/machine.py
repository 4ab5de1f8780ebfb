#!/usr/bin/env python3
"""Reads what machines have written: python3 machine.py read VECTORS FOLDER.. prints for each folder, which is called as
the layout that wrote it, how many records of its streams are as the vectors say, and of how many."""

import json
import pathlib
import sys
from decimal import Decimal

sys.dont_write_bytecode = True

import values
from compare import same
from reader import read
from refused import Refused


def stream(path, expected, differ):
    """The records of one stream, each of which agrees or is told to `differ`."""
    agreed, records = 0, iter(read(path.read_bytes()))
    for index, one in enumerate(expected):
        try:
            format, body = next(records)
            same(values.record(format, body), one["record"], format.root.name)
            assert format.token.hex() == one["token"], "another format"
            agreed += 1
        except (AssertionError, Refused, StopIteration) as problem:
            differ(f"{path.stem}, message {index}: {problem!r}")
    if next(records, None) is not None:
        differ(f"{path.stem}: expected {len(expected)} messages, found more")
    return agreed


def folder(vectors, path):
    agreed, differences = 0, []
    for file in sorted(path.glob("*.iso")):
        expected = (vectors / file.stem / path.name).with_suffix(".json").read_text()
        agreed += stream(file, json.loads(expected, parse_float=Decimal)["messages"], differences.append)
    for difference in differences:
        print(f"{path}: {difference}", file=sys.stderr)
    print(agreed, agreed + len(differences), path)
    return agreed and not differences


if __name__ == "__main__":
    if sys.argv[1:2] != ["read"]:
        sys.exit("machine.py read VECTORS FOLDER..")
    vectors, *folders = map(pathlib.Path, sys.argv[2:])
    sys.exit(0 if all([folder(vectors, path) for path in folders]) else 1)
