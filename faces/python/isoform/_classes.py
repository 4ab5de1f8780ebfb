"""Dataclasses and other annotated classes as formats, laid out as the C compiler of this machine would."""

from __future__ import annotations

import collections.abc
import ctypes
import dataclasses
import enum
import typing
from collections.abc import Callable, Set
from typing import TYPE_CHECKING, Any, Union

import numpy as np

from . import declare as said
from ._isoform import Format
from .errors import check_nesting, declaration, too_deep

if TYPE_CHECKING:
    from typing_extensions import TypeGuard

_PLAIN = {bool: said.boolean, int: said.i64, float: said.f64, complex: said.c128, str: said.string, bytes: said.string}
#: What an array can be annotated as. Of others, NumPy arrays have their own.
_LISTS = (list, tuple, collections.abc.Sequence)
_MISSING = dataclasses.MISSING


class _Field:
    """A field of a class: its type, and the conversion from a received value to an attribute of the class."""

    def __init__(self, name: str, annotation: Any, default: Any, known: Known, path: str) -> None:
        self.name = name
        self.factory: Callable[[], Any] | None = None
        if isinstance(default, _Factory):
            self.factory, default = default.make, default.make()
        self.default = default
        self.path = path
        self.known = known
        self.notes = list(getattr(annotation, "__metadata__", ()))
        self._check_notes()
        self.python = _resolved(annotation.__origin__ if self.notes else annotation)
        #: The names of the fields with its lengths, the first dimension first.
        self.lengths: list[str] = []
        self.nested: Declaration | None = None
        self.enum: type[enum.Enum] | None = None
        self.words = self._words()
        if self.lengths and default is not _MISSING and default is not None and not hasattr(default, "__len__"):
            raise declaration(path, "a list, a tuple or an array as the default of an array", repr(default))

    def _check_notes(self) -> None:
        """Refuses notes that a program meant for Isoform, and that mean nothing. Ignores objects of other packages."""
        for note in self.notes:
            if isinstance(note, (str, bytes, int, float, type, np.dtype)):
                expected = "a type such as isoform.i32 or isoform.f32[3], isoform.unit(..), .alias(..), .length(..) or .required"
                raise declaration(self.path, f"in Annotated {expected}", _shown(note))
        for kind, word in ((said.Type, "type"), (said.Unit, "unit")):
            if len(self.note(kind)) > 1:
                raise declaration(self.path, f"one {word}", ", ".join(map(repr, self.note(kind))))

    def note(self, kind: type[Any]) -> list[Any]:
        return [note for note in self.notes if isinstance(note, kind)]

    def _words(self) -> str:
        python, pointer = _without_none(self.python)
        self.optional = pointer
        types = self.note(said.Type)
        element, rank = _element_of(python, self.path)
        explicit: said.Type | None = types[0] if types else None
        words = explicit.words if explicit and explicit.words else self._element(element)
        if explicit and explicit.words and _is_enum(element):
            self.enum = element
        elif explicit and explicit.words and self._is_class(element):
            raise declaration(self.path, "a class, or a type", f"{explicit.words} for {element.__name__}")
        shape: tuple[Any, ...] = explicit.shape if explicit else ()
        if rank and not shape:
            self.lengths = self._lengths(rank)
            return words + "".join(f'["{length}"]' for length in self.lengths)
        if shape:
            return words + "".join(f"[{length}]" for length in shape)
        return f"{words}*" if pointer and words != "string" else words

    def _lengths(self, rank: int) -> list[str]:
        """The names of its lengths: as noted, or as every language names them."""
        names = [note.name for note in self.note(said.Length)]
        if names and len(names) != rank:
            expected = f"isoform.length for each of {rank} dimensions, or for none"
            raise declaration(self.path, expected, ", ".join(names))
        return names or ([f"{self.name}_len"] if rank == 1 else [f"{self.name}_dim{axis}" for axis in range(rank)])

    def _element(self, python: Any) -> str:
        """The type on the wire of a Python type. Texts in a list may be None, as all pointers."""
        inner, optional = _without_none(python)
        if optional and inner in (str, bytes):
            return said.string.words
        if python in _PLAIN:
            return _PLAIN[python].words
        if isinstance(python, type) and issubclass(python, np.generic):
            dtype = np.dtype(python)
            letters = {"i": "i", "u": "u", "f": "f", "b": "bool", "c": "complex f"}
            if dtype.kind in letters:
                bits = "" if dtype.kind == "b" else str(8 * dtype.itemsize // (2 if dtype.kind == "c" else 1))
                return letters[dtype.kind] + bits
        if _is_enum(python):
            return self._enumeration(python)
        if self._is_class(python):
            self.nested = _declared(python, None, self.known)
            return f'"{self.nested.name}"'
        expected = "int, float, bool, complex, str, bytes, an Enum, a class, a list or an array of these, or Annotated with a type"
        if optional:
            expected = "elements without None, since only texts (str, bytes) may be None; a missing float can be nan"
            raise declaration(self.path, expected, str(python))
        raise declaration(self.path, expected, getattr(python, "__name__", str(python)))

    @staticmethod
    def _is_class(python: Any) -> bool:
        return isinstance(python, type) and python.__module__ != "builtins" and bool(
            getattr(python, "__annotations__", None)
        )

    def _enumeration(self, python: type[enum.Enum]) -> str:
        self.enum = python
        values = {name: member.value for name, member in python.__members__.items() if member.name == name}
        wrong = [name for name, value in values.items() if not isinstance(value, int)]
        if wrong:
            raise declaration(self.path, "members that are integers", f"{wrong[0]} = {values[wrong[0]]!r}")
        return "enumeration{" + ",".join(f"{name}={int(value)}" for name, value in values.items()) + "}"

    def rules(self, structure: str) -> list[tuple[str, str, str, Any]]:
        rules: list[tuple[str, str, str, Any]] = []
        rules += [(structure, self.name, "alias", note.name) for note in self.note(said.Alias)]
        rules += [(structure, self.name, "required", True) for _ in self.note(said.Required)]
        is_none = self.default is None and self.can_be_none or self.default is _MISSING and self.optional
        if is_none and not self.note(said.Required):
            rules.append((structure, self.name, "zero", True))
        elif self.default is _MISSING or self.default is None or self.is_afterwards:
            pass
        elif not self.lengths:
            rules.append((structure, self.name, "default", self.default))
        else:
            rules.append((structure, self.name, "zero", True))
        return rules

    @property
    def is_afterwards(self) -> bool:
        """Whether no rule of conversion can state its default: that of a pointer, a record, or an array of any length. The class gives
        such a default after the conversion."""
        if not self.has_default or self.default is None:
            return False
        if self.lengths and not self.optional and len(self.default) == 0:
            return False
        return bool(self.lengths) or self.nested is not None or self.words.endswith("*")

    def given(self) -> Any:
        """Its default, made anew for each record."""
        return self.default if self.factory is None else self.factory()

    @property
    def has_default(self) -> bool:
        """Whether a dict may lack the field. A default of `None` is one of a field that can be `None`."""
        return not self.note(said.Required) and self.default is not _MISSING and (self.default is not None or self.can_be_none)

    @property
    def can_be_none(self) -> bool:
        """Whether `None` is a value of the field: it is `Optional`, or a text of any length."""
        return self.optional or self.words == said.string.words

    def load(self, value: Any, lacking: Set[str] = frozenset(), path: str = "") -> Any:
        """Converts a received value to an attribute of the class. The sender lacks the fields at the paths `lacking`."""
        if value is None:
            return None
        if self.nested is not None or self.enum is not None:
            return self._each(value, lacking, path)
        python, _ = _without_none(self.python)
        if isinstance(value, np.ndarray):
            if python is np.ndarray or typing.get_origin(python) is np.ndarray:
                return value
            values = value.tolist()
            return tuple(values) if (typing.get_origin(python) or python) is tuple else values
        if isinstance(value, str) and python is bytes:
            return value.encode("utf-8", "surrogateescape")
        return value

    def _each(self, value: Any, lacking: Set[str], path: str) -> Any:
        if isinstance(value, (list, np.ndarray)):
            within = path if path.endswith("[]") else f"{path}[]"
            return [self._each(item, lacking, within) for item in value]
        if self.enum is not None:
            return self.enum[value]
        return self.nested.load(value, lacking, f"{path}.") if self.nested is not None and value is not None else None


class Known(dict[Any, "Declaration"]):
    """The declarations of classes, each after those that it nests, and the classes whose fields are being declared."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[Any] = []


class Declaration:
    """A class, its fields, and those of the classes that it nests."""

    def __init__(self, cls: type[Any], name: str | None, known: Known) -> None:
        self.cls = cls
        self.name = name or cls.__name__
        self.known = known
        try:
            hints = typing.get_type_hints(cls, include_extras=True)
        except RecursionError:
            found = "an alias that contains itself, or lists in lists, deeper than Python goes"
            raise too_deep(self.name, "annotations that are nested less deep, and do not contain themselves", found) from None
        except NameError as fault:
            expected = "annotations with names that the module of the class knows, not only a function"
            raise declaration(self.name, expected, str(fault)) from None
        defaults = _defaults(cls)
        for field in dataclasses.fields(cls) if dataclasses.is_dataclass(cls) else ():
            if not field.init:
                expected = "a field that the class can be made with, or a ClassVar"
                raise declaration(f"{self.name}.{field.name}", expected, "field(init=False)")
        self.fields = [
            _Field(field, hint, defaults.get(field, _MISSING), known, f"{self.name}.{field}")
            for field, hint in hints.items()
            if typing.get_origin(hint) is not typing.ClassVar
        ]
        self.names = {field.name for field in self.fields}
        self.lengths = {length for field in self.fields for length in field.lengths}
        known[cls] = self

    def table(self) -> tuple[str, list[tuple[str, str, str | None]]]:
        """Its fields, with the length of each array after it, unless that is a field of the class."""
        own = {field.name for field in self.fields}
        rows: list[tuple[str, str, str | None]] = []
        for field in self.fields:
            units = [note.name for note in field.note(said.Unit)]
            rows.append((field.name, field.words, units[0] if units else None))
            for length in field.lengths:
                if length not in own:
                    own.add(length)
                    rows.append((length, "u64", None))
        return self.name, rows

    def format(self) -> Format:
        return Format._declared([declaration.table() for declaration in self.known.values()])

    def rules(self) -> list[tuple[str, str, str, Any]]:
        return [rule for each in self.known.values() for field in each.fields for rule in field.rules(each.name)]

    def afterwards(self) -> list[tuple[str, str]]:
        """The fields whose defaults the classes give after the conversion: the structure of each, and its name there."""
        return [(each.name, field.name) for each in self.known.values() for field in each.fields if field.is_afterwards]

    def arrays(self) -> dict[str, list[str]]:
        """The arrays of any length that are not `Optional`, by the names of their structures."""
        return {
            each.name: [field.name for field in each.fields if field.lengths and not field.optional]
            for each in self.known.values()
        }

    def complete(self, record: Any) -> Any:
        """A dict with the defaults of the fields that it lacks, also in the records that it nests."""
        if not isinstance(record, dict):
            return record
        whole = dict(record)
        for field in self.fields:
            if field.name in whole:
                if field.nested is not None:
                    whole[field.name] = field.nested.complete_each(whole[field.name])
            elif field.has_default and field.name not in self.lengths:
                whole[field.name] = field.given()
            elif field.nested is not None and field.words == f'"{field.nested.name}"':
                whole[field.name] = field.nested.complete({})
        return whole

    def complete_each(self, records: Any) -> Any:
        """A dict, or a list of dicts, with their defaults."""
        if isinstance(records, (list, tuple)):
            return [self.complete(record) for record in records]
        return self.complete(records)

    def load(self, fields: typing.Mapping[str, Any], lacking: Set[str] = frozenset(), outer: str = "") -> Any:
        """The object of these fields, at the path `outer`. Fields at the paths `lacking`, which the sender lacks, become their defaults."""
        values: dict[str, Any] = {}
        for field in self.fields:
            path = f"{outer}{field.name}" if lacking else ""
            if path not in lacking:
                values[field.name] = field.load(fields[field.name], lacking, path)
                continue
            values[field.name] = field.given()
            lengths = [length for length in field.lengths[:1] if length in values or length in fields]
            values.update({length: len(values[field.name]) for length in lengths if length in self.names})
        if dataclasses.is_dataclass(self.cls) or hasattr(self.cls, "_fields"):
            return self.cls(**values)
        record = object.__new__(self.cls)
        for name, value in values.items():
            setattr(record, name, value)
        return record


def declare(cls: type[Any], name: str | None) -> Declaration:
    """The declaration of a class of records."""
    return _declared(cls, name, Known())


def _declared(cls: type[Any], name: str | None, known: Known) -> Declaration:
    if cls in known:
        return known[cls]
    check_nesting(cls, known.open)
    if not getattr(cls, "__annotations__", None):
        is_union = issubclass(cls, ctypes.Union)
        expected = "a structure, since a union does not say which field it has" if is_union else "a class with annotated fields"
        raise declaration(cls.__name__, expected, "ctypes.Union" if is_union else "none")
    known.open.append(cls)
    try:
        return Declaration(cls, name, known)
    finally:
        known.open.pop()


class _Factory:
    """The function that makes the default of a field."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self.make = make


def _defaults(cls: type[Any]) -> dict[str, Any]:
    if dataclasses.is_dataclass(cls):
        return {field.name: _default(field) for field in dataclasses.fields(cls)}
    named = getattr(cls, "_field_defaults", None)
    if named is not None:
        return dict(named)
    # What `__slots__` and properties leave in a class is no value.
    return {name: value for name, value in vars(cls).items() if name[0] != "_" and not hasattr(type(value), "__set__")}


def _default(field: dataclasses.Field[Any]) -> Any:
    return field.default if field.default_factory is _MISSING else _Factory(field.default_factory)


def _resolved(python: Any) -> Any:
    """The type that an alias such as `numpy.typing.NDArray` stands for."""
    args = typing.get_args(python)
    value = getattr(typing.get_origin(python) or python, "__value__", None)
    if value is None:
        return python
    return value[args] if args else value


def _shown(note: Any) -> str:
    """A note as a program writes it."""
    ours = {said.Unit: "isoform.unit", said.Alias: "isoform.alias", said.Length: "isoform.length"}
    if isinstance(note, type):
        return f"{ours[note]} without its name" if note in ours else f"the class {note.__name__}"
    return repr(note)


def _is_enum(python: Any) -> TypeGuard[type[enum.Enum]]:
    return isinstance(python, type) and issubclass(python, enum.Enum)


def _without_none(python: Any) -> tuple[Any, bool]:
    """`T` of `T | None`, and whether the type was optional."""
    if typing.get_origin(python) is Union or type(python).__name__ == "UnionType":
        others = [each for each in typing.get_args(python) if each is not type(None)]
        if len(others) == 1 and len(others) < len(typing.get_args(python)):
            return _resolved(others[0]), True
    return python, False


def _element_of(python: Any, path: str) -> tuple[Any, int]:
    """The element of a list or an array, and its dimensions: of lists in lists as many as they are deep."""
    rank = 0
    while True:
        element, is_array = _element_once(python, path)
        if not is_array:
            return python, rank
        python, rank = element, rank + 1


def _element_once(python: Any, path: str) -> tuple[Any, bool]:
    """The element of a list or an array, and whether it is one."""
    origin = typing.get_origin(python)
    if origin is np.ndarray or python is np.ndarray:
        args = typing.get_args(python)
        scalar = typing.get_args(args[1]) if len(args) > 1 else ()
        return (scalar[0] if scalar else float), True
    if origin in _LISTS:
        args = tuple(arg for arg in typing.get_args(python) if arg is not Ellipsis)
        if len(args) != 1:
            raise declaration(path, "a list of one type", str(python))
        return args[0], True
    if python in _LISTS:
        return float, True
    return python, False
