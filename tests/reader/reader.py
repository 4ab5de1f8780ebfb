#!/usr/bin/env python3
"""Reads a stream: python3 reader.py FILE prints each record as a line of JSON, and ends with the error if there is one.

Written from spec/ alone, so that it shows whether the text suffices: description.py and message.py are for the files of
these names, body.py for the second half of message.md, values.py and number.py for text.md.
"""

import json
import sys

sys.dont_write_bytecode = True

import description
import message
import values
from body import Verifier
from number import Number, SPECIAL
from refused import Refused


def read(data):
    """The records of a stream, verified, and the format of each."""
    known = {}
    for token, body, is_vouched in message.messages(data):
        if token == message.ZERO:
            try:
                format = description.parse(body)
            except Refused as problem:
                raise problem if is_vouched else Refused("Damaged", why=str(problem))
            known[format.token] = format
        elif token == message.LOCATORS:
            pass
        elif token in known:
            Verifier(known[token], body).run()
            yield known[token], body
        else:
            raise Refused("UnknownFormat" if is_vouched else "Damaged", why=token.hex())


def as_json(value):
    """json.dumps, with all digits of every number."""
    if isinstance(value, Number):
        return json.dumps(value.digits()) if value.value in SPECIAL else value.digits()
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(name)}: {as_json(one)}" for name, one in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(as_json, value)) + "]"
    return json.dumps(value, ensure_ascii=False)


if __name__ == "__main__":
    with open(sys.argv[1], "rb") as file:
        stream = file.read()
    try:
        for format, body in read(stream):
            print(as_json(values.record(format, body)))
    except Refused as problem:
        sys.exit(f"error: {problem}")
