"""Records that a document declares."""

import enum
from dataclasses import dataclass
from typing import Annotated, Optional

import isoform


@dataclass
class Part:
    x: float
    note: Optional[str]


class typeKind(enum.Enum):
    """The values of kind in type."""

    self = 0
    a_b = 1


@dataclass(kw_only=True)
class type_:
    """A record */ with 'prose'."""

    match: str
    level: Annotated[float, isoform.unit("m")] = 0.5
    count: Annotated[int, isoform.u8] = 7
    name: str = "none"
    on: bool = True
    kind: typeKind = typeKind["a_b"]
    at: Annotated[int, isoform.unit("ns since 1970-01-01T00:00:00Z")]
    raw: Annotated[list[int], isoform.u8]
    maybe: Annotated[Optional[int], isoform.i32]
    part: Optional[Part]
    parts: list[Part]
    tags: Annotated[list[Optional[str]], isoform.string[2]]


type_.__name__ = "type"
