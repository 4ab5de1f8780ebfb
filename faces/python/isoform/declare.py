"""What a class or a dtype says about its fields: their types on the wire, units, other names.

Write the type on the wire after the Python type: ``Annotated[int, i32]``. A type with lengths is an array:
``Annotated[list[float], f32[3]]``. ``char[20]`` is text of fixed size.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .errors import wrong_type


@dataclass(frozen=True)
class Type:
    """The type of a field, with the lengths of a fixed array."""

    words: str
    shape: tuple[int, ...] = ()

    def __getitem__(self, length: int | tuple[int, ...]) -> Type:
        more = length if isinstance(length, tuple) else (length,)
        for each in more:
            if isinstance(each, bool) or not isinstance(each, int):
                raise wrong_type("lengths", "whole numbers, as in isoform.f32[2, 3]", type(each).__name__)
        return Type(self.words, (*self.shape, *more))


@dataclass(frozen=True)
class Unit:
    """The unit of measurement. A sender with another unit is refused."""

    name: str

    def __post_init__(self) -> None:
        _check_name("unit", self.name)


@dataclass(frozen=True)
class Alias:
    """Another name under which the field may arrive."""

    name: str

    def __post_init__(self) -> None:
        _check_name("alias", self.name)


@dataclass(frozen=True)
class Required:
    """A sender without the field is refused."""


@dataclass(frozen=True)
class Length:
    """The name of an array's length field. By default it is the name of the array and ``_len``; if the array has several
    dimensions, which take one of these notes each, ``_dim0`` and so on."""

    name: str

    def __post_init__(self) -> None:
        _check_name("length", self.name)


def _check_name(note: str, name: Any) -> None:
    if not isinstance(name, str):
        raise wrong_type(note, "a name, which is a str", type(name).__name__)


class _Nothing:
    """No default."""


@dataclass(frozen=True)
class Notes:
    """What :func:`field` says about a field of a dtype. It can be hashed, since types of records are cached by it."""

    unit: str | None
    aliases: tuple[str, ...]
    required: bool
    default: Any = _Nothing

    @property
    def has_default(self) -> bool:
        return self.default is not _Nothing

    def rules(self, structure: str, name: str) -> list[tuple[str, str, str, Any]]:
        """The rules of a field, as decoders take them."""
        rules: list[tuple[str, str, str, Any]] = [(structure, name, "alias", alias) for alias in self.aliases]
        rules += [(structure, name, "required", True)] if self.required else []
        return rules + ([] if self.default is _Nothing else [(structure, name, "default", self.default)])

    def __repr__(self) -> str:
        said: dict[str, Any] = {"unit": self.unit, "alias": self.aliases, "required": self.required}
        if self.default is not _Nothing:
            said["default"] = self.default
        return ", ".join(f"{word}={value!r}" for word, value in said.items() if value)


def field(
    dtype: Any,
    *,
    unit: str | None = None,
    alias: str | Iterable[str] = (),
    required: bool = False,
    default: Any = _Nothing,
) -> np.dtype[Any]:
    """The dtype of a field, with its unit, other names under which it may arrive, its value for senders that lack it, and
    whether senders without it are refused. They are stored as metadata of the dtype, which NumPy keeps.

    >>> sample = np.dtype([("depth", isoform.field("f4", unit="m", alias="d")), ("wind", isoform.field("f8", default=11.5))])
    """
    aliases = (alias,) if isinstance(alias, str) else tuple(alias)
    for word, names in (("unit", () if unit is None else (unit,)), ("alias", aliases)):
        for name in names:
            _check_name(word, name)
    notes = Notes(unit, aliases, required, default if default is _Nothing else _hashable(default))
    try:
        plain = np.dtype(dtype)
    except (TypeError, ValueError) as fault:
        raise wrong_type("field", "a dtype", str(fault)) from None
    found: np.dtype[Any] = np.dtype(plain, metadata={**(plain.metadata or {}), "isoform": notes})
    return found


def _hashable(value: Any) -> Any:
    value = value.tolist() if isinstance(value, (np.ndarray, np.generic)) else value
    if isinstance(value, (list, tuple)):
        return tuple(_hashable(item) for item in value)
    try:
        hash(value)
    except TypeError:
        raise wrong_type("default", "a number, a bool, text, or a list of these", type(value).__name__) from None
    return value


unit = Unit
alias = Alias
length = Length
required = Required()

i8, i16, i32, i64, i128 = (Type(f"i{bits}") for bits in (8, 16, 32, 64, 128))
u8, u16, u32, u64, u128 = (Type(f"u{bits}") for bits in (8, 16, 32, 64, 128))
f16, f32, f64, f128 = (Type(f"f{bits}") for bits in (16, 32, 64, 128))
bf16 = Type("bf16")
x87, double_double = Type("x87"), Type("double-double")
c64, c128 = Type("complex f32"), Type("complex f64")
boolean = Type("bool")
char = Type("char")
string = Type("string")
#: Only lengths: ``Annotated[list[Point], fixed[2]]`` has two elements of the type that Python names.
fixed = Type("")
