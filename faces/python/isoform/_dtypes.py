"""NumPy's structured dtypes as formats, and formats as dtypes: byte order, offsets and sizes are kept both ways."""

from __future__ import annotations

import sys
from functools import lru_cache
from typing import Any

import numpy as np

from . import declare as said
from ._isoform import Field, Format, Structure
from .errors import check_depth, declaration, wrong_type

#: What `Format._placed` takes: name, size, alignment, and of each field its name, type, size, offset and unit.
Placed = tuple[str, int, int, list[tuple[str, str, int, int, "str | None"]]]

#: What NumPy's long double is on this machine, by the bits of its fraction.
_LONG_DOUBLE = {63: "x87", 112: "float", 105: "double-double", 106: "double-double"}.get(np.finfo(np.longdouble).nmant, "")

_ADVICE = {
    "U": "text as `S`, or a dataclass with `str`",
    "O": "numbers, text or records; for lists and strings of any length, a dataclass",
    "M": "a number: view the column as `i8`, and state the unit in the name or in a dataclass",
    "m": "a number: view the column as `i8`, and state the unit in the name or in a dataclass",
    "V": "numbers, text or records; for raw bytes, an array of `u1`",
}


def declared(dtype: np.dtype[Any], name: str) -> tuple[Format, list[tuple[str, str, str, Any]]]:
    """The format of records of a structured dtype, and the rules of its fields."""
    if dtype.names is None:
        raise declaration(name, "a structured dtype", str(dtype))
    table = _Table()
    table.add(dtype, name, name)
    big = table.order == ">"
    return Format._placed(table.structures, big, 8), table.rules


def placement(dtype: np.dtype[Any], depth: int = 0) -> Any:
    """The offsets, the alignment and the notes of a dtype, since NumPy ignores them when it compares dtypes."""
    check_depth("record", depth)
    notes = _notes(dtype)
    while dtype.subdtype is not None:
        dtype = dtype.subdtype[0]
    fields = (_field(dtype, name) for name in dtype.names or ())
    inner = tuple((name, offset, placement(field, depth + 1)) for name, field, offset in fields)
    return dtype.itemsize, dtype.alignment, dtype.isalignedstruct, notes, inner


def _notes(dtype: np.dtype[Any]) -> said.Notes | None:
    """What `isoform.field` said about a field of this dtype, or about its elements."""
    metadata: Any = dtype.metadata or {}
    notes = metadata.get("isoform")
    if notes is None and dtype.subdtype is not None:
        return _notes(dtype.subdtype[0])
    return notes if isinstance(notes, said.Notes) else None


def default(dtype: np.dtype[Any]) -> Any:
    """The default of a field of this dtype, or `None`."""
    notes = _notes(dtype)
    if notes is None or notes.required or not notes.has_default:
        return None
    return np.broadcast_to(np.asarray(notes.default), dtype.shape).tolist() if dtype.shape else notes.default


class _Table:
    """The structures of a dtype, each after those that it nests, and their common byte order."""

    def __init__(self) -> None:
        self.structures: list[Placed] = []
        self.known: dict[str, np.dtype[Any]] = {}
        self.rules: list[tuple[str, str, str, Any]] = []
        self.order: str = ""

    def add(self, dtype: np.dtype[Any], name: str, path: str) -> str:
        """Adds a structure, and returns its name. One that is nested is named after its field."""
        while name in self.known and not _same(self.known[name], dtype):
            name += "_"
        if name in self.known:
            return name
        self.known[name] = dtype
        fields = [self.field(*_field(dtype, field), f"{path}.{field}") for field in dtype.names or ()]
        for field in dtype.names or ():
            notes = _notes(_field(dtype, field)[1])
            self.rules += notes.rules(name, field) if notes is not None else []
        alignment = dtype.alignment if dtype.isalignedstruct else 1
        self.structures.append((name, dtype.itemsize, alignment, fields))
        return name

    def field(
        self, name: str, dtype: np.dtype[Any], offset: int, path: str
    ) -> tuple[str, str, int, int, str | None]:
        notes = _notes(dtype)
        shape: tuple[int, ...] = ()
        while dtype.subdtype is not None:
            dtype, outer = dtype.subdtype
            shape += outer
        words, size = self.words(name, dtype, path)
        if dtype.kind == "S" and dtype.itemsize != 1:
            shape += (dtype.itemsize,)
        return name, words + "".join(f"[{length}]" for length in shape), size, offset, notes.unit if notes is not None else None

    def words(self, name: str, dtype: np.dtype[Any], path: str) -> tuple[str, int]:
        """The type of an element, and its size."""
        if dtype.names is not None:
            return f'"{self.add(dtype, identifier(name), path)}"', dtype.itemsize
        self.note_order(dtype, path)
        size = dtype.itemsize
        if dtype.kind in "iu":
            return ("integer" if dtype.kind == "i" else "unsigned integer"), size
        if dtype.kind == "b":
            return "boolean", 1
        if dtype.kind in "fc":
            part = size if dtype.kind == "f" else size // 2
            kind = "float" if part <= 8 else _LONG_DOUBLE
            return (kind if dtype.kind == "f" else f"complex {kind}"), size
        if dtype.kind == "S" and size > 0:
            return "char", 1
        raise declaration(path, _ADVICE.get(dtype.kind, "numbers, text or records"), f"dtype {dtype}")

    def note_order(self, dtype: np.dtype[Any], path: str) -> None:
        if dtype.byteorder == "|" or dtype.itemsize == 1:
            return
        order = _NATIVE if dtype.byteorder == "=" else dtype.byteorder
        if self.order and self.order != order:
            raise declaration(path, f"one byte order, {_ORDERS[self.order]} as before", _ORDERS[order])
        self.order = order


