"""Lets others listen to values, by one line for each place."""

from __future__ import annotations

import atexit
import enum
import warnings
from collections.abc import Iterator, Mapping
from typing import Any

from ._isoform import Emitting, _Place, _Symbols

_places: dict[str, _Place] = {}
#: The symbols of a class of `Enum`, and the number of each member.
_symbols: dict[type[enum.Enum], tuple[_Symbols, dict[enum.Enum, int]]] = {}
#: What was said of the records of a name that could not be sent.
_warned: dict[str, set[str]] = {}
#: So many different reasons are said of a name.
_REASONS = 10
#: Below this number, every integer is a number of 64 bits with a point, too.
_EXACT = 2.0**53


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
    Masked values are refused, and so are integers that NumPy would round: ``[2**53 + 1, 0.5]``.
    If nobody listens, nothing is done with them, and the record is only numbered. Nobody can before `emit_start`. A record that cannot be sent, such as one with
    `None` or a NUL in a text, is dropped and counted: whoever listens does not stop the program. `emit_failed` has the count, and
    a `RuntimeWarning` says what was wrong, once for each name and reason, of which it says ten. If no channel can have the name, every record
    of that name is dropped, counted and warned about.
    """
    place = _places.get(name)
    if place is None:
        place = _places[name] = _Place(name)
    if not place.begin():
        return
    try:
        if units:
            _check(units, values)
        given = [_value(field, units.get(field) if units else None, value) for field, value in values.items()]
        wrong = place.emit(given)
    except Exception as error:  # whatever a value does when it is made an array
        place.fail()
        wrong = str(error)
    if wrong is not None:
        _warn(name, wrong)


def emit_failed() -> int:
    """The number of records that could not be emitted although somebody listened, and of those whose names no channel can have."""
    return _Place.failed()


def _warn(name: str, error: str) -> None:
    said = _warned.setdefault(name, set())
    if error not in said and len(said) < _REASONS:
        said.add(error)
        warnings.warn(f"{name} is not emitted: {error}", RuntimeWarning, stacklevel=3)


def _check(units: Any, values: dict[str, Any]) -> None:
    if not isinstance(units, Mapping):
        raise TypeError(f"expected a dict of units, such as {{'depth': 'm'}}, and then values by name, found {type(units).__name__}")
    for field, unit in units.items():
        if unit is not None and not isinstance(unit, str):
            raise TypeError(f"{field}: expected text as its unit, found {type(unit).__name__}")
    if not units.keys() <= values.keys():
        lacking = ", ".join(str(field) for field in units.keys() - values.keys())
        raise ValueError(f"there is a unit for {lacking}, and no such value; values are given by name: emit(name, units, depth=depth)")


def _value(name: str, unit: str | None, value: Any) -> tuple[Any, ...]:
    if isinstance(value, enum.Enum) and not isinstance(value, enum.Flag):
        symbols, numbers = _symbols.get(type(value)) or _symbols_of(type(value))
        return (name, unit, symbols, numbers[value])
    if isinstance(value, str):
        if not value.isascii():
            _check_text(name, value)
        return (name, unit, value)
    import numpy as np

    if isinstance(value, np.ndarray):
        array = value
        if np.ma.is_masked(value):
            raise TypeError(f"{name}: expected values, found a masked value")
    else:
        array = _array(name, value)
    if array.dtype.kind not in "biufc":
        is_array = array.ndim > 0 or hasattr(value, "__array__") and not isinstance(value, np.generic)
        raise TypeError(f"{name}: expected numbers, booleans or text, found {array.dtype if is_array else type(value).__name__}")
    native = array.astype(array.dtype.newbyteorder("="), copy=False)
    dims = list(native.shape) if native.ndim > 0 else None
    return (name, unit, native.dtype.kind, native.dtype.itemsize, dims, native.tobytes())


def _check_text(name: str, text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError as fault:
        raise ValueError(f"{name}: expected text that UTF-8 can represent, found a lone surrogate at index {fault.start}") from None


def _array(name: str, value: Any) -> Any:
    """What NumPy makes of a value that is no array, unless it has masked values or integers that NumPy would round."""
    import numpy as np

    is_list = isinstance(value, (list, tuple))
    if is_list and _has_masked(value):
        raise TypeError(f"{name}: expected values, found a masked value")
    array = np.asarray(value)
    if is_list and array.dtype.kind in "fc" and not bool((np.abs(array) < _EXACT).all()):
        numbers = [number for leaf in _leaves(value) for number in np.ravel(np.asarray(leaf)).tolist()]
        integers = [number for number in numbers if type(number) is int]
        if integers and len(integers) == len(numbers) and 0 <= min(integers) and max(integers) < 2**64:
            return np.array(value, np.uint64)
        rounded = [number for number in integers if number != int(float(number))]
        if rounded:
            raise TypeError(f"{name}: expected numbers that one type holds exactly, found {rounded[0]}, which NumPy would round")
    return array


def _has_masked(values: Any) -> bool:
    import numpy as np

    kinds = set(map(type, values))
    if any(issubclass(kind, np.ma.MaskedArray) for kind in kinds) and any(
        np.ma.is_masked(each) for each in values if isinstance(each, np.ma.MaskedArray)
    ):
        return True
    is_nested = any(issubclass(kind, (list, tuple)) for kind in kinds)
    return is_nested and any(_has_masked(each) for each in values if isinstance(each, (list, tuple)))


def _leaves(value: Any) -> Iterator[Any]:
    for each in value:
        if isinstance(each, (list, tuple)):
            yield from _leaves(each)
        else:
            yield each


def _symbols_of(kind: type[enum.Enum]) -> tuple[_Symbols, dict[enum.Enum, int]]:
    members = list(kind)  # each once, by its first name
    has_numbers = all(isinstance(member.value, int) for member in members)
    numbers = {member: int(member.value) if has_numbers else place for place, member in enumerate(members)}
    made = _symbols[kind] = _Symbols([(member.name, number) for member, number in numbers.items()]), numbers
    return made
