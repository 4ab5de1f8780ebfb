"""Lets others listen to values, by one line for each place."""

from __future__ import annotations

import atexit
import enum
import warnings
from collections.abc import Mapping
from typing import Any

from ._isoform import Emitting, _Place, _Symbols

_places: dict[str, _Place] = {}
#: The symbols of a class of `Enum`, and the number of each member.
_symbols: dict[type[enum.Enum], tuple[_Symbols, dict[enum.Enum, int]]] = {}
#: Names of which it was said that a record could not be sent.
_warned: set[str] = set()


def emit_start(name: str) -> Emitting:
    """Submits what this process emits to channels, until the result is closed or the process ends. `name` is that of the program
    for ``isoform emitting``. A process does so once at a time: otherwise `Unavailable` is raised. A forked process emits nothing until it calls
    this itself."""
    emitting = Emitting(name)
    atexit.register(emitting.close)
    return emitting


def emit(name: str, units: Mapping[str, str] | None = None, /, **values: Any) -> None:
    """Emits a record of these values to whoever listens to the channel of this name: ``river.step`` for ``river/step``.

    Values are numbers, booleans, text, members of an `enum.Enum`, NumPy arrays of numbers of any dimensions, and what ``numpy.asarray`` makes
    such an array of. A member is emitted by its name, with all symbols of its class. Their numbers are the values, or the order of the
    members if the values are not all integers. A `Flag` is its number.
    If nobody listens, nothing is done with them. Nobody can before `emit_start`. A record that cannot be sent, such as one with
    `None` or a NUL in a text, is dropped and counted: whoever listens does not stop the program. `emit_failed` has the count, and
    a `RuntimeWarning` says once for each name what was wrong.
    """
    place = _places.get(name)
    if place is None:
        place = _places[name] = _Place(name)
    if not place.heard:
        return
    try:
        given = [_value(field, units.get(field) if units else None, value) for field, value in values.items()]
        if units and not units.keys() <= values.keys():
            raise ValueError(f"there is a unit for {', '.join(units.keys() - values.keys())}, and no such value")
        wrong = place.emit(given)
    except Exception as error:  # whatever a value does when it is made an array
        place.fail()
        wrong = str(error)
    if wrong is not None:
        _warn(name, wrong)


def emit_failed() -> int:
    """The number of records that somebody listened to, and that could not be emitted."""
    return _Place.failed()


def _warn(name: str, error: str) -> None:
    if name not in _warned:
        _warned.add(name)
        warnings.warn(f"{name} is not emitted: {error}", RuntimeWarning, stacklevel=3)


def _value(name: str, unit: str | None, value: Any) -> tuple[Any, ...]:
    if isinstance(value, enum.Enum) and not isinstance(value, enum.Flag):
        symbols, numbers = _symbols.get(type(value)) or _symbols_of(type(value))
        return (name, unit, symbols, numbers[value])
    if isinstance(value, str):
        return (name, unit, value)
    import numpy as np

    is_array = isinstance(value, (list, tuple, np.ndarray)) or hasattr(value, "__array__") and not isinstance(value, np.generic)
    array = np.asarray(value)
    if array.dtype.kind not in "biufc":
        raise TypeError(f"{name}: expected numbers, booleans or text, found {array.dtype if is_array else type(value).__name__}")
    native = array.astype(array.dtype.newbyteorder("="), copy=False)
    dims = list(native.shape) if is_array and native.ndim > 0 else None
    return (name, unit, native.dtype.kind, native.dtype.itemsize, dims, native.tobytes())


def _symbols_of(kind: type[enum.Enum]) -> tuple[_Symbols, dict[enum.Enum, int]]:
    members = list(kind)  # each once, by its first name
    has_numbers = all(isinstance(member.value, int) for member in members)
    numbers = {member: int(member.value) if has_numbers else place for place, member in enumerate(members)}
    made = _symbols[kind] = _Symbols([(member.name, number) for member, number in numbers.items()]), numbers
    return made
