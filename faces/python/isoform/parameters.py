"""Values of the parameters of sources: records of any kind, or dicts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import make_dataclass
from typing import Any

from ._isoform import Encoder, Message


def message_of(values: Any) -> Message:
    """The values as a message: of a dict, an object whose type is a type of records, a NumPy record, or a message."""
    if isinstance(values, Message):
        return values
    if isinstance(values, Mapping):
        values = _object("parameters", values)
    dtype = getattr(values, "dtype", None)
    return Encoder(type(values) if dtype is None else dtype).encode(values)


def _object(name: str, values: Mapping[str, Any]) -> Any:
    """An object with these values as fields, of a type that is made for them."""
    members = {field: _member(name, field, value) for field, value in values.items()}
    kind = make_dataclass(name, [(field, annotation) for field, (annotation, _) in members.items()])
    return kind(**{field: value for field, (_, value) in members.items()})


def _member(name: str, field: str, value: Any) -> tuple[Any, Any]:
    """The type of a field, and its value."""
    if isinstance(value, Mapping):
        inner = _object(f"{name}_{field}", value)
        return type(inner), inner
    # NumPy's numbers and arrays become Python's.
    value = value.tolist() if hasattr(value, "tolist") else value
    if isinstance(value, (list, tuple)):
        kinds = {type(element) for element in value}
        kinds = {float} if kinds == {int, float} else kinds
        if len(kinds) == 1 and (kind := kinds.pop()) in (bool, int, float, str):
            return list[kind], [kind(element) for element in value]  # type: ignore[valid-type]
    elif isinstance(value, (bool, int, float, str)):
        return type(value), value
    raise TypeError(f"{field}: expected a number, a boolean, text, a dict, or a list of one of these, found {value!r}")
