"""Types of records (dtypes, classes, ctypes structures, formats) as encoders and decoders need them: a format, rules, and the
conversion to memory and back, or to fields and back."""

from __future__ import annotations

import ctypes
import json
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from . import _arrow, _classes, _ctypes, _dtypes
from ._isoform import Document, Format
from .errors import Error, check_depth, lacks, no_such_field, wrong_type
from .view import View

Bytes = npt.NDArray[np.uint8]
#: So many lists may lie within each other where NumPy makes an array of them.
_DEEPEST = 32


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
        if _arrow.is_arrow(records):
            array = _arrow.array(records, self.dtype, self.format.name)
        elif isinstance(records, (tuple, list)):
            _check_depth(self.format.name, records)
            array = _rows(records, self.dtype, self.format.name)
        elif isinstance(records, dict):
            array = _rows(records, self.dtype, self.format.name)
        else:
            array = np.asarray(records)
        if array.dtype != self.dtype:
            raise wrong_type(self.format.name, f"records of {self.dtype}", f"{array.dtype}")
        return np.ascontiguousarray(array).reshape(-1).view(np.uint8)

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
        # Of another class, derived from it, there may be more.
        if isinstance(records, self.cls) and ctypes.sizeof(records) == ctypes.sizeof(self.cls):
            return _bytes(records)
        if isinstance(records, ctypes.Array) and records._type_ is self.cls:
            return _bytes(records)
        if isinstance(records, (list, tuple)):
            return self.memory((self.cls * len(records))(*records))
        raise wrong_type(self.format.name, f"{self.cls.__name__}, or an array of it", type(records).__name__)

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

    def __init__(self, format: Format) -> None:
        self.format = format

    def one(self, record: Any) -> Any:
        return dict(record) if isinstance(record, View) else record

    def each(self, records: Any) -> list[Any]:
        return [self.one(record) for record in records] if isinstance(records, (list, tuple)) else [self.one(records)]

    def load(self, fields: dict[str, Any]) -> Any:
        return View(self.format.name, fields)


class Objects(Fields):
    """Records of a dataclass or another annotated class."""

    def __init__(self, cls: type[Any], name: str | None) -> None:
        self.declaration = _classes.declare(cls, name)
        super().__init__(self.declaration.format())
        self.cls = cls
        self.rules = self.declaration.rules()
        self.gaps = [rule for rule in self.rules if rule[2] == "zero"]

    def one(self, record: Any) -> Any:
        if isinstance(record, (self.cls, dict)):
            return self.declaration.complete(record)
        raise wrong_type(self.format.name, self.cls.__name__, type(record).__name__)

    def each(self, records: Any) -> list[Any]:
        if isinstance(records, (self.cls, dict)):
            return [self.one(records)]
        if _arrow.is_arrow(records):
            names = [field.name for field in self.declaration.fields]
            rows: list[Any] = _arrow.table(records, names, self.format.name).to_pylist()
            return [self.one(row) for row in rows]
        try:
            listed = iter(records)
        except TypeError:
            raise wrong_type(self.format.name, f"{self.cls.__name__}, or several", type(records).__name__) from None
        return [self.one(record) for record in listed]

    def load(self, fields: dict[str, Any]) -> Any:
        return self.declaration.load(fields)


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


def _check_depth(name: str, records: Any) -> None:
    """Refuses a list that contains itself: NumPy would go through it for ever."""
    first = records
    for _ in range(_DEEPEST):
        if not isinstance(first, list) or not first:
            return
        first = first[0]
    raise wrong_type(name, f"records, or lists of them that are nested at most {_DEEPEST} deep", "a deeper list")


def _rows(records: Any, dtype: np.dtype[Any], path: str) -> np.ndarray[Any, np.dtype[Any]]:
    """An array of these records: tuples, or dicts."""
    single = not isinstance(records, list)
    try:
        if not any(isinstance(record, dict) for record in ([records] if single else records)):
            return np.array(records, dtype)
    except (TypeError, ValueError, OverflowError):
        pass  # A record may lack fields that have a default, or the error below names them.
    whole = _row(records, dtype, path) if single else [_row(record, dtype, f"[{index}]") for index, record in enumerate(records)]
    try:
        return np.array(whole, dtype)
    except (TypeError, ValueError, OverflowError) as error:
        raise wrong_type(path, f"values for {dtype}", str(error)) from error


def _row(record: Any, dtype: np.dtype[Any], path: str, depth: int = 0) -> Any:
    """A record as a tuple, which has all fields."""
    check_depth(path, depth)
    names: Any = dtype.names
    fields: Any = dtype.fields
    if isinstance(record, dict):
        unknown = [name for name in record if name not in names]
        if unknown:
            raise no_such_field(path, names, unknown[0])
        given = record
    elif isinstance(record, tuple):
        if len(record) > len(names):
            raise wrong_type(path, f"{len(names)} values, for {', '.join(names)}", f"{len(record)} values")
        given = dict(zip(names, record))
    else:
        return record
    defaults = {name: _dtypes.default(fields[name][0]) for name in names if name not in given}
    lacking = [name for name, default in defaults.items() if default is None]
    if lacking:
        raise lacks(path, lacking)
    given = {**given, **defaults}
    return tuple(_inner(given[name], fields[name][0], f"{path}.{name}", depth + 1) for name in names)


def _inner(value: Any, dtype: np.dtype[Any], path: str, depth: int) -> Any:
    """The value of a field, in which records are tuples."""
    check_depth(path, depth)
    base = dtype.subdtype[0] if dtype.subdtype is not None else dtype
    if base.names is None:
        return value
    if isinstance(value, list):
        return [_inner(each, dtype, f"{path}[{index}]", depth + 1) for index, each in enumerate(value)]
    return _row(value, base, path, depth)


def _bytes(memory: Any) -> Bytes:
    found: Bytes = np.frombuffer(memory, np.uint8)
    return found


def bytes_of(array: npt.NDArray[Any]) -> Bytes:
    """The bytes of an array, in one piece."""
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8)


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


def kind_of(record: Any, name: str | None = None) -> Any:
    """The declaration of a type of records."""
    if not _is_dtype(record):
        return _kind_of(record, name, ())
    dtype = np.dtype(record)
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
