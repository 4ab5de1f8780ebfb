"""Records that a document declares."""

import enum
from dataclasses import dataclass
from typing import Annotated, Any, Optional

import isoform
import numpy as np


@dataclass
class Place:
    x: float
    y: float


Place_dtype: np.dtype[Any] = isoform.Format.of(Place).dtype


class TrackColour(enum.Enum):
    """The values of colour in Track."""

    RED = 0
    GREEN = 1


@dataclass
class Track:
    on: bool
    small: Annotated[int, isoform.u8]
    tiny: Annotated[int, isoform.i8]
    s: Annotated[int, isoform.i16]
    us: Annotated[int, isoform.u16]
    l: Annotated[int, isoform.i32]
    ul: Annotated[int, isoform.u32]
    ll: int
    ull: Annotated[int, isoform.u64]
    f: Annotated[float, isoform.f32]
    d: Annotated[float, isoform.unit("m/s")]
    c: Annotated[str, isoform.char]
    name: str
    colour: TrackColour
    at: Place
    ends: Annotated[list[Place], isoform.fixed[2]]
    grid: Annotated[list[list[float]], isoform.f32[3, 4]]
    samples: Annotated[list[float], isoform.f32]
    path: list[Place]
    maybe: Optional[float]
    other: Optional[Place]