def _same(one: np.dtype[Any], other: np.dtype[Any]) -> bool:
    return one is other or one == other and placement(one) == placement(other)


def is_same_memory(one: np.dtype[Any], other: np.dtype[Any], depth: int = 0) -> bool:
    """Whether two dtypes place the same fields alike, whatever their notes are."""
    check_depth("memory", depth)
    if one.shape != other.shape or one.itemsize != other.itemsize:
        return False
    one, other = one.base, other.base
    if one.names is None or other.names is None:
        return one == other
    if set(one.names) != set(other.names):
        return False
    pairs = ((_field(one, name), _field(other, name)) for name in one.names)
    return all(a[2] == b[2] and is_same_memory(a[1], b[1], depth + 1) for a, b in pairs)


_NATIVE = "<" if sys.byteorder == "little" else ">"
_ORDERS = {"<": "little-endian", ">": "big-endian"}


def _field(dtype: np.dtype[Any], name: str) -> tuple[str, np.dtype[Any], int]:
    fields: Any = dtype.fields
    found = fields[name]
    return name, found[0], found[1]


def identifier(name: str) -> str:
    """A valid name for a structure."""
    return "".join(c if c.isalnum() or c == "_" else "_" for c in name) or "_"


@lru_cache(maxsize=256)
def dtype_of(format: Format) -> np.dtype[Any]:
    """The dtype of records of a format, in its own byte order.

    Enumerations become integers, arrays of `char` become `S`, and units are notes, as `isoform.field` makes them. What no array of fixed size can hold is refused.
    """
    return _dtype(format.structure, "<" if format.byte_order == "little" else ">", format.name)


def _dtype(structure: Structure, order: str, path: str) -> np.dtype[Any]:
    fields = structure.fields
    spec: Any = {
        "names": [field.name for field in fields],
        "formats": [_element(field, order, f"{path}.{field.name}") for field in fields],
        "offsets": [field.offset for field in fields],
        "itemsize": structure.size,
    }
    if structure.alignment > 1:
        try:
            aligned: np.dtype[Any] = np.dtype(spec, align=True)
            if aligned.itemsize == structure.size:
                return aligned
        except ValueError:
            pass  # it is aligned as another machine does it
    plain: np.dtype[Any] = np.dtype(spec)
    return plain


def _element(field: Field, order: str, path: str) -> Any:
    shape = [length for length in field.dimensions if isinstance(length, int)]
    if field.indirect or field.kind == "string" or len(shape) < len(field.dimensions):
        raise wrong_type(path, "a field of fixed size", f"{field.type}, behind a pointer")
    if field.structure is not None:
        base: Any = _dtype(field.structure, order, path)
    elif field.kind == "char":
        long = bool(shape) and shape[-1] > 1
        base = np.dtype(f"S{shape.pop() if long else 1}")
    else:
        base = np.dtype(order + _scalar(field, path))
    if field.unit is not None:
        base = said.field(base, unit=field.unit)
    return (base, tuple(shape)) if shape else base


def _scalar(field: Field, path: str) -> str:
    kind, size = field.kind, field.size
    if kind in ("integer", "enumeration") and size <= 8:
        return f"i{size}"
    if kind in ("unsigned integer", "unsigned enumeration") and size <= 8:
        return f"u{size}"
    if kind == "boolean":
        return "?" if size == 1 else f"u{size}"
    long_double = np.dtype(np.longdouble).itemsize
    if kind == "float" and size <= 8 or kind == _LONG_DOUBLE and size == long_double:
        return f"f{size}"
    if kind == "complex float" and size <= 16 or kind == f"complex {_LONG_DOUBLE}" and size == 2 * long_double:
        return f"c{size}"
    expected = "a type that NumPy has on this machine"
    if size == 16 and kind != "float" and "integer" in kind:
        expected += "; decode it as another one, such as i8 in a dtype of your own, or as an int of a dataclass, annotated as"
        expected += f" Annotated[int, isoform.{'u' if 'unsigned' in kind else 'i'}128]"
    raise wrong_type(path, expected, field.type)


def rows(format: Format, buffer: bytes, count: int, offset: int, stride: int) -> np.ndarray[Any, np.dtype[Any]]:
    """The records in a buffer, without a copy. They keep it alive, and are read-only, as `bytes` are."""
    found: np.ndarray[Any, np.dtype[Any]] = np.ndarray((count,), dtype_of(format), buffer, offset, (stride,))
    return found


def column(format: Format, values: np.ndarray[Any, np.dtype[Any]]) -> np.ndarray[Any, np.dtype[Any]]:
    """The bytes of records with one field, as an array of that field."""
    name = format.fields[0].name
    return values.view(dtype_of(format))[name]
