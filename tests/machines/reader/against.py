#!/usr/bin/env python3
"""The reader in C (main.c) against the reader in Python (tests/reader): both read all vectors.

    against.py [--random SEED COUNT] COMMAND..
    against.py read VECTORS FOLDER.. -- COMMAND..

COMMAND runs main.c on some machine. For each message of vectors/, this script makes a table of C members that hold all its
values, runs COMMAND on all of them at once, and compares every value. Then come the pairs of vectors/conversion whose native
format is a table that isoform_reader.h takes, and vectors/invalid. With --random, it reads so many random streams instead, of
which half of the messages are damaged.

`read` reads what machines have written instead: the streams of each folder, which is named after the layout that wrote them. It
prints for each folder how many records arrive with the values of the vectors, and of how many.
"""

import json
import pathlib
import random
import struct
import subprocess
import sys
from fractions import Fraction

sys.dont_write_bytecode = True
TOP = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(TOP / "tests/reader"))

import description as d
import message
import number
import writer
from against import TABLE, some_stream
from body import Verifier, dimensions_of, product
from reader import read
from refused import Refused
from values import Values

WIDE = {d.SIGNED: "i64", d.UNSIGNED: "u64", d.SIGNED_ENUMERATION: "i64", d.UNSIGNED_ENUMERATION: "u64"}
WIDE |= {d.CHAR: "char", d.BOOLEAN: "bool", d.STRING: "string", d.STRUCTURE: "struct"}
WIDE |= {kind: "double" for kind in d.FLOATS} | {kind: "double~complex" for kind in d.COMPLEX}
SIZES = {"i64": 8, "u64": 8, "char": 1, "bool": 1, "double": 8, "double~complex": 16, "float": 4, "float~complex": 8}

# Pairs for which isoform_reader.h says something else than the vectors, and why.
OTHERWISE = {
    "characters to string": "error 301 x",  # the string would need memory of its own
    "length does not fit": "error 314 x",  # the member has room for 64 elements, fewer than the length can say
    "one of two arrays is missing": "error 300 b",  # two rules are broken: it reports the first
}


class Unfit(Exception):
    """A value, or a format, that no table of C members takes."""


