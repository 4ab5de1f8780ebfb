"""Lists in lists: arrays of several dimensions whose lengths are known only at run time. And C's long doubles."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Any, Optional

import isoform
import numpy as np
import numpy.typing as npt
import pytest


@dataclass
class Cell:
    x: float
    name: str


@dataclass
class Grids:
    plain: list[list[float]]
    cube: Annotated[list[list[list[int]]], isoform.i16]
    named: Annotated[list[list[float]], isoform.f32, isoform.unit("m"), isoform.length("ny"), isoform.length("nx")]
    texts: list[list[Optional[str]]]
    cells: list[list[Cell]]
    rows: list[npt.NDArray[np.float32]]
    ny: int = 0
    more: list[list[int]] = field(default_factory=list)


GRIDS = Grids(
    [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]],
    [[[1, 2, 3]], [[4, 5, -6]]],
    [[0.5, 0.25, 0.125], [1.0, 2.0, 4.0]],
    [["a", None], ["", "\u00fc"]],
    [[Cell(1.0, "one")], [Cell(2.0, "two")]],
    [np.array([1, 2], np.float32), np.array([3, 4], np.float32)],
    2,
)


def test_lists_of_lists_come_back() -> None:
    encoder = isoform.Encoder(Grids)
    came = isoform.Decoder(Grids).decode(encoder.encode(GRIDS))
    assert np.array_equal(came.rows, GRIDS.rows)
    assert {**vars(came), "rows": 0} == {**vars(GRIDS), "rows": 0}
    fields = {line.split()[0]: line.split()[1] for line in str(encoder.format).splitlines() if line.startswith("  ")}
    assert fields["plain"] == "f64[plain_dim0][plain_dim1]"  # as Rust and C name them
    assert fields["cube"] == "i16[cube_dim0][cube_dim1][cube_dim2]"
    assert fields["named"] == "f32[ny][nx]"
    assert (fields["texts"], fields["cells"]) == ("string[texts_dim0][texts_dim1]", "Cell[cells_dim0][cells_dim1]")


@pytest.mark.parametrize("empty", [[], [[], []]])
def test_a_list_without_elements_comes_back_empty(empty: list[Any]) -> None:
    @dataclass
    class Empty:
        x: list[list[float]]

    message = isoform.Encoder(Empty).encode(Empty(empty))
    assert message.view()["x_dim0"] == len(empty)
    assert isoform.Decoder(Empty).decode(message).x == []


@pytest.mark.parametrize("ragged", [[[1.0], [2.0, 3.0]], [[1.0], 2.0], [[1.0], []]])
def test_rows_of_different_lengths_are_refused(ragged: list[Any]) -> None:
    @dataclass
    class Ragged:
        x: list[list[float]]

    with pytest.raises(isoform.Error) as fault:
        isoform.Encoder(Ragged).encode(Ragged(ragged))
    assert fault.value.path.startswith("x")


@pytest.mark.parametrize("names", [["n"], ["a", "b", "c"]])
def test_each_dimension_has_one_length(names: list[str]) -> None:
    annotation: Any = list[list[float]]
    for name in names:
        annotation = Annotated[annotation, isoform.length(name)]
    cls = type("Wrong", (), {"__annotations__": {"x": annotation}})
    with pytest.raises(isoform.BadInput, match="isoform.length for each of 2 dimensions") as fault:
        isoform.Format.of(cls)
    assert fault.value.path == "Wrong.x"


def test_more_dimensions_than_a_format_has_are_refused() -> None:
    annotation: Any = float
    for _ in range(100):
        annotation = list[annotation]
    with pytest.raises(isoform.Error):
        isoform.Format.of(type("Deep", (), {"__annotations__": {"x": annotation}}))


@dataclass
class Depths:
    ext: Annotated[float, isoform.x87]
    twin: Annotated[float, isoform.double_double]
    list: Annotated[list[float], isoform.x87]


def test_long_doubles_of_other_machines_are_floats() -> None:
    sent = Depths(0.1, -2.5, [1e300, float("inf")])
    message = isoform.Encoder(Depths).encode(sent)
    assert isoform.Decoder(Depths).decode(message) == sent
    assert [field.kind for field in message.format.fields][:2] == ["x87", "double-double"]
    assert message.body[:10] == np.longdouble(0.1).tobytes()[:10] or np.finfo(np.longdouble).nmant != 63
