"""Annotations of fields: their types on the wire, units, other names.

Write the type on the wire after the Python type: ``Annotated[int, i32]``. A type with lengths is an array:
``Annotated[list[float], f32[3]]``. ``char[20]`` is text of fixed size.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Type:
    """The type of a field, with the lengths of a fixed array."""

    words: str
    shape: tuple[int, ...] = ()

    def __getitem__(self, length: int | tuple[int, ...]) -> Type:
        more = length if isinstance(length, tuple) else (length,)
        return Type(self.words, (*self.shape, *more))


@dataclass(frozen=True)
class Unit:
    """The unit of measurement. A sender with another unit is refused."""

    name: str


@dataclass(frozen=True)
class Alias:
    """Another name under which the field may arrive."""

    name: str


@dataclass(frozen=True)
class Required:
    """A sender without the field is refused."""


@dataclass(frozen=True)
class Length:
    """The name of an array's length field. By default it is the name of the array and ``_len``."""

    name: str


unit = Unit
alias = Alias
length = Length
required = Required()

i8, i16, i32, i64, i128 = (Type(f"i{bits}") for bits in (8, 16, 32, 64, 128))
u8, u16, u32, u64, u128 = (Type(f"u{bits}") for bits in (8, 16, 32, 64, 128))
f16, f32, f64, f128 = (Type(f"f{bits}") for bits in (16, 32, 64, 128))
bf16 = Type("bf16")
c64, c128 = Type("complex f32"), Type("complex f64")
boolean = Type("bool")
char = Type("char")
string = Type("string")
