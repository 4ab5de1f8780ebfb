from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from os import PathLike
from types import ModuleType, TracebackType
from typing import IO, Any, final

import numpy as np
from typing_extensions import Self

from .event import Event, Ledger, Member
from .view import View

#: What a type of records is: a structured dtype, a dataclass or another annotated class, a ctypes structure, a format.
_RecordType = Any

@final
class Format:
    """What a record looks like in memory, and its name on the wire. Equal formats have equal tokens, wherever they were made."""

    @staticmethod
    def of(record: _RecordType, name: str | None = None) -> Format:
        """The format of a dtype, a dataclass or another annotated class, or a ctypes structure."""
    @staticmethod
    def parse(description: bytes) -> Format:
        """The format of these description bytes."""
    @staticmethod
    def of_shape(shape: str, layout: str | None = None) -> Format:
        """The format of a shape, such as ``record Sample\\n  step  int``, as a machine lays it out: this one, unless `layout`
        names another, such as ``s390x``."""
    @staticmethod
    def _placed(
        structures: Sequence[tuple[str, int, int, Sequence[tuple[str, str, int, int, str | None]]]], big: bool, pointer: int
    ) -> Format: ...
    @staticmethod
    def _declared(structures: Sequence[tuple[str, Sequence[tuple[str, str, str | None]]]]) -> Format: ...
    @property
    def name(self) -> str: ...
    @property
    def token(self) -> str:
        """The name of the format on the wire: 32 digits."""
    @property
    def size(self) -> int:
        """Bytes of the record itself, without what its pointers point at."""
    @property
    def alignment(self) -> int: ...
    @property
    def byte_order(self) -> str:
        """``little`` or ``big``."""
    @property
    def pointer(self) -> int:
        """Bytes of a pointer: 4 or 8."""
    @property
    def has_pointers(self) -> bool:
        """Whether records have strings, or arrays of variable length."""
    @property
    def description(self) -> bytes: ...
    @property
    def structure(self) -> Structure: ...
    @property
    def fields(self) -> tuple[Field, ...]:
        """Its fields, by ascending offset."""
    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of its records, in its own byte order; an error if no array of fixed size can hold them."""
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class Structure:
    """The named fields of a record, or of one nested in it."""

    @property
    def name(self) -> str: ...
    @property
    def size(self) -> int: ...
    @property
    def alignment(self) -> int: ...
    @property
    def fields(self) -> tuple[Field, ...]: ...

@final
class Field:
    """A field of a structure."""

    @property
    def name(self) -> str: ...
    @property
    def kind(self) -> str:
        """``integer``, ``unsigned integer``, ``float``, ``char``, ``boolean``, ``enumeration``, ``string`` .., or the name of a
        structure."""
    @property
    def type(self) -> str:
        """The whole type, as it is written in a shape: ``f32[n]``."""
    @property
    def size(self) -> int:
        """Bytes of one element."""
    @property
    def offset(self) -> int: ...
    @property
    def dimensions(self) -> tuple[int | str, ...]:
        """Each a number, or the name of the field that has it."""
    @property
    def indirect(self) -> bool:
        """Whether the record holds a pointer to it."""
    @property
    def unit(self) -> str | None: ...
    @property
    def symbols(self) -> dict[str, int] | None:
        """Of an enumeration, its symbols and their numbers."""
    @property
    def structure(self) -> Structure | None:
        """Of nested records, their fields."""

@final
class Message:
    """A record as it was sent: a format, and a body in the sender's layout."""

    @staticmethod
    def parse(message: bytes, registry: Registry) -> Message:
        """The message that these bytes are, header and body, whose format the registry knows."""
    @property
    def format(self) -> Format: ...
    @property
    def body(self) -> bytes: ...
    def view(self) -> View:
        """Its fields by name, without converting them, after they were checked."""
    def array(self) -> np.void:
        """The record as NumPy sees it: where it came, in the sender's byte order, not to be written to."""
    def _fields(self) -> dict[str, Any]: ...
    def __bytes__(self) -> bytes: ...
    def __len__(self) -> int: ...

@final
class Batch:
    """Messages of one format that are equally long."""

    @property
    def format(self) -> Format: ...
    def array(self) -> np.ndarray[Any, np.dtype[Any]]:
        """The records as NumPy sees them: where they came, in the sender's byte order, not to be written to."""
    def __len__(self) -> int: ...
    def __getitem__(self, index: int, /) -> Message: ...

@final
class Encoder:
    """Makes messages of records, without converting them."""

    def __new__(cls, record: _RecordType, name: str | None = None) -> Self: ...
    @property
    def format(self) -> Format: ...
    def encode(self, record: Any) -> Message:
        """The message of a record."""
    def encode_many(self, records: Any) -> Batch | None:
        """The messages of all records of an array; `None` if it has none."""

