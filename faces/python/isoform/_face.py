"""What the core in Rust needs of this package: it is handed over here, by these names, when the package is imported."""

from __future__ import annotations

import sys

from . import _isoform
from ._dtypes import column, dtype_of, rows
from ._records import kind_of, writable
from ._rows import bytes_of
from .channel import batches, events, open, records
from .errors import BadInput, Internal, LimitReached, Mismatch, Unavailable, Usage, cannot_open, no_such_column
from .event import Counts, EventHead, Gap, Given, Granted, Joined, Ledger, Left, Member, Record, Records, Refused
from .parameters import message_of as values
from .view import View
from .watching import Watching

many = Records._of
counts = Counts
ledger = Ledger._of
member = Member._of

__all__ = [
    "BadInput",
    "batches",
    "bytes_of",
    "cannot_open",
    "column",
    "counts",
    "dtype_of",
    "EventHead",
    "events",
    "Gap",
    "Given",
    "Granted",
    "Internal",
    "Joined",
    "kind_of",
    "ledger",
    "Left",
    "LimitReached",
    "many",
    "member",
    "Mismatch",
    "no_such_column",
    "open",
    "Record",
    "records",
    "Refused",
    "rows",
    "Unavailable",
    "Usage",
    "values",
    "View",
    "Watching",
    "writable",
]

_isoform._stand_behind(sys.modules[__name__])
