"""Records from Arrow: record batches, tables and data frames, with pyarrow."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

import numpy as np

from . import _rows
from ._isoform import Format
from .errors import Code, Usage, wrong_type


def is_arrow(records: Any) -> bool:
    """Whether these records are columns of Arrow."""
    return hasattr(type(records), "__arrow_c_stream__") or hasattr(type(records), "__arrow_c_array__")


def _pyarrow(path: str) -> Any:
    try:
        return import_module("pyarrow")
    except ImportError:
        raise wrong_type(path, "pyarrow, which reads columns of Arrow: pip install pyarrow", "no such module") from None


def table(records: Any, names: list[str], path: str) -> Any:
    """The columns of these names, which must be all that there are."""
    pyarrow = _pyarrow(path)
    pandas: Any = sys.modules.get("pandas")
    try:
        if pandas is not None and isinstance(records, pandas.DataFrame):
            found = _of_pandas(records, names, pyarrow)
        else:
            stream = hasattr(type(records), "__arrow_c_stream__")
            found = pyarrow.table(records if stream else pyarrow.record_batch(records))
    except (pyarrow.ArrowException, TypeError, ValueError):
        expected = "columns that are named: a record batch, a table or a data frame"
        raise wrong_type(path, expected, type(records).__name__) from None
    if sorted(names) != sorted(found.column_names):
        expected, actual = f"the columns {', '.join(names)}", ", ".join(found.column_names)
        raise Usage(f"no such field at {path}: expected {expected}, found {actual}", Code.NoSuchField, path, expected, actual)
    return found


def _of_pandas(frame: Any, names: list[str], pyarrow: Any) -> Any:
    """The columns of a data frame of pandas, and those of its index that are fields. pyarrow would turn NaN into null, and every index
    into a column."""
    columns = [(str(name), values) for name, values in frame.items()]
    known = [name for name, _ in columns]
    levels = [(name, frame.index.get_level_values(level)) for level, name in enumerate(frame.index.names)]
    columns += [(name, values) for name, values in levels if name in names and name not in known]

    def array(values: Any) -> Any:
        is_plain = isinstance(values.dtype, np.dtype) and values.dtype.kind in "iufb"
        return pyarrow.array(values.to_numpy()) if is_plain else pyarrow.array(values, from_pandas=True)

    return pyarrow.Table.from_arrays([array(values) for _, values in columns], names=[name for name, _ in columns])


def memory(records: Any, dtype: np.dtype[Any], format: Format) -> _rows.Bytes:
    """The bytes of records of a dtype. A column is converted as a whole if all its values certainly fit. If a column is not, all records
    are checked value by value, which finds a value that does not fit."""
    names: Any = dtype.names
    found = table(records, list(names), format.name).combine_chunks()
    rows = np.zeros(found.num_rows, dtype)
    for name in names:
        column = found.column(name).combine_chunks()
        if column.null_count:
            row = column.is_null().to_pylist().index(True)
            raise wrong_type(f"[{row}].{name}", "a value, since a dtype holds no nulls", "null")
        if not _fill(rows[name], column, format.name):
            return _rows.memory(found.to_pylist(), dtype, format)
    return _rows.bytes_of(rows)


def _fill(place: np.ndarray[Any, np.dtype[Any]], column: Any, path: str) -> bool:
    """Stores the values of a column if they all certainly fit. Returns whether they do."""
    pyarrow = _pyarrow(path)
    kind = column.type
    if column.null_count:
        return False
    if pyarrow.types.is_dictionary(kind):
        return _fill(place, column.dictionary_decode(), path)
    if place.dtype.names is not None and pyarrow.types.is_struct(kind) and place.ndim == 1:
        names = [field.name for field in kind]
        fields = zip(names, column.flatten())
        return sorted(names) == sorted(place.dtype.names) and all(_fill(place[name], field, path) for name, field in fields)
    if pyarrow.types.is_fixed_size_list(kind) and place.ndim > 1 and place.shape[1] == kind.list_size:
        items = np.zeros((place.shape[0] * place.shape[1], *place.shape[2:]), place.dtype)
        is_whole = _fill(items, column.flatten(), path)
        place[...] = items.reshape(place.shape)
        return is_whole
    if place.ndim != 1 or place.dtype.names is not None:
        return False
    if place.dtype.kind == "S" and (pyarrow.types.is_string(kind) or pyarrow.types.is_large_string(kind)):
        texts = [text.encode() for text in column.to_pylist()]
        if max(map(len, texts), default=0) > place.dtype.itemsize:
            return False
        place[...] = texts
        return True
    if not (pyarrow.types.is_integer(kind) or pyarrow.types.is_floating(kind) or pyarrow.types.is_boolean(kind)):
        return False
    values = column.to_numpy(zero_copy_only=False)
    if not _fit(values, place.dtype):
        return False
    with np.errstate(under="ignore"):
        place[...] = values
    return True


def _fit(values: np.ndarray[Any, np.dtype[Any]], dtype: np.dtype[Any]) -> bool:
    """Whether all these numbers certainly fit a dtype, by `spec/conversion.md`. The answer may be no although they fit."""
    pair = values.dtype.kind + dtype.kind
    if pair in ("bb", "bi", "bu", "bf"):
        return True
    if pair in ("ii", "iu", "ui", "uu"):
        limits = np.iinfo(dtype)
        return not values.size or (limits.min <= int(values.min()) and int(values.max()) <= limits.max)
    if pair in ("if", "uf"):
        # Floats of this type hold all integers up to this one exactly.
        most = 2 ** (np.finfo(dtype).nmant + 1)
        return not values.size or (-most <= int(values.min()) and int(values.max()) <= most)
    if pair == "ff":
        with np.errstate(over="ignore", under="ignore"):
            converted = values.astype(dtype)
        return bool(np.all((np.isfinite(converted) | ~np.isfinite(values)) & ((converted != 0) | (values == 0))))
    return False