@final
class Decoder:
    """Makes records of messages, whatever layout their sender has.

    `faults` says what is done with numbers that do not fit: ``error``, ``saturate`` or ``wrap``. `engine` is ``auto``,
    ``interpreter`` or ``generated``. `rules` are for types that cannot say it themselves: ``("Sample", "temp", "alias", "t")``,
    ``(.., "default", 11.5)``, ``(.., "required", True)``. A decoder is for one thread at a time.
    """

    def __new__(
        cls,
        record: _RecordType,
        *,
        name: str | None = None,
        faults: str = "error",
        engine: str = "auto",
        rules: Iterable[tuple[str, str, str, Any]] | None = None,
    ) -> Self: ...
    @property
    def format(self) -> Format: ...
    def decode(self, message: Message) -> Any:
        """The record of a message."""
    def decode_many(self, source: Batch | Reader | Iterable[Message | Batch]) -> Any:
        """The records of a batch, of messages or batches, or of the rest of a stream: in one array (of dtypes and ctypes
        structures), else in a list."""

@final
class Columns:
    """Single fields of many messages, each as an array in this machine's byte order, for NumPy, and for Arrow without another
    copy.

    `fields` are the names of those that are wanted, else all of the record. Arrow takes columns by
    ``pyarrow.record_batch(columns)``, polars by ``polars.DataFrame(columns)``, and so does whatever else knows ``__arrow_c_array__``.
    """

    def __new__(cls, record: _RecordType, fields: Sequence[str] | None = None, *, faults: str = "error") -> Self: ...
    def append(self, source: Batch | Reader | Iterable[Message | Batch]) -> None:
        """Adds a row for each message."""
    @property
    def names(self) -> list[str]: ...
    def __getitem__(self, name: str, /) -> np.ndarray[Any, np.dtype[Any]]: ...
    def __len__(self) -> int: ...
    def clear(self) -> None:
        """Forgets all rows."""
    def __arrow_c_schema__(self) -> object: ...
    def __arrow_c_array__(self, requested_schema: object | None = None) -> tuple[object, object]: ...

@final
class Registry:
    """The formats that are known here, and what is put up with of others: the bytes of a message and of a description, the depth
    and the fields of a format, how many formats are kept. ``docs/book/reference/limits.md`` has what is usual."""

    def __new__(
        cls,
        *,
        message: int | None = None,
        description: int | None = None,
        depth: int | None = None,
        fields: int | None = None,
        formats: int | None = None,
    ) -> Self: ...
    def register(self, format: Format) -> None:
        """Makes a format known for good."""
    def learn(self, description: bytes) -> Format:
        """The format of these description bytes, known from now on."""
    def known(self, token: str) -> Format | None:
        """The format of a token, if it is known."""
    def formats(self) -> list[Format]:
        """All that are known, by name."""

@final
class Reader:
    """Reads a stream of messages: from a file of this path, or an object with `read`.

    It can be asked for more after its end, while the stream still grows. A reader is for one thread at a time.
    """

    def __new__(cls, source: str | PathLike[str] | IO[bytes], registry: Registry | None = None) -> Self: ...
    def __iter__(self) -> Iterator[Message]: ...
    def __next__(self) -> Message: ...
    def next_batch(self) -> Batch | None:
        """The next messages that have one header, as far as they have come; `None` at the end."""
    def formats(self) -> list[Format]:
        """The formats that have come so far."""
    @property
    def position(self) -> int:
        """Where in the stream the next message begins."""
    def close(self) -> None: ...
    def __enter__(self) -> Self: ...
    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None, /
    ) -> None: ...

@final
class Writer:
    """Writes a stream of messages, each format's description in front of its first: to a file of this path, made anew, or an
    object with `write`. With a type of records it also takes records, arrays and lists of them."""

    def __new__(cls, target: str | PathLike[str] | IO[bytes], record: _RecordType | None = None) -> Self: ...
    def write(self, record: Any) -> None:
        """Writes a message, a batch, or what the writer has a type for."""
    def describe(self, format: Format) -> None:
        """Writes a format's description, so that a reader knows it before there is a message."""
    def flush(self) -> None: ...
    def close(self) -> None: ...
    def __enter__(self) -> Self: ...
    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None, /
    ) -> None: ...

@final
class Node:
    """This process's part in channels: where it listens (``127.0.0.1:7000``, ``unix:/tmp/x.sock``; else at a TCP port of this
    machine that the system chooses), and the way to make and open them. Times are in seconds."""

    def __new__(
        cls,
        listen: str | list[str] | None = None,
        *,
        insecure: bool = False,
        silence: float | None = None,
        linger: float | None = None,
    ) -> Self: ...
    @property
    def addresses(self) -> list[str]: ...
    def create(self, name: str, record: _RecordType | None = None) -> Channel:
        """Makes a channel: for records of this type, or of any."""
    def open(self, id: str, timeout: float = 5.0) -> Channel:
        """Opens a channel by its id, such as ``iso://127.0.0.1:7000/river``."""

