"""Structures of ctypes as formats: their offsets, sizes and byte order, strings and arrays behind pointers."""

from __future__ import annotations

import ctypes
import sys
from typing import Any

import numpy as np

from ._dtypes import _LONG_DOUBLE, Placed
from ._isoform import Format
from .errors import check_nesting, declaration

_SIGNED, _UNSIGNED, _FLOATS = "bhilqn", "BHILQN", "fd"
_POINTER = type(ctypes.POINTER(ctypes.c_int))


class Declaration:
    """A structure, with those that it nests. `_lengths_ = {"depth": "n"}` names the length fields of its pointers."""

    def __init__(self, cls: type[ctypes.Structure], name: str | None) -> None:
        self.big = issubclass(cls, ctypes.BigEndianStructure) if sys.byteorder == "little" else not issubclass(
            cls, ctypes.LittleEndianStructure
        )
        self.structures: dict[type[Any], Placed] = {}
        self.open: list[Any] = []
        self.add(cls, name or cls.__name__)

    def format(self) -> Format:
        return Format._placed(list(self.structures.values()), self.big, ctypes.sizeof(ctypes.c_void_p))

    def add(self, cls: type[Any], name: str) -> str:
        if cls in self.structures:
            return self.structures[cls][0]
        check_nesting(cls, self.open)
        self.open.append(cls)
        fields: list[tuple[str, str, int, int, str | None]] = []
        lengths = getattr(cls, "_lengths_", {})
        pointers = [row[0] for row in _rows(cls) if len(row) == 2 and isinstance(row[1], _POINTER)]
        for field in lengths:
            if field not in pointers:  # it would be sent as if it had no length
                raise declaration(f"{name}._lengths_", f"the names of pointers among {', '.join(pointers) or 'no fields'}", repr(field))
        for row in _rows(cls):
            path = f"{name}.{row[0]}"
            if len(row) > 2:
                raise declaration(path, "whole bytes", "a bit field")
            words, size = self.words(row[1], lengths.get(row[0]), path)
            fields.append((row[0], words, size, getattr(cls, row[0]).offset, None))
        self.open.pop()
        self.structures[cls] = (name, ctypes.sizeof(cls), ctypes.alignment(cls), fields)
        return name

    def words(self, kind: Any, length: str | None, path: str) -> tuple[str, int]:
        """The type of a field, and the size of one element."""
        if isinstance(kind, _POINTER):
            target: Any = kind
            element, size = self.words(target._type_, None, path)
            return (f'{element}["{length}"]' if length else f"{element}*"), size
        if issubclass(kind, ctypes.Array):
            shape = ""
            array: Any = kind
            while issubclass(array, ctypes.Array):
                shape += f"[{array._length_}]"
                array = array._type_
            element, size = self.words(array, None, path)
            return element + shape, size
        if issubclass(kind, ctypes.Structure):
            return f'"{self.add(kind, kind.__name__)}"', ctypes.sizeof(kind)
        code, size = getattr(kind, "_type_", ""), ctypes.sizeof(kind)
        if code in _SIGNED and code:
            return "integer", size
        if code and code in _UNSIGNED:
            return "unsigned integer", size
        words = {"?": "boolean", "c": "char", "z": "string", "f": "float", "d": "float", "g": _LONG_DOUBLE}.get(code)
        if not words:
            raise declaration(path, "a number, char, char *, a structure, or an array of these or a pointer to one", kind.__name__)
        return words, size

    def fields(self, record: Any) -> dict[str, Any]:
        """The values of a structure, with those that it points at."""
        cls = type(record)
        lengths: dict[str, str] = getattr(cls, "_lengths_", {})
        fields: dict[str, Any] = {}
        for row in _rows(cls):
            # An attribute would be cut at the first NUL, or rounded.
            value = row[1].from_buffer(record, getattr(cls, row[0]).offset)
            fields[row[0]] = self.value(value, getattr(record, lengths[row[0]]) if row[0] in lengths else None)
        return fields

    def value(self, value: Any, length: int | None) -> Any:
        if isinstance(type(value), _POINTER):
            if not value:
                return None
            if length is None:
                return self.value(value.contents, None)
            target: Any = type(value)
            return self.value((target._type_ * max(length, 0)).from_address(ctypes.addressof(value.contents)), None)
        if isinstance(value, ctypes.Structure):
            return self.fields(value)
        if isinstance(value, ctypes.Array):
            if value._type_ is ctypes.c_char:
                return value.raw
            if value._type_ is ctypes.c_longdouble:
                return list(_long_doubles(value))
            return [self.value(item, None) for item in value]
        if isinstance(value, ctypes.c_longdouble):
            return _long_doubles(value)[0]
        return value.value if isinstance(value, ctypes._SimpleCData) else value


def _long_doubles(memory: Any) -> np.ndarray[Any, np.dtype[Any]]:
    """Long doubles with all their digits, which a `float` has not."""
    return np.frombuffer(memory, np.dtype(np.longdouble))


def _rows(cls: type[Any]) -> list[Any]:
    """The fields of a structure, those that it inherits first."""
    return [row for base in reversed(cls.__mro__) for row in vars(base).get("_fields_", ())]


def declare(cls: type[ctypes.Structure], name: str | None) -> Declaration:
    """The declaration of a structure of records."""
    return Declaration(cls, name)
