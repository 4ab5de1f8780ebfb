#!/usr/bin/env python3
"""Reads every vector, and the examples in spec/, with the independent reader. Ends with a line of counts."""

import json
import pathlib
import re
import sys
from decimal import Decimal

sys.dont_write_bytecode = True
TOP = pathlib.Path(__file__).resolve().parents[2]

import blake3
import description
import dump
import message
import values
from body import Verifier
from compare import equal, same
from matching import Matching, Rules
from reader import read
from refused import Refused

passed, failed = 0, 0


def check(name, run):
    """Counts one check; `run` raises whatever is wrong."""
    global passed, failed
    try:
        run()
    except (AssertionError, Refused) as problem:
        failed += 1
        print(f"FAILED {name}: {problem}")
    else:
        passed += 1


def hash_vectors():
    """From the table that BLAKE3's authors publish: byte i of the input is i modulo 251."""
    context = "BLAKE3 2019-12-27 16:29:52 test vectors context"
    for length, start in ((0, "2cc39783c223154fea8dfb7c1b1660f2"), (1, "b3e2e340a117a499c6cf2398a19ee0d2"),
                          (1024, "7356cd7720d5b66b6d0697eb3177d9f8"), (1025, "effaa245f065fbf82ac186839a249707"),
                          (2049, "2ea477c5515cc3dd606512ee72bb3e0e"), (31744, "39772aef80e0ebe60596361e45b061e8")):
        data = bytes(i % 251 for i in range(length))
        check(f"blake3 of {length} bytes", lambda: equal(blake3.derive_key(context, data)[:16].hex(), start))


def example(file, head):
    text = (TOP / "spec" / file).read_text()
    block = re.search(rf"```{head}\n(.*?)```", text, re.S).group(1)
    return b"".join(bytes.fromhex(line.split("  ")[0]) for line in block.splitlines())


def spec_examples():
    text = (TOP / "spec/format.md").read_text()
    tokens = re.findall(r"Its token is `([0-9a-f]{32})`", text)
    for name, token in zip(("small_record", "Track"), tokens):
        parse = lambda: equal(description.parse(example("format.md", f"description {name}")).token.hex(), token)
        check(f"spec/format.md, {name}", parse)

    def track():
        format = description.parse(example("format.md", "description Track"))
        [(token, body, _)] = message.messages(example("message.md", "message Track"))
        equal(token, format.token)
        Verifier(format, body).run()

    check("spec/message.md, Track", track)


def refused(data):
    """How many records a stream yields, the error that ends it, and where that is."""
    records = 0
    try:
        for _ in read(data):
            records += 1
    except Refused as problem:
        return records, problem.code, problem.path
    return records, None, None


def invalid_streams():
    folder = TOP / "vectors/invalid"
    for line in json.loads((folder / "index.json").read_text()):
        records, code, path = refused((folder / line["file"]).read_bytes())
        expected = (line["records"], line["error"], line.get("path", path))
        check(f"invalid/{line['file']}", lambda: equal((records, code, path), expected))


def sealed_streams():
    """Up to the first error: this reader does not resume."""
    for case in json.loads((TOP / "vectors/sealed/index.json").read_text()):
        records, code, _ = refused(bytes.fromhex(case["stream"]))
        check(f"sealed/{case['name']}", lambda: equal((records, code), (case["before"], case["first"])))


def indexed_streams():
    for case in json.loads((TOP / "vectors/indexed/index.json").read_text()):
        check(f"indexed/{case['name']}", lambda: index(bytes.fromhex(case["stream"]), bytes.fromhex(case["index"])))


def index(stream, file):
    (format, body), *rest = read(file)
    about = values.record(format, body)
    messages = list(read(stream))
    equal((format.root.name, rest, about["length"], about["messages"]), ("StreamIndex", [], len(stream), len(messages)))
    material = len(stream).to_bytes(8, "little") + stream[:65536] + stream[-65536:]
    equal(bytes(about["sum"]), blake3.derive_key("isoform 2026 stream index v1", material)[:16])
    for entry in about["entries"]:
        # Behind the descriptions in the index, the stream goes on from there.
        equal(list(read(file + stream[entry["position"] :]))[1:], messages[entry["number"] :])


def vectors():
    for path in sorted((TOP / "vectors").glob("*/*.bin")):
        if path.parent.name != "invalid":
            check(f"{path.parent.name}/{path.stem}", lambda: vector(path))


def vector(path):
    expected = json.loads(path.with_suffix(".json").read_text(), parse_float=Decimal)
    records = list(read(path.read_bytes()))
    formats = {format.token: format for format, _ in records}
    equal([dump.format_as_json(format) for format in formats.values()], expected["formats"])
    equal([format.token.hex() for format, _ in records], [one["token"] for one in expected["messages"]])
    for (format, body), one in zip(records, expected["messages"]):
        same(values.record(format, body), one["record"], format.root.name)


def conversions():
    """Whether a pair of formats is refused because fields are missing, and which."""
    for case in json.loads((TOP / "vectors/conversion/index.json").read_text()):
        wire, native = (description.parse(bytes.fromhex(case[side])) for side in ("wire", "native"))
        verdict = Matching(wire, native, Rules(case["rules"])).verdict()
        for result in case["results"]:
            error = result.get("error", {})
            is_pair = error.get("of") == "pair"
            if is_pair and error["name"] not in ("Required", "NoConversion") or is_pair and error["path"] != native.root.name and "fields" not in error:
                continue  # a matter of types
            expected = (error["name"], error.get("fields", [])) if is_pair else None
            check(f"conversion, {case['name']}", lambda: equal(verdict, expected))


if __name__ == "__main__":
    hash_vectors()
    spec_examples()
    invalid_streams()
    sealed_streams()
    indexed_streams()
    vectors()
    conversions()
    print(f"python reader: {passed} passed, {failed} failed")
    sys.exit(1 if failed else 0)
