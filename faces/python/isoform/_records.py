"""Types of records (dtypes, classes, ctypes structures, formats) as encoders and decoders need them: a format, rules, and the
conversion to memory and back, or to fields and back."""

from __future__ import annotations

import ctypes
import json
from collections.abc import Set
from functools import lru_cache
from typing import Any

import numpy as np

from . import _arrow, _classes, _ctypes, _dtypes, _rows
from ._isoform import Document, Format, Kinds
from ._rows import Bytes, bytes_of
from .errors import Error, wrong_type
from .view import View



class Arrays:
    """Records of a structured dtype, which are their memory."""

    is_memory = True
    gaps: list[tuple[str, str, str, Any]] = []

    def __init__(self, dtype: np.dtype[Any], format: Format, rules: list[tuple[str, str, str, Any]]) -> None:
        self.dtype = dtype
        self.format = format
        self.rules = rules

    def memory(self, records: Any) -> Bytes:
        """The bytes of an array of records, or of one record."""
        if isinstance(records, (tuple, list, dict)):
            return _rows.memory(records, self.dtype, self.format)
        if _arrow.is_arrow(records):
            return _arrow.memory(records, self.dtype, self.format)
        return bytes_of(_rows.checked(records, self.dtype, self.format.name))

    def one_of(self, memory: Bytes) -> Any:
        return memory.view(self.dtype)[0]

    def many_of(self, memory: Bytes) -> np.ndarray[Any, np.dtype[Any]]:
        return memory.view(self.dtype)


