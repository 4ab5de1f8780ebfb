"""Types that contain themselves, or nest too deep, are errors and no `RecursionError`."""

from __future__ import annotations

import ctypes
import sys
from dataclasses import dataclass, make_dataclass
from typing import Any, Optional

import isoform
import numpy as np
import pytest


@dataclass
class Tree:
    value: int
    children: list[Tree]


@dataclass
class Chain:
    next: Optional[Link]


@dataclass
class Link:
    chain: Chain


class Node(ctypes.Structure):
    pass


Node._fields_ = [("value", ctypes.c_int), ("next", ctypes.POINTER(Node))]


@pytest.mark.parametrize("record", [Tree, Chain, Link, Node])
def test_a_class_that_contains_itself_is_refused(record: Any) -> None:
    for _ in range(2):
        with pytest.raises(isoform.BadInput, match="a class that does not contain itself") as fault:
            isoform.Format.of(record)
        assert fault.value.code == isoform.Code.Declaration


def test_an_annotation_that_nests_too_deep_is_refused() -> None:
    annotation: Any = float
    for _ in range(10 * sys.getrecursionlimit()):
        annotation = list[annotation]
    with pytest.raises(isoform.LimitReached, match="annotations that are nested less deep") as fault:
        isoform.Format.of(type("Deep", (), {"__annotations__": {"x": annotation}}))
    assert (fault.value.code, fault.value.path) == (isoform.Code.Depth, "Deep")


def test_what_nests_too_deep_is_refused() -> None:
    dtype, cls = np.dtype([("x", "i4")]), make_dataclass("Leaf", [("x", int)])
    for depth in range(sys.getrecursionlimit() // 2):
        dtype = np.dtype([("x", dtype)])
        cls = make_dataclass(f"Nested{depth}", [("x", cls)])
        if depth in (31, 40, 70):
            for record in (dtype, cls):
                with pytest.raises(isoform.LimitReached) as fault:
                    isoform.Format.of(record)
                assert fault.value.code == isoform.Code.Depth
    for record in (dtype, cls):
        with pytest.raises(isoform.LimitReached):
            isoform.Format.of(record)


class Later:
    """Its annotation is a name that nothing has."""

    at: "Nowhere"  # type: ignore[name-defined]  # noqa: F821


def test_a_name_that_the_module_does_not_know() -> None:
    with pytest.raises(isoform.BadInput, match="names that the module of the class knows") as fault:
        isoform.Format.of(Later)
    assert "Nowhere" in str(fault.value)


class Gaps:
    levels: list[Optional[float]]


def test_only_texts_may_be_none() -> None:
    with pytest.raises(isoform.BadInput, match="only texts .* may be None") as fault:
        isoform.Format.of(Gaps)
    assert fault.value.path == "Gaps.levels"