class Job:
    """The input of main.c."""

    def __init__(self, pointer):
        self.pointer, self.lines, self.tables, self.expected = pointer, [], 0, []

    def table(self, rows):
        """Rows of (name, type, bytes of an element, elements, nested table or None)."""
        lines, offset = [], 0
        for name, word, size, count, nested in rows:
            place = -1 if nested is None else nested[0]
            lines.append(f"row {name} {word} {offset} {size * count} {place} 0")
            offset += -(-size * count // 8) * 8
        self.lines += [f"table {offset}", *lines]
        self.tables += 1
        return self.tables - 1, offset

    def size(self, word):
        return self.pointer if word == "string" else SIZES[word]

    def read(self, stream, tables, expected, name):
        self.lines.append(f"read {stream.hex() or '-'} {' '.join(map(str, tables))}")
        self.expected += [(name, line) for line in expected]


class Members:
    """The members that hold the values of some records of one format: which they are, and what they become."""

    def __init__(self, job, format, body, paths):
        self.job, self.machine, self.body, self.paths = job, format.machine, body, paths
        self.values = Values(format.machine, body)

    def table(self, structure, places):
        """The table for structures at these places, or None if it would be empty."""
        rows, self_paths = [], {}
        self.plan(structure, places, "", rows)
        if not rows:
            raise Unfit
        return rows, self.job.table([row[:5] for row in rows])

    def plan(self, structure, places, prefix, rows):
        lengths = {}
        for field in structure.fields:
            mark = len(rows), dict(lengths)
            try:
                self.member(structure, field, places, prefix, rows, lengths)
            except Unfit:
                del rows[mark[0] :]
                lengths = mark[1]
        for index, count in lengths.items():
            field = structure.fields[index]
            name = prefix + field.name
            rows[:] = [row for row in rows if row[0] != name]
            rows.append((name, "i64", 8, 1, None, lambda at, count=count: [str(count(at))]))

    def member(self, structure, field, places, prefix, rows, lengths):
        name, element = prefix + field.name, field.element
        if not places:
            raise Unfit
        blocks = [self.block(structure, field, at) for at in places]
        if self.paths and element.kind == d.STRUCTURE and not field.dimensions and not field.indirect:
            inner = []
            self.plan(element.structure, [begin for begin, _ in blocks], name + ".", inner)
            rows += [(*row[:5], lambda at, row=row: row[5](at + field.offset)) for row in inner]
            return
        word, nested, room, dimensions = WIDE[element.kind], None, 1, ""
        if field.dimensions:
            room, dimensions = self.dimensions(structure, field, blocks, prefix, lengths)
        elements = [begin + i * element.size for begin, counts in blocks for i in range(product(counts))]
        if element.kind == d.STRUCTURE:
            inner, nested = self.table(element.structure, elements)
            show = lambda at: [one for row in inner for one in row[5](at)]
        else:
            show = lambda at: self.show(element, at)
            for at in elements:
                show(at)
        size = nested[1] if nested else self.job.size(word)
        rows.append((name, word + dimensions, size, room, nested, self.shows(structure, field, show)))

    def dimensions(self, structure, field, blocks, prefix, lengths):
        """The room, and the text of the dimensions."""
        inner = {tuple(counts[1:]) for _, counts in blocks if product(counts)}
        fixed = [number for how, number in field.dimensions[1:] if how == "fixed"]
        inner = inner or {tuple([2] * (len(field.dimensions) - 1 - len(fixed)) + fixed)}
        how, first = field.dimensions[0]
        if len(inner) > 1 or (how == "fixed" and any(product(counts) == 0 for _, counts in blocks)):
            raise Unfit
        inner = inner.pop()
        if field.dynamic and not any(product(counts) for _, counts in blocks) and field.dimensions[1:] and any(h == "fixed" for h, _ in field.dimensions[1:]):
            raise Unfit
        text = "".join(f"[{one}]" for one in inner)
        if how == "fixed":
            return first * product(inner), f"[{first}]{text}"
        count = lambda at: (lambda counts: counts[0] if product(counts) else 0)(self.block(structure, field, at)[1])
        if first in lengths:
            raise Unfit
        lengths[first] = count
        room = max(counts[0] if product(counts) else 0 for _, counts in blocks) + 1
        return room * product(inner), f"[{prefix}{structure.fields[first].name}]{text}"

    def shows(self, structure, field, show):
        def all_elements(at):
            begin, counts = self.block(structure, field, at)
            return [one for i in range(product(counts)) for one in show(begin + i * field.element.size)]

        return all_elements

    def block(self, structure, field, at):
        counts = dimensions_of(self.machine, self.body, structure, field, at)
        begin = at + field.offset
        if field.indirect:
            begin = self.machine.number(self.body[begin : begin + self.machine.pointer])
            if begin == 0 and not field.dynamic:
                raise Unfit
        return begin, counts

    def show(self, element, at):
        data, kind = self.body[at : at + element.size], element.kind
        if kind == d.STRING:
            begin = self.machine.number(data)
            return ['"' + self.body[begin : self.body.index(b"\0", begin)].hex()] if begin else ["null"]
        if kind in d.COMPLEX:
            return [*self.double(element, data[: element.part]), *self.double(element, data[element.part :])]
        if kind in d.FLOATS:
            return self.double(element, data)
        signed = kind in (d.SIGNED, d.SIGNED_ENUMERATION)
        value = self.machine.number(data, signed)
        if not (-(1 << 63) <= value < 1 << 63 if signed else value < 1 << 64):
            raise Unfit
        return [str(value)]

    def double(self, element, data):
        kind, parts = element.float_kind, [data]
        if kind == "double-double":
            kind, parts = "float", [data[:8], data[8:]]
        numbers = [number.decode(kind, part, self.machine.order) for part in parts]
        first = numbers[0]
        special = next((one.value for one in numbers if one.value in number.SPECIAL), None)
        if special == "NaN":
            return ["nan"]
        if special:
            value = float(special.replace("Infinity", "inf"))
        else:
            total = sum((Fraction(one.value) for one in numbers), Fraction(0))
            try:
                value = float(total)
            except OverflowError:
                raise Unfit from None
            if total and not value:
                raise Unfit
            value = -0.0 if not total and first.negative else value
        return [f"{struct.unpack('<Q', struct.pack('<d', value))[0]:x}"]


def vectors(job):
    for path in sorted((TOP / "vectors").glob("*/*.bin")):
        if path.parent.name == "invalid":
            continue
        stream = path.read_bytes()
        for paths in (False, True):
            tables, expected = [], []
            for format, body in read(stream):
                rows, (table, _) = Members(job, format, body, paths).table(format.root, [0])
                tables.append(table)
                expected.append(" ".join(["ok", *(one for row in rows for one in row[5](0))]))
            job.read(stream, tables, [*expected, "error -1"], f"{path.parent.name}/{path.stem}")


def invalid(job):
    folder = TOP / "vectors/invalid"
    for case in json.loads((folder / "index.json").read_text()):
        number, _ = TABLE[case["error"]]
        job.read((folder / case["file"]).read_bytes(), [], [f"error {number} {case.get('path', '')}".strip()], case["file"])


def native_rows(job, structure):
    """The members of a native format, each of its own type."""
    words = {(d.SIGNED, n): f"i{8 * n}" for n in (1, 2, 4, 8)} | {(d.UNSIGNED, n): f"u{8 * n}" for n in (1, 2, 4, 8)}
    words |= {(3, 4): "float", (3, 8): "double", (7, 8): "float~complex", (7, 16): "double~complex"}
    words |= {(d.CHAR, 1): "char", (d.BOOLEAN, 1): "bool"}
    for field in structure.fields:
        element, dimensions = field.element, field.dimensions
        nested, word = None, words.get((element.kind, element.size))
        if element.kind == d.STRING:
            word, size = "string", job.pointer
        elif element.kind == d.STRUCTURE:
            word, nested = "struct", job.table(list(native_rows(job, element.structure)))
            size = nested[1]
        elif word:
            size = int(word[1:]) // 8 if word[0] in "iu" else SIZES[word]
        if not word or field.unit or (field.indirect and not field.dynamic) or any(how == "field" for how, _ in dimensions[1:]):
            raise Unfit
        counts = [number if how == "fixed" else 64 for how, number in dimensions]
        text = "".join(f"[{number if how == 'fixed' else structure.fields[number].name}]" for how, number in dimensions)
        yield field.name, word + text, size, product(counts), nested


def conversions(job):
    """The pairs of vectors/conversion, under *error*, without rules."""
    tried = 0
    for case in json.loads((TOP / "vectors/conversion/index.json").read_text()):
        wire, native = (d.parse(bytes.fromhex(case[side])) for side in ("wire", "native"))
        try:
            if case["rules"]:
                raise Unfit
            table, _ = job.table(list(native_rows(job, native.root)))
        except Unfit:
            continue
        tried += 1
        for result in case["results"]:
            if "error" not in result["faults"]:
                continue
            stream = writer.message(bytes(16), wire.description) + writer.message(wire.token, bytes.fromhex(result["body"]))
            expected = "ok"
            if "error" in result:
                path = "" if result["error"]["path"] == native.root.name else result["error"]["path"]
                expected = f"error {TABLE[result['error']['name']][0]} {path}".strip()
            expected = OTHERWISE.get(case["name"], expected)
            job.read(stream, [table], [expected, "error -1"], f"conversion, {case['name']}")
    return tried


def random_streams(job, seed, count):
    chance = random.Random(seed)
    for index in range(count):
        stream, known, tables, expected = some_stream(chance, 4), {}, [], []
        for token, body, _ in message.messages(stream):
            try:
                if token == message.ZERO:
                    format = d.parse(body)
                    known[format.token] = format
                elif token in known:
                    Verifier(known[token], body).run()
                    table, line = fitting(job, known[token], body, chance.random() < 0.5)
                    tables.append(table)
                    expected.append(line)
                else:
                    raise Refused("UnknownFormat")
            except Refused as refused:
                code, _ = TABLE[refused.code]
                # A description that breaks several rules may be refused for any of them.
                expected.append(f"error {code} {refused.path}".strip() if code >= 120 and code < 130 or code == 400 else "error")
        job.read(stream, [*tables, "-"], [*expected, "error -1"], f"random stream {index}")


def fitting(job, format, body, paths):
    try:
        rows, (table, _) = Members(job, format, body, paths).table(format.root, [0])
        return table, " ".join(["ok", *(one for row in rows for one in row[5](0))])
    except Unfit:
        return "-", "ok"


def written(job, vectors, folder):
    """The streams of one folder, whose records must have the values of the vectors."""
    begin = len(job.expected)
    for path in sorted(folder.glob("*.iso")):
        tables, expected = [], []
        for format, body in read((vectors / path.stem / f"{folder.name}.bin").read_bytes()):
            rows, (table, _) = Members(job, format, body, False).table(format.root, [0])
            tables.append(table)
            expected.append(" ".join(["ok", *(one for row in rows for one in row[5](0))]))
        job.read(path.read_bytes(), tables, [*expected, "error -1"], f"{folder.name}/{path.stem}")
    return begin, len(job.expected)


def read_folders(vectors, *words):
    """Whether all records of all folders arrive as they should."""
    end = words.index("--")
    folders, command = [pathlib.Path(word) for word in words[:end]], words[end + 1 :]
    run = lambda words, given="": subprocess.run([*command, *words], input=given, stdout=subprocess.PIPE, text=True, check=True).stdout
    job = Job(int(run(["size"])))
    ranges = [written(job, pathlib.Path(vectors), folder) for folder in folders]
    came = [line.strip() for line in run([], "\n".join(job.lines) + "\n").splitlines()]
    all_agree = len(came) == len(job.expected)
    for folder, (begin, end) in zip(folders, ranges):
        agreed, records = 0, 0
        for (name, expected), line in zip(job.expected[begin:end], came[begin:end] + ["the end"] * (end - begin)):
            is_record, same = expected != "error -1", line == expected
            records += is_record or not same
            agreed += is_record and same
            if not same:
                print(f"{name}: expected {expected}, found {line}", file=sys.stderr)
        print(agreed, records, folder)
        all_agree &= agreed == records > 0
    return 0 if all_agree else 1


def main(*command):
    if command[:1] == ("read",):
        return read_folders(*command[1:])
    chosen = command[1:3] if command[:1] == ("--random",) else None
    command = command[3:] if chosen else command
    run = lambda words, given="": subprocess.run([*command, *words], input=given, stdout=subprocess.PIPE, text=True, check=True).stdout
    job = Job(int(run(["size"])))
    if chosen:
        random_streams(job, *map(int, chosen))
    tried = 0 if chosen else conversions(job)
    if not chosen:
        vectors(job)
        invalid(job)
    came = [line.strip() for line in run([], "\n".join(job.lines) + "\n").splitlines()]
    failed = 0
    index = 0
    for name, expected in job.expected:
        line = came[index] if index < len(came) else "the end"
        same = line == expected
        if expected == "error" or name.startswith("conversion") and expected == "ok":
            same = line.startswith(expected)
        index += 1
        if not same:
            failed += 1
            print(f"{name}:\n  expected {expected}\n  found    {line}")
    failed += index != len(came)
    print(f"reader in C: {len(job.expected) - failed} passed, {failed} failed; {tried} pairs of formats")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
