"""The floating-point numbers of spec/format.md: read exactly, and written in the shortest digits (spec/text.md)."""

from decimal import Decimal
from fractions import Fraction


class Kind:
    """A set of floating-point numbers: bits of a significand, and the smallest exponent of a normal number."""

    def __init__(self, bits, smallest):
        self.bits, self.smallest = bits, smallest

    def nearest(self, value):
        """The number of this kind that is nearest to a fraction, ties to even; it is taken to be within range."""
        if value == 0:
            return value
        exponent = max(binary_exponent(value), self.smallest) - (self.bits - 1)
        return round(value / power(2, exponent)) * power(2, exponent)


class DoubleDouble:
    """Sums of two binary64, as far as a binary128 holds them."""

    def nearest(self, value):
        whole = QUAD.nearest(value)
        large = DOUBLE.nearest(whole)
        return QUAD.nearest(large + DOUBLE.nearest(whole - large))


DOUBLE, QUAD, X87 = Kind(53, -1022), Kind(113, -16382), Kind(64, -16382)
# By word and bytes: the floats that are a sign, an exponent and a fraction, in this order.
BINARY = {
    "float": {2: Kind(11, -14), 4: Kind(24, -126), 8: DOUBLE, 16: QUAD},
    "bfloat": {2: Kind(8, -126)},
}
SPECIAL = ("NaN", "Infinity", "-Infinity")


class Number:
    def __init__(self, kind, value, negative):
        """`value` is a fraction, or one of SPECIAL; zero has a sign beside it."""
        self.kind, self.value, self.negative = kind, value, negative

    def is_read_from(self, text):
        """Whether this is the number that some JSON, already decoded, stands for."""
        if self.value in SPECIAL or text in SPECIAL:
            return self.value == text
        if not isinstance(text, Decimal):
            return False
        nearest = self.kind.nearest(Fraction(text))
        return nearest == self.value and text.is_signed() == self.negative

    def digits(self):
        """The shortest decimal that is this number again, read as its kind; of several, the nearest."""
        if self.value in SPECIAL:
            return self.value
        sign, value = "-" if self.negative else "", abs(self.value)
        if value == 0:
            return sign + "0.0"
        exponent = decimal_exponent(value)
        for count in range(1, 40):
            unit = power(10, exponent - count + 1)
            below = int(value / unit)
            for digits in sorted((below, below + 1), key=lambda digits: abs(digits * unit - value)):
                if self.kind.nearest(digits * unit) == value:
                    short = str(digits).rstrip("0")
                    return f"{sign}{short}e{exponent - count + 1 + len(str(digits)) - len(short)}"
        raise AssertionError("40 digits suffice for a binary128")


def decode(kind, data, order):
    little = data if order == "little" else data[::-1]
    bits = int.from_bytes(little, "little")
    if kind in BINARY:
        return binary(bits, 8 * len(data), BINARY[kind][len(data)])
    if kind == "x87":
        return x87(int.from_bytes(little[:10], "little"))
    large, small = (decode("float", part, order) for part in (data[:8], data[8:]))
    if large.value in SPECIAL or small.value == 0:
        return Number(DoubleDouble(), large.value, large.negative)
    if small.value in SPECIAL:
        return Number(DoubleDouble(), small.value, small.negative)
    total = QUAD.nearest(large.value + small.value)
    return Number(DoubleDouble(), total, total < 0)


def binary(bits, width, kind):
    negative = bool(bits >> (width - 1))
    largest = (1 << (width - kind.bits)) - 1
    exponent = (bits >> (kind.bits - 1)) & largest
    fraction = bits & ((1 << (kind.bits - 1)) - 1)
    significand = fraction | (1 << (kind.bits - 1)) if exponent else fraction
    return number(kind, negative, exponent, exponent == largest, significand, fraction)


def x87(bits):
    """Its leading 1 is written down, and must be there in all but the smallest numbers."""
    negative, exponent, significand = bool(bits >> 79), (bits >> 64) & 0x7FFF, bits & ((1 << 64) - 1)
    fraction = significand & ((1 << 63) - 1)
    if exponent and not significand >> 63:
        return Number(X87, "NaN", negative)
    return number(X87, negative, exponent, exponent == 0x7FFF, significand, fraction)


def number(kind, negative, exponent, special, significand, fraction):
    if special:
        return Number(kind, "NaN" if fraction else "-Infinity" if negative else "Infinity", negative)
    value = significand * power(2, max(exponent, 1) - 1 + kind.smallest - (kind.bits - 1))
    return Number(kind, -value if negative else value, negative)


def power(base, exponent):
    return Fraction(base**exponent) if exponent >= 0 else Fraction(1, base**-exponent)


def binary_exponent(value):
    """The largest exponent with 2^exponent <= |value|."""
    value = abs(value)
    exponent = value.numerator.bit_length() - value.denominator.bit_length()
    return exponent if power(2, exponent) <= value else exponent - 1


def decimal_exponent(value):
    """The largest exponent with 10^exponent <= value."""
    exponent = int(binary_exponent(value) * 0.30103) - 1
    while power(10, exponent + 1) <= value:
        exponent += 1
    return exponent
