"""Records for a dtype that are not in an array: dicts, tuples, and lists of them. Rust checks their values one by one, as it checks
those of a dataclass. NumPy would cut, round, parse or repeat values that do not fit."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from . import _dtypes
from ._isoform import Format
from .errors import check_depth, lacks, no_such_field, wrong_type

Bytes = npt.NDArray[np.uint8]
#: The most lists of records that may lie within each other.
_DEEPEST = 32
_ONE = "a record: a dict, a tuple, or a row of an array of its dtype"


def memory(records: Any, dtype: np.dtype[Any], format: Format) -> Bytes:
    """The bytes of a record, or of a list of them."""
    if not isinstance(records, list):
        return format._bodies([_row(records, dtype, "")], [""])
    if all(type(record) is np.void and record.dtype == dtype for record in records):
        return bytes_of(np.array(records, dtype))
    found: list[tuple[str, Any]] = []
    _list(records, dtype, "", 0, found)
    return format._bodies([_row(record, dtype, path) for path, record in found], [path for path, _ in found])


def checked(records: Any, dtype: np.dtype[Any], path: str) -> np.ndarray[Any, np.dtype[Any]]:
    """An array of records, or one of its rows, as an array of this dtype without masked values."""
    array: np.ndarray[Any, np.dtype[Any]] = np.asarray(records)
    if array.dtype != dtype:
        kind = type(records).__name__
        is_array = isinstance(records, (np.ndarray, np.generic))
        found = f"records of {array.dtype}" if array.dtype.names is not None else f"{kind} of {array.dtype}" if is_array else kind
        raise wrong_type(path, f"records of {dtype}, as an array, as a dict or a tuple, or as a list of these", found)
    if isinstance(records, np.ma.MaskedArray) and _is_masked(np.ma.getmaskarray(records)):
        raise wrong_type(path, "values for all fields", "a masked value")
    return array


def bytes_of(array: npt.NDArray[Any]) -> Bytes:
    """The bytes of an array, in one piece."""
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8)


def _is_masked(mask: np.ndarray[Any, np.dtype[Any]]) -> bool:
    if mask.dtype.names is None:
        return bool(mask.any())
    return any(_is_masked(mask[name]) for name in mask.dtype.names)


def _list(records: list[Any], dtype: np.dtype[Any], path: str, depth: int, found: list[tuple[str, Any]]) -> None:
    """Adds the records of a list, which may be nested, with their paths."""
    if depth == _DEEPEST:
        raise wrong_type(path, f"records, or lists of them that are nested at most {_DEEPEST} deep", "a deeper list")
    for index, record in enumerate(records):
        at = f"{path}[{index}]"
        if isinstance(record, list):
            _list(record, dtype, at, depth + 1, found)
        elif isinstance(record, np.ndarray):
            found += [(at, row) for row in checked(record, dtype, at).reshape(-1)]
        else:
            found.append((at, record))


def _row(record: Any, dtype: np.dtype[Any], path: str, depth: int = 0) -> Any:
    """A record as a dict that has all fields, or as a row of this dtype."""
    check_depth(path, depth)
    names: Any = dtype.names
    if isinstance(record, np.void) and record.dtype.names is not None:
        if record.dtype == dtype:
            return record
        record = {name: record[name] for name in record.dtype.names}
    if isinstance(record, tuple):
        if len(record) > len(names):
            raise wrong_type(path, f"{len(names)} values, for {', '.join(names)}", f"{len(record)} values")
        record = dict(zip(names, record))
    if not isinstance(record, dict):
        raise wrong_type(path, _ONE, type(record).__name__)
    unknown = [name for name in record if name not in names]
    if unknown:
        raise no_such_field(path, names, unknown[0])
    fields: Any = dtype.fields
    if len(record) < len(names):
        defaults = {name: _dtypes.default(fields[name][0]) for name in names if name not in record}
        lacking = [name for name, default in defaults.items() if default is None]
        if lacking:
            raise lacks(path, lacking)
        record = {**record, **defaults}
    within = {
        name: _inner(record[name], fields[name][0].base, fields[name][0].ndim, f"{path}.{name}" if path else name, depth + 1)
        for name in _nested(dtype)
    }
    return {**record, **within} if within else record


@lru_cache(maxsize=256)
def _nested(dtype: np.dtype[Any]) -> list[str]:
    """The fields that are records."""
    return [name for name in dtype.names or () if dtype[name].base.names is not None]


def _inner(value: Any, dtype: np.dtype[Any], rank: int, path: str, depth: int) -> Any:
    """A record, or an array of them of this rank."""
    if rank == 0:
        return _row(value, dtype, path, depth)
    if not isinstance(value, (list, tuple, np.ndarray)):
        raise wrong_type(path, f"a list of records of {dtype}", type(value).__name__)
    return [_inner(each, dtype, rank - 1, f"{path}[{index}]", depth) for index, each in enumerate(value)]
