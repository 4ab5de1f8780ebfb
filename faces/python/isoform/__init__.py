"""Exchange records between programs as they are in memory, without a schema language, a code generator or a broker.

A record is a row of a NumPy structured array, an instance of a dataclass or another annotated class, or a ctypes structure.
The sender converts nothing, and the receiver converts only what differs from its own type. The guide is
``docs/book/guides/python.md``.
"""

from __future__ import annotations

from . import _face as _face
from . import errors
from ._isoform import Batch, Channel, Columns, Decoder, Encoder, Field, Format, Message, Node, Reader, Registry, Sink, Source, Structure, Writer
from .channel import create, node, open
from .declare import (
    alias,
    bf16,
    boolean,
    c64,
    c128,
    char,
    f16,
    f32,
    f64,
    f128,
    i8,
    i16,
    i32,
    i64,
    i128,
    length,
    required,
    string,
    u8,
    u16,
    u32,
    u64,
    u128,
    unit,
)
from .errors import BadInput, Code, Error, Internal, LimitReached, Mismatch, Unavailable, Usage
from .event import Event, Gap, Granted, Joined, Ledger, Left, Member, Record, Records, Refused
from .view import View

__all__ = [
    "alias",
    "BadInput",
    "Batch",
    "bf16",
    "boolean",
    "c128",
    "c64",
    "Channel",
    "char",
    "Code",
    "Columns",
    "create",
    "Decoder",
    "Encoder",
    "Error",
    "errors",
    "Event",
    "f128",
    "f16",
    "f32",
    "f64",
    "Field",
    "Format",
    "Gap",
    "Granted",
    "i128",
    "i16",
    "i32",
    "i64",
    "i8",
    "Internal",
    "Joined",
    "Ledger",
    "Left",
    "length",
    "LimitReached",
    "Member",
    "Message",
    "Mismatch",
    "Node",
    "node",
    "open",
    "Reader",
    "Record",
    "Records",
    "Refused",
    "Registry",
    "required",
    "Sink",
    "Source",
    "string",
    "Structure",
    "u128",
    "u16",
    "u32",
    "u64",
    "u8",
    "Unavailable",
    "unit",
    "Usage",
    "View",
    "Writer",
]