class Structures:
    """Structures of ctypes without pointers, which are their memory."""

    is_memory = True
    rules: list[tuple[str, str, str, Any]] = []
    gaps: list[tuple[str, str, str, Any]] = []

    def __init__(self, cls: type[ctypes.Structure], format: Format) -> None:
        self.cls = cls
        self.format = format

    def memory(self, records: Any) -> Bytes:
        if self._is_one(records):
            return _bytes(records)
        if isinstance(records, ctypes.Array) and records._type_ is self.cls:
            return _bytes(records)
        if isinstance(records, (list, tuple)):
            # ctypes would also make structures of tuples, and cut integers that do not fit.
            for index, record in enumerate(records):
                if not self._is_one(record):
                    raise wrong_type(f"[{index}]", self.cls.__name__, type(record).__name__)
            return _bytes((self.cls * len(records))(*records))
        raise wrong_type(self.format.name, f"{self.cls.__name__}, or an array of it", type(records).__name__)

    def _is_one(self, record: Any) -> bool:
        """Whether it is one structure of this class, and of its size: a derived class may have more fields."""
        return isinstance(record, self.cls) and ctypes.sizeof(record) == ctypes.sizeof(self.cls)

    def one_of(self, memory: Any) -> ctypes.Structure:
        return self.cls.from_buffer(memory)

    def many_of(self, memory: Any) -> ctypes.Array[Any]:
        return (self.cls * (len(memory) // ctypes.sizeof(self.cls))).from_buffer(memory)


class Fields:
    """Records of any format: encoded from dicts and objects, decoded to views."""

    is_memory = False
    rules: list[tuple[str, str, str, Any]] = []
    #: The rules for records to send that lack fields.
    gaps: list[tuple[str, str, str, Any]] = []
    #: The arrays that must not be None, by the names of their structures.
    arrays: dict[str, list[str]] = {}
    #: The fields, each with its structure, whose defaults no rule can state. `load` gives them.
    afterwards: list[tuple[str, str]] = []

    def __init__(self, format: Format) -> None:
        self.format = format

    def one(self, record: Any) -> Any:
        return dict(record) if isinstance(record, View) else record

    def each(self, records: Any) -> tuple[list[Any], bool]:
        """The records, and whether they were several."""
        if isinstance(records, (list, tuple)):
            return [self.one(record) for record in records], True
        return [self.one(records)], False

    def load(self, fields: dict[str, Any], lacking: Set[str]) -> Any:
        return View(self.format.name, fields)


class Objects(Fields):
    """Records of a dataclass or another annotated class."""

    def __init__(self, cls: type[Any], name: str | None) -> None:
        self.declaration = _classes.declare(cls, name)
        super().__init__(self.declaration.format())
        self.cls = cls
        self.rules = self.declaration.rules()
        self.afterwards = self.declaration.afterwards()
        self.arrays = self.declaration.arrays()
        self.gaps = [rule for rule in self.rules if rule[2] == "zero"]

    def one(self, record: Any) -> Any:
        if isinstance(record, (self.cls, dict)):
            return self.declaration.complete(record)
        raise wrong_type(self.format.name, self.cls.__name__, type(record).__name__)

    def each(self, records: Any) -> tuple[list[Any], bool]:
        if isinstance(records, (self.cls, dict)):
            return [self.one(records)], False
        if _arrow.is_arrow(records):
            names = [field.name for field in self.declaration.fields]
            rows: list[Any] = _arrow.table(records, names, self.format.name).to_pylist()
            return [self.one(row) for row in rows], True
        try:
            listed = iter(records)
        except TypeError:
            raise wrong_type(self.format.name, f"{self.cls.__name__}, or several", type(records).__name__) from None
        return [self.one(record) for record in listed], True

    def load(self, fields: dict[str, Any], lacking: Set[str]) -> Any:
        return self.declaration.load(fields, lacking)


class Pointers(Fields):
    """Structures of ctypes with pointers. They are encoded but not decoded, since ctypes cannot own their targets."""

    def __init__(self, cls: type[ctypes.Structure], declaration: _ctypes.Declaration) -> None:
        super().__init__(declaration.format())
        self.cls = cls
        self.declaration = declaration

    def one(self, record: Any) -> Any:
        if not isinstance(record, self.cls):
            raise wrong_type(self.format.name, self.cls.__name__, type(record).__name__)
        return self.declaration.fields(record)


def _bytes(memory: Any) -> Bytes:
    found: Bytes = np.frombuffer(memory, np.uint8)
    return found


def writable(format: Format, memory: Any) -> Bytes:
    """The bytes of memory that a body of this format is read to. An array of records must be one of this format."""
    expected = "an array of the sender's dtype, or bytes, contiguous and writable"
    try:
        array = memory if isinstance(memory, np.ndarray) else np.asarray(memoryview(memory))
    except (TypeError, ValueError, BufferError):
        raise wrong_type("memory", expected, type(memory).__name__) from None
    if array.dtype not in (np.uint8, np.int8, np.dtype("S1")):
        sender = _dtype_or_none(format)
        if sender is None:
            raise wrong_type("memory", "bytes, since records of this sender have no dtype", f"an array of {array.dtype}")
        if not _dtypes.is_same_memory(array.dtype, sender):
            raise wrong_type("memory", f"{expected}: {sender}", f"an array of {array.dtype}")
    if not (array.flags.c_contiguous and array.flags.writeable):
        raise wrong_type("memory", expected, "a read-only array" if array.flags.c_contiguous else "a strided array")
    return array.reshape(-1).view(np.uint8)


def _dtype_or_none(format: Format) -> np.dtype[Any] | None:
    try:
        return _dtypes.dtype_of(format)
    except Error:
        return None


_TYPES = "a structured dtype, a class with annotated fields, a ctypes structure or a format"


def _shown(record: Any, fault: Exception) -> str:
    """A text for an object that is no type of records."""
    if isinstance(record, (str, list, tuple, dict)):
        return f"no dtype: {fault}"
    if isinstance(record, Kinds):
        return "Kinds, of which messages become one: use one type for each encoder and each source"
    return f"an object of {type(record).__name__}"


def kind_of(record: Any, name: str | None = None) -> Any:
    """The declaration of a type of records."""
    if not _is_dtype(record):
        return _kind_of(record, name, ())
    try:
        dtype = np.dtype(record)
    except (TypeError, ValueError, SyntaxError, RecursionError) as fault:
        raise wrong_type("record", _TYPES, _shown(record, fault)) from None
    if record is None:
        raise wrong_type("record", _TYPES, "None")
    return _kind_of(dtype, name, _dtypes.placement(dtype))


def _is_dtype(record: Any) -> bool:
    """Whether NumPy defines the type."""
    return issubclass(record, np.generic) if isinstance(record, type) else not isinstance(record, (Format, Document))


@lru_cache(maxsize=256)
def _kind_of(record: Any, name: str | None, placement: Any) -> Any:
    # The last tells dtypes apart that NumPy calls equal.
    if isinstance(record, Format):
        return _of_format(record)
    if isinstance(record, Document):
        return _of_document(record)
    if isinstance(record, type) and issubclass(record, ctypes.Structure):
        declaration = _ctypes.declare(record, name)
        format = declaration.format()
        return Pointers(record, declaration) if format.has_pointers else Structures(record, format)
    if isinstance(record, type):
        return Objects(record, name)
    return Arrays(record, *_dtypes.declared(record, name or "record"))


def _of_document(document: Document) -> Any:
    """Records of a document's format, with the defaults of the document, and the aliases that an overlay makes."""
    kind = _of_format(document.format)
    defaults = [(structure, field, "default", json.loads(value)) for structure, field, value in document._defaults]
    kind.rules = defaults + [(structure, field, "alias", name) for structure, field, name in document._aliases]
    if not kind.is_memory:
        kind.gaps = defaults
    return kind


def _of_format(format: Format) -> Any:
    """Records of a format: arrays if NumPy supports it, and otherwise fields."""
    dtype = _dtype_or_none(format)
    return Fields(format) if dtype is None else Arrays(dtype, format, [])
