#!/usr/bin/env python3
"""Adds what a machine wrote of `long double` to the vectors: python3 record.py LAYOUT STREAM

Each record of the stream has witnesses beside its number: the C expression, and what C printed of it on that machine.
What readers must find is worked out from these in exact fractions, and written beside the vector as JSON; the bytes of
numbers are not looked at. tests/reader reads the format and the witnesses.
"""

import json
import pathlib
import re
import sys
from fractions import Fraction

sys.dont_write_bytecode = True
TOP = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(TOP / "tests/reader"))

import dump
import number
import values
from reader import read

LARGEST = {"float": Fraction((1 << 53) - 1) * 2**971, "x87": Fraction((1 << 64) - 1) * 2**16320,
           "quad": Fraction((1 << 113) - 1) * 2**16271,
           "double-double": Fraction((1 << 53) - 1) * 2**971 + Fraction((1 << 52) - 1) * 2**918}
SMALLEST = {"float": -1022, "x87": -16382, "quad": -16382, "double-double": -969}
TINY = {"float": -1074, "x87": -16445, "quad": -16494, "double-double": -1074}
EPSILON = {"float": -52, "x87": -63, "quad": -112, "double-double": -1074}
SINGLE = number.BINARY["float"][4]
KIND = {"float": number.DOUBLE, "x87": number.X87, "quad": number.QUAD, "double-double": number.DoubleDouble()}


def power(exponent):
    return number.power(2, exponent)


def meant(expression, kind):
    """The number that an expression stands for in mathematics, if that is not a matter of opinion."""
    names = {"LDBL_EPSILON": power(EPSILON[kind]), "LDBL_MAX": LARGEST[kind], "LDBL_MIN": power(SMALLEST[kind]),
             "__LDBL_DENORM_MIN__": power(TINY[kind]), "DBL_MAX": LARGEST["float"], "FLT_MIN": power(-126),
             "one": Fraction(1), "three": Fraction(3)}
    text = expression.replace("(long double)", "")
    text = re.sub(r"0x([0-9.]+)p([-+]?\d+)L", lambda hexadecimal: f"(hexadecimal('{hexadecimal[0][:-1]}'))", text)
    text = re.sub(r"(?<![\w.'])(\d+(?:\.\d+)?(?:e-?\d+)?)L?(?![\w.'])", r"Fraction('\1')", text)
    return eval(text, {"Fraction": Fraction, "hexadecimal": hexadecimal, **names})


def hexadecimal(text):
    """The number that C prints as 0x1.8p-3."""
    sign, whole, fraction, exponent = re.fullmatch(r"([-+]?)0x([0-9a-f]+)\.?([0-9a-f]*)p([-+]\d+)", text).groups()
    value = Fraction(int(whole + fraction, 16)) * power(int(exponent) - 4 * len(fraction))
    return -value if sign == "-" else value


class Value:
    """What C printed: a fraction, or one of number.SPECIAL, and whether a minus stood before it."""

    def __init__(self, exact):
        self.negative = exact.startswith("-")
        first = exact.lstrip("-")[:3]
        self.value = {"nan": "NaN", "inf": "-Infinity" if self.negative else "Infinity"}.get(first)
        if self.value is None:
            self.value = sum(map(hexadecimal, re.findall(r"[-+]?0x[0-9a-f.]+p[-+]\d+", exact)))

    def negated(self):
        other = Value("0x0p+0")
        other.negative = not self.negative
        other.value = SIGNS.get(self.value, self.value) if isinstance(self.value, str) else -self.value
        return other


SIGNS = {"Infinity": "-Infinity", "-Infinity": "Infinity"}


def rounded(value, kind, largest):
    """A value as another kind of float has it."""
    result = Value("-0x0p+0" if value.negative else "0x0p+0")
    result.value = value.value
    if value.value not in number.SPECIAL:
        result.value = kind.nearest(value.value)
        if abs(result.value) > largest:
            result.value = "-Infinity" if value.negative else "Infinity"
    return result


def text(value, kind):
    """As spec/text.md writes it: the fewest digits, and an exponent only for the large and the small."""
    if value.value in number.SPECIAL:
        return value.value
    if value.value == 0:
        return Digits("-0.0" if value.negative else "0.0")
    sum_of_parts = number.QUAD.nearest(value.value) if isinstance(kind, number.DoubleDouble) else value.value
    sign, digits, exponent = re.fullmatch(
        r"(-?)(\d+)e(-?\d+)", number.Number(kind, sum_of_parts, value.negative).digits()).groups()
    point = len(digits) + int(exponent)
    if -3 <= point <= 0:
        return Digits(f"{sign}0.{'0' * -point}{digits}")
    if 1 <= point <= 16:
        return Digits(f"{sign}{digits[:point].ljust(point, '0')}.{digits[point:] or '0'}")
    return Digits(f"{sign}{digits[0]}{'.' if digits[1:] else ''}{digits[1:]}e{point - 1:+}")


