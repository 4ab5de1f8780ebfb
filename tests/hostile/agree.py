#!/usr/bin/env python3
"""Mutants, read by the independent reader (tests/reader) and by isoform, which must agree on every message.

    agree.py HOSTILE [SEED [COUNT]]

HOSTILE is the command of this folder, which makes the mutants and says what it reads in them.
"""

import json
import pathlib
import subprocess
import sys
from decimal import Decimal

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "reader"))

import against
from compare import same
from refused import Refused


def read(stream):
    """What the independent reader makes of each message, up to one behind which it does not look."""
    try:
        yield from against.read(stream)
    except Refused as refused:
        yield refused


def compare(mine, came):
    """Whether both refuse a message; AssertionError if one does and the other does not, or the values differ."""
    if not isinstance(mine, Refused):
        assert came.startswith("{"), f"read here, refused there: {came}"
        same(mine, json.loads(came, parse_float=Decimal), "record")
        return False
    assert not came.startswith("{"), f"refused here, {mine}, and read there"
    number, _ = against.TABLE[mine.code]
    # A body has one walk, and so one first error. Of descriptions and headers each reader may name another one, where
    # several rules are broken at once.
    assert not 120 <= number < 130 or came == f"{mine.code} {mine.path}", f"refused here, {mine}, and there, {came}"
    return True


def main(hostile, seed="1", count="2000"):
    process = subprocess.Popen([hostile, "tell", seed, count], stdout=subprocess.PIPE)
    mutants, records, refused, other, differences = 0, 0, 0, 0, []
    for line in process.stdout:
        digits, *all = line.decode().rstrip("\n").split("\t")
        mutants, mine = mutants + 1, None
        for mine in read(bytes.fromhex(digits)):
            came = all.pop(0) if all else "nothing"
            try:
                if compare(mine, came):
                    refused += 1
                    other += mine.code != came.split(" ")[0]
                else:
                    records += 1
            except AssertionError as problem:
                differences.append(f"mutant {seed} {mutants - 1}: {problem}")
        if all and not isinstance(mine, Refused):
            differences.append(f"mutant {seed} {mutants - 1}: came besides: {all[0]}")
    if process.wait() != 0 or mutants != int(count):
        sys.exit(f"python reader: only {mutants} of {count} mutants came")
    for difference in differences[:20]:
        print(f"DIFFER: {difference}")
    print(
        f"python reader and mutants: {mutants} mutants (seed {seed}), {records} records agreed, {refused} messages refused by"
        f" both, {other} of them for another reason, {len(differences)} differed"
    )
    sys.exit(1 if differences else 0)


if __name__ == "__main__":
    main(*sys.argv[1:])