@final
class Channel:
    """An event path that is nowhere in particular: from every source straight to every sink."""

    @property
    def id(self) -> str:
        """The id by which others open it."""
    @property
    def ids(self) -> list[str]: ...
    @property
    def name(self) -> str: ...
    @property
    def format(self) -> Format | None: ...
    @property
    def members(self) -> list[str]:
        """The nodes that have it open, this one first."""
    def source(self, record: _RecordType | None = None, *, name: str | None = None) -> Source:
        """A source of records of this type, or of messages."""
    def sink(
        self,
        record: _RecordType | None = None,
        *,
        name: str | None = None,
        policy: str = "block",
        events: int | None = None,
        bytes: int | None = None,
        window: tuple[int, int] | None = None,
        longest: int | None = None,
        faults: str = "error",
        fields: Sequence[str] | None = None,
        rules: Iterable[tuple[str, str, str, Any]] | None = None,
    ) -> Sink:
        """A sink for records of this type, or for messages of any. See :class:`Sink`."""
    def info(self, timeout: float = 1.0) -> list[Member]:
        """What its members tell of their sources and sinks, and the account of every source."""
    def close(self) -> None:
        """Leaves the channel: its sources and sinks here end."""

@final
class Source:
    """Submits records to all sinks of a channel, which is one, or the id of one."""

    def __new__(cls, channel: Channel | str, record: _RecordType | None = None, *, name: str | None = None) -> Self: ...
    def submit(self, record: Any) -> int | None:
        """Submits a record, or each of an array or a list, and returns the sequence of the last; `None` if there are no sinks.
        Waits while a sink has no room that lets its sources wait."""
    def wait_for_sinks(self, count: int = 1, timeout: float | None = None) -> None:
        """Waits until so many sinks have subscribed."""
    @property
    def sinks(self) -> int: ...
    def ledger(self) -> list[Ledger]:
        """The account with every sink that is there, and the latest that have left."""
    def close(self, timeout: float = 10.0) -> list[Ledger]:
        """Ends the source, waits until its sinks have taken all, and returns the account."""
    def __enter__(self) -> Self: ...
    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None, /
    ) -> None: ...

@final
class Sink:
    """Takes the events of a channel, which is one, or the id of one: as records of a type, or without one as messages.

    `policy` is what its sources do when it is too slow: ``block`` (they wait), ``drop oldest`` (they keep `events` of `bytes`
    together), ``latest``. `window` is how many events of how many bytes may be under way; `longest` the longest event that is
    taken; `faults` what is done with numbers that do not fit; `fields` the paths of those that are needed; `rules` as of a
    :class:`Decoder`.
    """

    def __new__(
        cls,
        channel: Channel | str,
        record: _RecordType | None = None,
        *,
        name: str | None = None,
        policy: str = "block",
        events: int | None = None,
        bytes: int | None = None,
        window: tuple[int, int] | None = None,
        longest: int | None = None,
        faults: str = "error",
        fields: Sequence[str] | None = None,
        rules: Iterable[tuple[str, str, str, Any]] | None = None,
    ) -> Self: ...
    def recv(self, timeout: float | None = None) -> Event | None:
        """The next event, or the next thing that there is to know about events; `None` if nothing comes within `timeout`
        seconds."""
    def recv_many(self, most: int = 8192, timeout: float | None = None) -> Event | None:
        """The events that have come, up to `most` and 8 MiB (or one), as one :class:`isoform.Records`; else what :meth:`recv` would
        return."""
    def batches(self, most: int = 8192) -> Iterator[Event]:
        """What :meth:`recv_many` gives, until the channel is closed."""
    def records(self) -> Iterator[Any]:
        """The records alone, until the channel is closed."""
    @property
    def counts(self) -> tuple[int, int, int]:
        """How many events have come, were taken, and are lost."""
    def fileno(self) -> int:
        """A descriptor that can be read when something has come, for `select` and event loops."""
    def _descriptors(self) -> tuple[int, int]: ...
    def __iter__(self) -> Iterator[Event]: ...
    def __next__(self) -> Event: ...
    def __aiter__(self) -> AsyncIterator[Event]: ...
    def close(self) -> None: ...
    def __enter__(self) -> Self: ...
    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None, /
    ) -> None: ...

def codes() -> list[tuple[int, str, str]]: ...
def _stand_behind(face: ModuleType) -> None: ...

__all__ = [
    "Batch",
    "Channel",
    "Columns",
    "Decoder",
    "Encoder",
    "Field",
    "Format",
    "Message",
    "Node",
    "Reader",
    "Registry",
    "Sink",
    "Source",
    "Structure",
    "Writer",
    "_stand_behind",
    "codes",
]