class Digits(str):
    """A number, which JSON writes without quotes."""


def expected(format, body, samples, kind):
    """The record that a reader must find, from its witnesses."""
    came = values.record(format, body)
    real = KIND[kind]
    as_text = lambda value: text(value, real)
    if format.root.name == "LongDouble":
        value = Value(came["exact"])
        check(came, value, kind)
        samples.append(value)
        double = rounded(value, number.DOUBLE, LARGEST["float"])
        rest = value.negated()
        if double.value not in number.SPECIAL:
            rest = Value("0x0p+0")
            rest.value = value.value - double.value
            rest.negative = rest.value < 0
        single = rounded(value, SINGLE, Fraction((1 << 24) - 1) * 2**104)
        return {"expression": came["expression"], "exact": came["exact"], "decimal": came["decimal"], "before": "b",
                "value": as_text(value), "between": "c", "z": [as_text(value), as_text(rest)],
                "rounded": text(double, number.DOUBLE), "single": text(single, SINGLE)}
    tenth, most, least = samples[3], exactly(LARGEST[kind]), exactly(-power(TINY[kind]))
    full = came["n"] > 0
    return {"n": len(samples) if full else 0,
            "three": [as_text(tenth), as_text(most), as_text(least)],
            "values": [as_text(value) for value in samples] if full else [],
            "between": "b",
            "pair": [[as_text(tenth.negated()), as_text(tenth)], [Digits("0.0"), Digits("-0.0")]],
            "zs": [[as_text(value.negated()), as_text(value)] for value in samples] if full else [],
            "one": as_text(tenth) if full else None}


def exactly(fraction):
    value = Value("0x0p+0")
    value.value, value.negative = fraction, fraction < 0
    return value


def check(record, value, kind):
    """What C printed in hexadecimal, what it printed in decimal, and what mathematics says must be the same number."""
    if value.value in number.SPECIAL:
        assert record["decimal"].lstrip("-") == record["exact"].lstrip("-")[:3]
        return
    assert record["decimal"].startswith("-") == value.negative == (value.value < 0 or record["expression"] == "-0.0L")
    real, true = KIND[kind], meant(record["expression"], kind)
    printed = Fraction(record["decimal"])
    if kind == "double-double":  # which C computes to 106 bits or so, and prints to 40 digits
        nearly = lambda a, b: abs(a - b) <= abs(b) * power(-104) + power(-1074)
        assert nearly(value.value, true) and nearly(printed, value.value), record
    else:
        assert real.nearest(true) == value.value == real.nearest(printed), record


WIDTH = 118


def lines(value, indent=0, used=0):
    """JSON for people: what fits on a line stands on one."""
    whole = line(value)
    if indent + used + len(whole) < WIDTH or not isinstance(value, (dict, list)):
        return whole
    inner = indent + 2
    if isinstance(value, dict):
        names = {name: json.dumps(name) + ": " for name in value}
        parts = [names[name] + lines(one, inner, len(names[name])) for name, one in value.items()]
    else:
        parts = [lines(one, inner) for one in value]
    open, close = "{}" if isinstance(value, dict) else "[]"
    between = ",\n" + " " * inner
    return f"{open}\n{' ' * inner}{between.join(parts)}\n{' ' * indent}{close}"


def line(value):
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(name)}: {line(one)}" for name, one in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(line, value)) + "]"
    return value if isinstance(value, Digits) else json.dumps(value)


def kind_of(format):
    """What `long double` is there."""
    [field] = [field for field in format.root.fields if field.name == "value"]
    word = field.element.float_kind
    return "quad" if word == "float" and field.element.size == 16 else word


def main(layout, stream):
    data = pathlib.Path(stream).read_bytes()
    records = list(read(data))
    kind, samples = kind_of(records[0][0]), []
    formats = {format.token: format for format, _ in records}
    messages = [
        {"token": format.token.hex(), "record": expected(format, body, samples, kind)} for format, body in records
    ]
    whole = {"formats": [dump.format_as_json(format) for format in formats.values()], "messages": messages}
    folder = TOP / "vectors/long-double"
    folder.mkdir(exist_ok=True)
    for name, content in ((f"{layout}.bin", data), (f"{layout}.json", (lines(whole) + "\n").encode())):
        with open(folder / name, "xb") as file:
            file.write(content)
    print(f"{layout}: {len(records)} records, {kind}")


if __name__ == "__main__":
    main(*sys.argv[1:])
