"""Records from Arrow: record batches, tables and data frames, with pyarrow."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

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
    stream = hasattr(type(records), "__arrow_c_stream__")
    found = pyarrow.table(records if stream else pyarrow.record_batch(records))
    for name in [*names, *found.column_names]:
        if name not in found.column_names or name not in names:
            expected, actual = f"the columns {', '.join(names)}", ", ".join(found.column_names)
            raise Usage(f"no such field at {path}: expected {expected}, found {actual}", Code.NoSuchField, path, expected, actual)
    return found


def array(records: Any, dtype: np.dtype[Any], path: str) -> np.ndarray[Any, np.dtype[Any]]:
    """The records of a dtype."""
    names: Any = dtype.names
    found = table(records, list(names), path).combine_chunks()
    rows = np.zeros(found.num_rows, dtype)
    for name in names:
        _fill(rows[name], found.column(name).combine_chunks(), f"{path}.{name}")
    return rows


def _fill(place: np.ndarray[Any, np.dtype[Any]], column: Any, path: str) -> None:
    pyarrow = _pyarrow(path)
    kind = column.type
    if column.null_count:
        raise wrong_type(path, "no nulls, which a dtype cannot hold", f"{column.null_count} nulls")
    if pyarrow.types.is_dictionary(kind):
        return _fill(place, column.dictionary_decode(), path)
    if place.dtype.names is not None and pyarrow.types.is_struct(kind) and place.ndim == 1:
        inner = pyarrow.Table.from_struct_array(column)
        place[...] = array(inner, place.dtype, path)
        return
    values: Any
    if pyarrow.types.is_fixed_size_list(kind) and place.ndim > 1 and place.shape[1] == kind.list_size:
        items = np.zeros((place.shape[0] * place.shape[1], *place.shape[2:]), place.dtype)
        _fill(items, column.flatten(), path)
        place[...] = items.reshape(place.shape)
        return
    if place.dtype.kind == "S" and (pyarrow.types.is_string(kind) or pyarrow.types.is_large_string(kind)):
        values = np.array([text.encode() for text in column.to_pylist()], "S")
    elif pyarrow.types.is_primitive(kind):
        values = column.to_numpy(zero_copy_only=False)
    else:
        raise wrong_type(path, f"values for {place.dtype}", str(kind))
    if values.size and (place.ndim != 1 or not np.can_cast(values.dtype, place.dtype, "safe")):
        raise wrong_type(path, f"values that {place.dtype} can hold", str(kind))
    if values.size:
        place[...] = values
