"""Reads the fields of records by name, without a type."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from ._isoform import _Later
from .errors import Code, NoSuchKey

_STEP = re.compile(r"\.?([^.\[\]]+)|\[(\d+)\]")


class View(Mapping[str, Any]):
    """The fields of a received record, by name: ``view["depth"]``, ``view.depth``, ``view["grid[3].rho"]``.

    An array of numbers is a read-only NumPy array in the sender's byte order. It refers to the message without a copy, and
    keeps it alive. Long texts and lists of texts or records are converted when a program asks for them. A nested record is a view, text is `str`, an enumeration is its symbol, and a null pointer is `None`. A
    number with more digits than a `float` is a `Decimal`.
    """

    __slots__ = ("_name", "_fields")

    def __init__(self, name: str, fields: dict[str, Any]) -> None:
        self._name = name
        self._fields = fields

    def __getitem__(self, path: str) -> Any:
        fields = self._fields
        # Of other types some have no hash, and deep tuples end the process when they are asked for theirs.
        if not isinstance(path, str):
            raise TypeError(f"a path is a str, not {type(path).__name__}")
        if path in fields:
            return self._value(path)
        return self._find(path)

    def _value(self, name: str) -> Any:
        """The value of a field. What takes long is converted when it is first asked for."""
        value = self._fields[name]
        if type(value) is _Later:
            value = self._fields[name] = value.load()
        return value

    def __getattr__(self, name: str) -> Any:
        # When it copies an object, Python looks up dunder names before the slots are set.
        if name in View.__slots__ or name.startswith("__"):
            raise AttributeError(name)
        try:
            return self._value(name)
        except KeyError:
            raise AttributeError(f"{self._name} has no field {name!r}") from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._fields)

    def __len__(self) -> int:
        return len(self._fields)

    def __repr__(self) -> str:
        fields = ", ".join(f"{_shown(name)}={value!r}" for name, value in self.items())
        return f"{_shown(self._name)}({fields})"

    def __reduce__(self) -> tuple[type[View], tuple[str, dict[str, Any]]]:
        return View, (self._name, dict(self))

    def _find(self, path: str) -> Any:
        item: Any = self
        # A field that is not converted yet: its record, and its name.
        later: tuple[View, str] | None = None
        end = 0
        for step in _STEP.finditer(path):
            if step.start() != end:
                break
            name, index = step.groups()
            if later is not None:
                one = later[0]._fields[later[1]].one(int(index)) if index else None
                item, later = (later[0]._value(later[1]), None) if one is None else (one, None)
                if one is not None:
                    end = step.end()
                    continue
            try:
                if name is None:
                    item = item[int(index)]
                elif type(item._fields[name]) is _Later:
                    later = item, name
                else:
                    item = item._fields[name]
            except (AttributeError, KeyError, IndexError, TypeError):
                raise _no_such_field(path[:end], item, step.group()) from None
            end = step.end()
        if later is not None:
            item = later[0]._value(later[1])
        if end != len(path) or not path:
            raise _no_such_field(path[:end], item, path[end:])
        return item


def _shown(name: Any) -> str:
    """A name without characters that would control a terminal."""
    return name if isinstance(name, str) and name.isprintable() else repr(name)


def _no_such_field(before: str, item: Any, actual: str) -> NoSuchKey:
    if isinstance(item, View):
        expected = "one of " + ", ".join(map(_shown, item))
    elif item is None or isinstance(item, (bool, int, float, str)):
        expected = "the end of the path"
    else:
        expected = f"an index below {len(item)}"
    at = f" at {before}" if before else ""
    text = f"no such field{at}: expected {expected}, found {actual!r}"
    return NoSuchKey(text, Code.NoSuchField, before, expected, actual)
