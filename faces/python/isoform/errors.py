"""Failures: one exception for each class of the error table (``spec/errors.md``), with the code of that table.

:attr:`Error.code` is the kind of the failure, :attr:`Error.path` the field at fault, :attr:`Error.expected` what was
expected there, and :attr:`Error.actual` what was found. Each of the last three may be empty. :attr:`Error.token` is the token
whose format is unknown, for ``Code.UnknownFormat``, and otherwise None.
"""

from __future__ import annotations

from enum import IntEnum
from functools import lru_cache
from typing import Any


class Code(IntEnum):
    """The kind of a failure. The numbers are the same in every language."""

    NotAMessage = 100
    Version = 101
    Flags = 102
    Cut = 103
    Damaged = 104
    Description = 110
    NotCanonical = 111
    Declaration = 112
    TokenMismatch = 113
    BodyLength = 120
    Slot = 121
    NullArray = 122
    ArrayLength = 123
    Boolean = 124
    Symbol = 125
    Unterminated = 126
    Utf8 = 127
    Text = 130
    Frame = 140
    Handshake = 141
    MessageSize = 200
    DescriptionSize = 201
    Depth = 202
    Fields = 203
    Size = 204
    Peers = 205
    Budget = 206
    Required = 300
    NoConversion = 301
    Unit = 302
    Shape = 303
    Overflow = 310
    Underflow = 311
    Inexact = 312
    UnknownSymbol = 313
    TooLong = 314
    Lengths = 315
    Null = 316
    NotCompatible = 317
    UnknownFormat = 400
    Io = 401
    Deadline = 402
    Unreachable = 403
    NoSuchChannel = 404
    Closed = 405
    WrongNode = 406
    Duplicate = 407
    Taken = 408
    NotGranted = 409
    NotAdmitted = 410
    Forbidden = 411
    NoSuchName = 412
    NotWriter = 413
    NoSuchField = 500
    WrongType = 501
    BadRecord = 502
    Source = 503
    Address = 504
    Insecure = 505
    Internal = 900


class Error(Exception):
    """A failure of Isoform."""

    def __init__(
        self, text: str, code: int, path: str = "", expected: str = "", actual: str = "", token: str | None = None
    ) -> None:
        super().__init__(text)
        self.code = Code(code)
        self.path = path
        self.expected = expected
        self.actual = actual
        self.token = token

    def __reduce__(self) -> tuple[type[Error], tuple[str, int, str, str, str, str | None]]:
        return type(self), (str(self), int(self.code), self.path, self.expected, self.actual, self.token)

    def _within(self, outer: str) -> Error:
        """The same failure, with the record or array ``outer`` in front of the path."""
        dot = "." if self.path and not self.path.startswith("[") else ""
        path = f"{outer}{dot}{self.path}"
        text = str(self)
        if self.path and f" at {self.path}" in text:
            text = text.replace(f" at {self.path}", f" at {path}", 1)
        else:
            head, colon, rest = text.partition(": ")
            text = f"{head} at {path}{colon}{rest}"
        return type(self)(text, self.code, path, self.expected, self.actual, self.token)


class BadInput(Error):
    """The input does not follow the specification: drop it, or examine its sender."""


class LimitReached(Error):
    """The input exceeds a limit of this receiver: raise the limit if the sender is trusted."""


class Mismatch(Error):
    """Both sides are well-formed but incompatible: change one of them, or the rules of conversion."""


class Unavailable(Error):
    """Something is missing, perhaps only for now: a format, the rest of a stream, a file, a channel. The error of a file that
    cannot be opened is also Python's own, such as `FileNotFoundError`."""


class Usage(Error):
    """The caller asked for something that does not exist, or passed an invalid argument."""


class Internal(Error):
    """Isoform has a defect: please report it."""


class NoSuchKey(Usage, KeyError):
    """A view, or columns, have no field of this name. It is also a `KeyError`, since `in` and `get` of mappings expect one."""

    __str__ = Exception.__str__


@lru_cache(maxsize=None)
def _both(kind: type[OSError]) -> type[Unavailable]:
    """The class of exceptions that are `Unavailable` and also Python's own, such as `FileNotFoundError`."""
    return type(kind.__name__, (Unavailable, kind), {"__module__": __name__, "__reduce__": _reduced})


def _reduced(error: Any) -> tuple[Any, tuple[int, str, str]]:
    return cannot_open, (error.errno, error.strerror, error.filename)


def cannot_open(number: int, text: str, path: str) -> Unavailable:
    """An error for a file that cannot be opened, with the system's number and text."""
    kind: Any = type(OSError(number, text))
    error: Any = _both(kind)(f"input/output at {path}: {text}", Code.Io, str(path), "", text)
    error.errno, error.strerror, error.filename = number, text, path
    found: Unavailable = error
    return found


def declaration(path: str, expected: str, actual: str) -> BadInput:
    """An error for a type that cannot become a format."""
    return BadInput(
        f"invalid declaration at {path}: expected {expected}, found {actual}", Code.Declaration, path, expected, actual
    )


#: Classes, structures and dtypes may nest so deep here. Formats may nest less, and their error says how deep.
_DEEPEST = 64


def check_nesting(cls: type[Any], outer: list[Any]) -> None:
    """Refuses a class that lies within itself, or too deep, within these."""
    if cls in outer:
        raise declaration(cls.__name__, "a class that does not contain itself, directly or through others", f"a field of type {cls.__name__}")
    check_depth(cls.__name__, len(outer))


def check_depth(path: str, depth: int) -> None:
    """Refuses what is nested too deep."""
    if depth > _DEEPEST:
        raise too_deep(path, "records that are nested less deep", f"{depth} levels")


def too_deep(path: str, expected: str, actual: str) -> LimitReached:
    """An error for what is nested too deep."""
    return LimitReached(f"too deep at {path}: expected {expected}, found {actual}", Code.Depth, path, expected, actual)


def lacks(path: str, fields: list[str]) -> Mismatch:
    """An error for a record that lacks fields which have no default."""
    at = f"{path}.{fields[0]}" if path else fields[0]
    expected = f"a value, or isoform.field(.., default=..) in the dtype, for {', '.join(fields)}"
    actual = "a record without it" if len(fields) == 1 else "a record without them"
    return Mismatch(f"missing field at {at}: expected {expected}, found {actual}", Code.Required, at, expected, actual)


def no_such_column(name: str, names: list[str]) -> NoSuchKey:
    """An error for a column that is not there."""
    expected = f"one of {', '.join(names)}"
    if "[" in name:
        expected = f"the name of a column, {expected}, which has all elements"
    return NoSuchKey(f"no such field: expected {expected}, found {name!r}", Code.NoSuchField, "", expected, name)


def no_such_field(path: str, names: list[str], actual: Any) -> Usage:
    """An error for a field that a type of records lacks."""
    expected = f"one of {', '.join(names)}"
    at = f" at {path}" if path else ""
    return Usage(f"no such field{at}: expected {expected}, found {actual!r}", Code.NoSuchField, path, expected, repr(actual))


def wrong_type(path: str, expected: str, actual: str) -> Usage:
    """An error for an argument, or a request, of the wrong type."""
    at = f" at {path}" if path else ""
    return Usage(f"wrong type{at}: expected {expected}, found {actual}", Code.WrongType, path, expected, actual)
