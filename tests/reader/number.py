"""The numbers of spec/format.md, read exactly, and written in the digits of spec/text.md."""

from dataclasses import dataclass
from fractions import Fraction

# Digits of the significand and smallest exponent of each kind of float, by its size; the largest exponent is 2 - it.
IEEE = {2: (11, -14), 4: (24, -126), 8: (53, -1022), 16: (113, -16382)}
BFLOAT = (8, -126)
X87 = (64, -16382)


@dataclass
class Char:
    byte: int


@dataclass
class Symbol:
    name: str


@dataclass
class Complex:
    real: object
    imaginary: object


@dataclass
class Float:
    """A number of a kind of float: exact, or "NaN", "Infinity", "-Infinity"; zero keeps its sign."""

    value: object
    negative: bool
    digits: int
    smallest: int


def decode(kind, data, order):
    little = data if order == "little" else data[::-1]
    bits = int.from_bytes(little, "little")
    if kind == "float":
        return binary(bits, 8 * len(data), *IEEE[len(data)])
    if kind == "bfloat":
        return binary(bits, 16, *BFLOAT)
    if kind == "x87":
        return x87(int.from_bytes(little[:10], "little"))
    high, low = (decode("float", part, order) for part in (data[:8], data[8:]))
    if not isinstance(high.value, Fraction):
        return Float(high.value, high.negative, 106, -1022)
    if not isinstance(low.value, Fraction):
        return Float(low.value, low.negative, 106, -1022)
    total = high.value + low.value
    return Float(total, high.negative if total == 0 else total < 0, 106, -1022)


def binary(bits, width, digits, smallest):
    negative = bool(bits >> (width - 1))
    exponent = (bits >> (digits - 1)) & ((1 << (width - digits)) - 1)
    fraction = bits & ((1 << (digits - 1)) - 1)
    return assemble(negative, exponent, exponent == (1 << (width - digits)) - 1, fraction, digits, smallest)


def assemble(negative, exponent, special, fraction, digits, smallest):
    if special:
        value = "NaN" if fraction else "-Infinity" if negative else "Infinity"
        return Float(value, negative, digits, smallest)
    significand = fraction | (1 << (digits - 1)) if exponent else fraction
    value = scaled(significand, max(exponent, 1) - 1 + smallest - (digits - 1))
    return Float(-value if negative else value, negative, digits, smallest)


def x87(bits):
    negative, exponent, significand = bool(bits >> 79), (bits >> 64) & 0x7FFF, bits & ((1 << 64) - 1)
    if exponent == 0x7FFF:
        value = "NaN" if significand << 1 & ((1 << 64) - 1) else "-Infinity" if negative else "Infinity"
        return Float(value, negative, *X87)
    if exponent and not significand >> 63:
        return Float("NaN", negative, *X87)  # the x87 knows no such numbers: "unnormal"
    value = scaled(significand, max(exponent, 1) - 1 + X87[1] - 63)
    return Float(-value if negative else value, negative, *X87)


def scaled(significand, exponent):
    return Fraction(significand * 2**exponent) if exponent >= 0 else Fraction(significand, 2**-exponent)
