from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from os import PathLike
from pathlib import Path
from types import ModuleType, TracebackType
from typing import IO, Any, final

import numpy as np
from typing_extensions import Self

from .errors import Error
from .event import Counts, Event, EventHead, Ledger, Member
from .view import View
from .watching import Watching

#: A type of records: a structured dtype, a dataclass or another annotated class, a ctypes structure, a format.
_RecordType = Any
#: A rule for a field: its path, or its structure and name; ``alias``, ``default``, ``zero`` or ``required``; and a value.
_Rule = tuple[str, str, Any] | tuple[str, str, str, Any]

@final
class Format:
    """The memory layout of a record, with its name on the wire. Equal formats have equal tokens, wherever they were made."""

    @staticmethod
    def of(record: _RecordType, name: str | None = None) -> Format:
        """The format of a dtype, a dataclass or another annotated class, or a ctypes structure."""
    @staticmethod
    def parse(description: bytes) -> Format:
        """The format of this description."""
    @staticmethod
    def of_shape(shape: str, layout: str | None = None) -> Format:
        """The format of a shape, such as ``record Sample\\n  step  int``, laid out for this machine, or for the machine that
        `layout` names, such as ``s390x``."""
    @staticmethod
    def of_document(
        place: str,
        name: str,
        *,
        layout: str | None = None,
        language: str | None = None,
        overlay: str | PathLike[str] | None = None,
        hosts: str = "",
        schemes: str = "",
        cache: str | PathLike[str] | None = None,
        deadline: float = 10.0,
        limit: int | None = None,
        redirects: int = 5,
    ) -> Format:
        """The format of a record that a document declares, such as ``http://127.0.0.1:8000/river.xsd`` (``http:``, ``https:``, or
        the path of a file), laid out for this machine, or for the one that ``layout`` names. The extension tells the language: ``.idl``,
        ``.msg``, ``.proto``, ``.h``, JSON Schema in ``.json``; others are XML Schema; or ``language`` does: ``xsd``, ``idl``, ``msg``,
        ``jsonschema``, ``proto``, ``c``. A file ``overlay`` changes names, units and fields, and says what pointers are. A document may
        bring in others from its own server, and from ``hosts``, with commas between them. It waits for servers for at most ``deadline``
        seconds, and gets the document anew each time; with a folder as ``cache``, servers are only asked whether it has changed, and may
        be down. ``schemes`` are those that are allowed, such as ``https,file``, also for redirects; by default ``file``, ``http`` and
        ``https``. ``limit`` is the most bytes that all documents may have together; by default 16 MiB, and never more. ``redirects`` is how
        many are followed for one document."""
    @staticmethod
    def _placed(
        structures: Sequence[tuple[str, int, int, Sequence[tuple[str, str, int, int, str | None]]]], big: bool, pointer: int
    ) -> Format: ...
    @staticmethod
    def _declared(structures: Sequence[tuple[str, Sequence[tuple[str, str, str | None]]]]) -> Format: ...
    def _bodies(self, records: Sequence[Any], paths: Sequence[str]) -> np.ndarray[Any, np.dtype[np.uint8]]:
        """The bodies of records, one behind the other. Errors have the path of the record at fault."""
    @property
    def name(self) -> str:
        """The name of the records."""
    @property
    def token(self) -> str:
        """The name of the format on the wire: 32 hexadecimal digits."""
    @property
    def size(self) -> int:
        """Bytes of the record itself, without the memory that its pointers point at."""
    @property
    def alignment(self) -> int:
        """The alignment of its records in memory, in bytes."""
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
    def description(self) -> bytes:
        """Its canonical description: bytes that are the same on every machine."""
    @property
    def structure(self) -> Structure:
        """Its fields with their names, as a structure."""
    @property
    def fields(self) -> tuple[Field, ...]:
        """Its fields, by ascending offset."""
    @property
    def _kind(self) -> int: ...
    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of its records, in their byte order. An error if the records have no fixed size."""
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class Structure:
    """The named fields of a record, or of one nested in it."""

    @property
    def name(self) -> str:
        """Its name."""
    @property
    def size(self) -> int:
        """Bytes of one record."""
    @property
    def alignment(self) -> int:
        """The alignment of its records in memory, in bytes."""
    @property
    def fields(self) -> tuple[Field, ...]:
        """Its fields, by ascending offset."""

@final
class Watch:
    """A record of a document that a program looks at again while it runs. There is no thread: the program asks, and the server is asked
    at most once in ``every`` seconds, and only whether the document has changed. The other arguments are those of
    :meth:`Format.of_document`."""

    def __new__(
        cls,
        place: str,
        name: str,
        *,
        every: float = 60.0,
        layout: str | None = None,
        language: str | None = None,
        overlay: str | PathLike[str] | None = None,
        hosts: str = "",
        schemes: str = "",
        cache: str | PathLike[str] | None = None,
        deadline: float = 10.0,
        limit: int | None = None,
        redirects: int = 5,
    ) -> Self: ...
    def poll(self) -> Format | None:
        """The new format, if it is time to look and there is one. The first time, it is the format as it is. What is wrong with a
        document is raised once, until something else is found. A cache does not stand in for a server that cannot be reached."""
    def check(self) -> Format | None:
        """The same at once."""
    @property
    def due(self) -> float:
        """The seconds until :meth:`poll` looks again, for programs that wait for several things."""
    @property
    def document(self) -> Document | None:
        """The document as it was when a format was last told: ``Decoder(watch.document)`` has its defaults, too. ``None`` before."""
    def spawn(self, function: Callable[[Format | Error], object]) -> Watching:
        """Starts a thread that looks in place of the program, and calls a function with each new format and each error. Close the result, or
        use it in ``with``, to end the thread."""

@final
class Field:
    """A field of a structure."""

    @property
    def name(self) -> str:
        """Its name."""
    @property
    def kind(self) -> str:
        """``integer``, ``unsigned integer``, ``float``, ``char``, ``boolean``, ``enumeration``, ``string`` .., or the name of a
        structure."""
    @property
    def type(self) -> str:
        """The whole type, in the notation of shapes: ``f32[n]``."""
    @property
    def size(self) -> int:
        """Bytes of one element."""
    @property
    def offset(self) -> int:
        """The position of its first byte in the record."""
    @property
    def dimensions(self) -> tuple[int | str, ...]:
        """Each a number, or the name of the length field."""
    @property
    def indirect(self) -> bool:
        """Whether the field is behind a pointer."""
    @property
    def unit(self) -> str | None:
        """The unit of measurement, if it has one."""
    @property
    def symbols(self) -> dict[str, int] | None:
        """The symbols of an enumeration, and their numbers."""
    @property
    def structure(self) -> Structure | None:
        """The structure of nested records."""

@final
class Message:
    """A record as its sender sent it: a format, and a body in the sender's layout."""

    @staticmethod
    def parse(message: bytes, registry: Registry) -> Message:
        """The message of these bytes, header and body. The registry must know its format."""
    @property
    def format(self) -> Format:
        """The sender's format."""
    @property
    def body(self) -> bytes:
        """The record in its sender's layout, with the memory that its pointers point at."""
    @property
    def topic(self) -> str | None:
        """The name of the channel, for a message of a recording; otherwise, and of the results of a query, `None`."""
    @property
    def source(self) -> int | None:
        """The number of its source, as the recorder counts sources; `None` where `topic` is."""
    @property
    def sequence(self) -> int | None:
        """Its number at the source; `None` where `topic` is."""
    @property
    def submitted(self) -> int | None:
        """When it was submitted by the clock of its source, in nanoseconds since 1970; `None` where `topic` is."""
    @property
    def recorded(self) -> int | None:
        """When it was recorded by the clock of the recorder, in nanoseconds since 1970; `None` where `topic` is."""
    def view(self) -> View:
        """Verifies the message, and returns its fields by name, without converting them."""
    def json(self) -> str:
        """All its fields as an object of JSON, in one line, as ``isoform dump --json`` prints it."""
    def array(self) -> np.void:
        """The record as a read-only NumPy scalar, without a copy, in the sender's byte order."""
    def _fields(self) -> dict[str, Any]: ...
    def __bytes__(self) -> bytes: ...
    def __len__(self) -> int: ...

@final
class Batch:
    """Messages of one format and one length."""

    @property
    def format(self) -> Format:
        """The sender's format."""
    def array(self) -> np.ndarray[Any, np.dtype[Any]]:
        """The records as a read-only NumPy array, without a copy, in the sender's byte order."""
    def __len__(self) -> int: ...
    def __getitem__(self, index: int, /) -> Message: ...

@final
class _Later:
    """The value of a field that a view converts when a program asks for it."""

    def load(self) -> Any: ...
    def one(self, index: int) -> Any | None: ...

@final
class Encoder:
    """Encodes records as messages, without converting them.

    `missing` is the treatment of fields that a dict or an object lacks, and that have no default: ``refuse``, with all of them in
    the error, or ``zero``. `rules` are as for a :class:`Decoder`; encoders need the defaults among them.
    """

    def __new__(
        cls,
        record: _RecordType,
        name: str | None = None,
        *,
        missing: str = "refuse",
        rules: Iterable[_Rule] | None = None,
    ) -> Self: ...
    @property
    def format(self) -> Format:
        """The format of its messages."""
    def encode(self, record: Any) -> Message:
        """Encodes a record."""
    def encode_many(self, records: Any) -> Batch | None:
        """Encodes all records of an array. Returns `None` if it is empty."""

@final
class Decoder:
    """Decodes messages into records, for senders of any layout.

    `faults` is the treatment of numbers that do not fit: ``error``, ``saturate`` or ``wrap``. `missing` is that of fields
    which the sender lacks and which have no default: ``refuse``, with all of them in the error, or ``zero``. `engine` is
    ``auto``, ``interpreter`` or ``generated``. `rules` are for types that do not state them: ``("temp", "alias", "t")``,
    ``("com.x", "default", 11.5)``, ``(.., "zero", True)``, ``(.., "required", True)``. The field is a path, or a structure and
    the name of a field there: ``("Sample", "temp", "alias", "t")``. Only one thread at a time can use a decoder.
    """

    def __new__(
        cls,
        record: _RecordType,
        *,
        name: str | None = None,
        faults: str = "error",
        missing: str = "refuse",
        engine: str = "auto",
        rules: Iterable[_Rule] | None = None,
    ) -> Self: ...
    @property
    def format(self) -> Format:
        """The format to which it converts messages."""
    def decode(self, message: Message) -> Any:
        """Decodes a message."""
    def decode_many(self, source: Batch | Reader | Iterable[Message | Batch]) -> Any:
        """Decodes a batch, messages or batches, or the rest of a stream. Returns one array for dtypes and ctypes structures,
        and otherwise a list."""
    def explain(self, sender: Format, *, time: bool = False) -> str:
        """What the decoder does with each field of records of a sender, what that costs, and all obstacles: the table of
        ``isoform explain``. With `time=True`, also what each step costs for a record in bytes and nanoseconds, measured now, on
        this machine, with a record that is made for it."""

@final
class Document:
    """A record that a document declares, as a type of records: ``Decoder(document)``, ``channel.sink(document)``. It has the format of
    :meth:`Format.of_document`, which has the same arguments, and the defaults of the document for senders, dicts and objects that lack a
    field. And it writes and reads records as the XML and JSON that the document describes.

    >>> river = isoform.Document("http://127.0.0.1:8000/river.xsd", "Gauge")
    >>> river.to_xml({"step": 1, "station": "Old Mill", "level": 0.5})
    '<Gauge><step>1</step><station>Old Mill</station><level>0.5</level></Gauge>'
    """

    def __new__(
        cls,
        place: str,
        name: str,
        *,
        layout: str | None = None,
        language: str | None = None,
        overlay: str | PathLike[str] | None = None,
        hosts: str = "",
        schemes: str = "",
        cache: str | PathLike[str] | None = None,
        deadline: float = 10.0,
        limit: int | None = None,
        redirects: int = 5,
    ) -> Self: ...
    @property
    def format(self) -> Format:
        """The format of the records."""
    @property
    def _defaults(self) -> list[tuple[str, str, str]]: ...
    @property
    def _aliases(self) -> list[tuple[str, str, str]]: ...
    def to_xml(self, record: Any) -> str:
        """The XML of a record: a message of this format, a dict or an object."""
    def to_json(self, record: Any) -> str:
        """The JSON of a record, on one line."""
    def of_xml(self, text: str) -> Message:
        """The one record in a text in XML, as a message. Elements and attributes with a default may be absent."""
    def of_json(self, text: str) -> Message:
        """The one record in a text in JSON, as a message."""
    def records_of_xml(self, source: str | PathLike[str] | IO[bytes], *, within: str | None = None) -> Texts:
        """The records of the file at this path, or of an object with ``read``, as messages: XML documents of one record each, or the records
        in one element of the name `within`. No more is read than the next record needs."""
    def records_of_json(self, source: str | PathLike[str] | IO[bytes]) -> Texts:
        """The same in JSON: a record on each line that is not empty."""

@final
class Texts:
    """The records of a text, which :meth:`Document.records_of_xml` and :meth:`Document.records_of_json` read. After an error there are no
    more."""

    def __iter__(self) -> Self: ...
    def __next__(self) -> Message: ...

@final
class Head:
    """The format and the length of a message whose body has not been read, or was read to memory of the program."""

    @property
    def format(self) -> Format:
        """The sender's format."""
    @property
    def length(self) -> int:
        """Bytes of the body."""

@final
class Kinds:
    """Several kinds of records: each message becomes the one that fits.

    A kind is a type of records, or a tuple of its name and the type, for dtypes: ``Kinds(River, ("Alarm", alarm))``. A
    message becomes the kind of the same name as its format, if it can. Otherwise it becomes the kind that takes most of the
    sender's fields; spec/conversion.md, "Several kinds", has the exact rule. `faults` and `missing` are as for a
    :class:`Decoder`. With `others` = ``refuse``, what fits no kind is an error, and a sink refuses its source; with
    ``messages``, it remains a :class:`Message`.
    """

    def __new__(
        cls,
        *records: _RecordType | tuple[str, _RecordType],
        faults: str = "error",
        missing: str = "refuse",
        others: str = "refuse",
    ) -> Self: ...
    def decode(self, message: Message) -> Any:
        """Decodes a message as the kind that fits. Several threads may call this."""
    def decode_many(self, source: Message | Batch | Reader | Iterable[Message | Batch]) -> tuple[Any, ...]:
        """Decodes a batch, messages or batches, or the rest of a stream. Returns the records of each kind, in the order of the
        kinds: one array for dtypes and ctypes structures, and otherwise a list. With `others` = ``messages``, a list of the messages
        that fit no kind follows."""
    def columns(
        self,
        source: Message | Batch | Reader | Iterable[Message | Batch] | None = None,
        fields: Sequence[str] | None = None,
        *,
        into: Sequence[Columns] | None = None,
    ) -> tuple[Columns, ...]:
        """Columns for each kind, in the order of the kinds, with a row for each message of a batch, of messages or batches, or of
        the rest of a stream. `fields` are paths; the columns of a kind are for those that it has. With `into`, the rows are added
        to columns that an earlier call has returned. With `others` = ``messages``, messages that fit no kind are left out."""
    def kind_of(self, format: Format) -> int | None:
        """The kind that messages of a format become, as its place among the kinds; `None` if they fit none."""
    def explain(self, format: Format) -> str:
        """The choice for a format: a line with the reason, and a line for each kind."""
    @property
    def count_of_others(self) -> int:
        """The number of messages so far that fitted no kind."""

@final
class Columns:
    """Single fields of many messages, each as an array in this machine's byte order, for NumPy and Arrow.

    `fields` are the names or paths of the fields, such as ``com.x``; by default, all fields of the record but the lengths of arrays.
    The elements of a field within an array of records are an array. Text, arrays of variable length, and records with them are
    objects: text, lists, dicts or `None`. `faults`, `missing` and `rules` are as for a :class:`Decoder`.

    Messages of a recording have stamps. With `stamps`, they are columns in front of the others, as ``isoform export`` writes them: ``isoform.topic``,
    ``isoform.source``, ``isoform.sequence``, ``isoform.submitted``, ``isoform.recorded``. `fields` can have some of these names, too. The times are
    `datetime64[ns]` in UTC.

    ``pandas.DataFrame(dict(columns))`` makes a data frame, unless a column has two dimensions. ``pyarrow.record_batch(columns)``,
    ``polars.DataFrame(columns)`` and everything else that supports ``__arrow_c_array__`` use the columns without a copy.
    """

    def __new__(
        cls,
        record: _RecordType,
        fields: Sequence[str] | None = None,
        *,
        stamps: bool = False,
        faults: str = "error",
        missing: str = "refuse",
        rules: Iterable[_Rule] | None = None,
    ) -> Self: ...
    def append(self, source: Batch | Reader | Iterable[Message | Batch]) -> None:
        """Adds a row for each message."""
    @property
    def names(self) -> list[str]:
        """The names of the columns."""
    def keys(self) -> list[str]:
        """The names of the columns, so that ``dict(columns)`` works."""
    def __iter__(self) -> Iterator[str]: ...
    def __contains__(self, name: str, /) -> bool: ...
    def __array__(self, *_options: Any, **_more: Any) -> None: ...
    def __getitem__(self, name: str, /) -> np.ndarray[Any, np.dtype[Any]]: ...
    def __len__(self) -> int: ...
    def clear(self) -> None:
        """Removes all rows."""
    def __arrow_c_schema__(self) -> object: ...
    def __arrow_c_array__(self, requested_schema: object | None = None) -> tuple[object, object]: ...

@final
class Servers:
    """Servers of formats: ``"http://HOST:PORT"``, several of them with commas between, or a list.

    They are asked in this order, all together for at most `deadline` seconds. No answer is trusted: a description is compared
    with the token. `cache` is a folder where descriptions are kept and found first, which programs may share. `bearer` is a
    secret for servers that ask who comes. `trust` is a PEM file with the authorities that are trusted in place of the system's, and
    `certificate` one with the certificate that servers are shown, and its key. All threads may use it. Opening connects to no server.

    Messages may say at which servers their formats are described. Readers ask there first if the host is one of `hosts`,
    ``"HOST"`` or ``"HOST:PORT"``.
    """

    def __new__(
        cls,
        urls: str | list[str] | tuple[str, ...] | None = None,
        *,
        cache: str | PathLike[str] | None = None,
        bearer: str | None = None,
        deadline: float = 10.0,
        trust: str | PathLike[str] | None = None,
        certificate: str | PathLike[str] | None = None,
        hosts: str | list[str] | tuple[str, ...] | None = None,
    ) -> Self: ...
    def put(self, format: Format) -> None:
        """Stores a format at the first server that accepts it. If no server can be asked, that is no error for a format that one of
        them stored or answered before: in this process, or stored it for one with the same cache.
        """
    def find(self, token: str) -> Format:
        """The format of a token."""

@final
class Responder:
    """Answers for the formats of this program at an HTTP address, ``"HOST:PORT"``, in threads of its own, until it is closed. Port 0 is
    any free one. So programs that exchange records need no server between them.

    An address that other machines reach needs `insecure`: nothing is encrypted, and everybody gets a description who knows its token.
    """

    def __new__(cls, address: str = "127.0.0.1:0", *, insecure: bool = False) -> Self: ...
    @property
    def url(self) -> str:
        """``"http://HOST:PORT"``."""
    def put(self, format: Format) -> None:
        """Answers for a format from now on."""
    def close(self) -> None:
        """Ends the answers. Calling it twice does no harm."""
    def __enter__(self) -> Self: ...
    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None, /
    ) -> None: ...

@final
class Registry:
    """The known formats, and the limits for input: bytes of a message and of a description, depth and fields of a format, and
    the number of stored formats. ``docs/book/reference/limits.md`` lists the defaults.

    Unknown formats are found at `servers`, which is `Servers` or their URLs, or by `resolver`, which is a function from a token
    to the description or `None`."""

    def __new__(
        cls,
        *,
        message: int | None = None,
        description: int | None = None,
        depth: int | None = None,
        fields: int | None = None,
        formats: int | None = None,
        servers: Servers | str | list[str] | tuple[str, ...] | None = None,
        resolver: Callable[[str], bytes | None] | None = None,
    ) -> Self: ...
    def register(self, format: Format) -> None:
        """Makes a format known for ever."""
    def learn(self, description: bytes) -> Format:
        """Makes the format of this description known, and returns it."""
    def known(self, token: str) -> Format | None:
        """The format of a token, if it is known."""
    def formats(self) -> list[Format]:
        """All known formats, sorted by name."""

@final
class Reader:
    """Reads a stream of messages from the file at this path, or from an object with `read`.

    Formats that the stream does not describe are found in `registry`, or at `servers` or by `resolver`, as those of `Registry`.

    `query` asks for less: the reader gives what the query makes of the records ("where any(depth > 2) | select step, deep = max(depth)"). An
    error names the place in the query that does not fit the records. Records of formats that do not fit are left out if others do: in a file wherever
    they come, in a pipe before them.

    Of a recording, `channel` chooses the events of one channel, or of several ("river.step", or a list), and `start` and `end` those between two
    times, in seconds since its beginning. With `damage` = ``skip``, a reader passes over what is cut or damaged of a recording, and of a stream that
    was cut; a `RuntimeWarning` says so at the end, unless it is ``ignore``. With ``error``, the whole part is read, and then it raises.

    After the end of a stream that still grows, it can be asked for more. Only one thread at a time can use a reader.
    """

    def __new__(
        cls,
        source: str | PathLike[str] | IO[bytes],
        registry: Registry | None = None,
        *,
        servers: Servers | str | list[str] | tuple[str, ...] | None = None,
        resolver: Callable[[str], bytes | None] | None = None,
        query: str | None = None,
        channel: str | list[str] | tuple[str, ...] | None = None,
        start: float | None = None,
        end: float | None = None,
        damage: str = "error",
    ) -> Self: ...
    def __iter__(self) -> Iterator[Message]: ...
    def __next__(self) -> Message: ...
    def next_batch(self) -> Batch | None:
        """The next messages with equal headers that have arrived, or `None` at the end."""
    def peek(self) -> Head | None:
        """The format and the length of the next message, before its body has come; `None` at the end. Whatever reads next takes
        that message."""
    def skip(self) -> bool:
        """Skips the next message without storing it. In a file, its body is not read. Returns `False` at the end."""
    def read_into(self, memory: Any) -> Head | None:
        """Reads the body of the next message to the start of existing memory, and verifies it. The memory is an array of the sender's
        dtype (``peek().format.dtype``), or bytes: a `bytearray` or an array of `u1`. Returns `None` at the end. If it is too small,
        the message remains the next one."""
    def formats(self) -> list[Format]:
        """The formats that the stream has described so far."""
    def resume(self) -> tuple[int, int] | None:
        """Continues behind damage in a sealed stream, after an error of the stream itself: passes over all bytes up to the next message
        that is sealed and whole. Returns the positions of the first byte that is missing and behind the last one, or `None` if no
        such message follows."""
    @property
    def position(self) -> int:
        """The position of the next message in the stream, or among what the query has made."""
    def close(self) -> None:
        """Closes the file. Calling it twice does no harm."""
    def __enter__(self) -> Self: ...
    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None, /
    ) -> None: ...

@final
class Writer:
    """Writes a stream of messages, with the description of each format before its first message. The target is the path of a
    new file, or an object with `write`. A writer with a type of records also accepts records, arrays and lists of them. With
    `servers`, which are `Servers` or their URLs, it stores the formats there instead, and leaves descriptions out. With a
    `responder`, that answers for the formats, and the stream says where. `locators` are the URLs that it says instead. With
    `sealed=True`, every message has a checksum in front: then readers notice damage, and `Reader.resume` continues behind it.

    With `append=True`, it appends to the stream in a file, and creates the file if it is not there. Nobody else can append to it until
    the writer is closed. If the stream was cut, the bytes that nobody can read move to a new file beside it first: `healed` says where."""

    def __new__(
        cls,
        target: str | PathLike[str] | IO[bytes],
        record: _RecordType | None = None,
        *,
        servers: Servers | str | list[str] | tuple[str, ...] | None = None,
        responder: Responder | None = None,
        locators: str | list[str] | tuple[str, ...] | None = None,
        sealed: bool = False,
        append: bool = False,
    ) -> Self: ...
    @property
    def healed(self) -> tuple[int, int, Path] | None:
        """What was moved aside when a stream was opened with `append=True`: its position, the number of bytes, and the path of
        the file that has them now. `None` if the stream was whole."""
    def write(self, record: Any) -> None:
        """Writes a message, a batch, or records of the writer's type."""
    def describe(self, format: Format) -> None:
        """Writes the description of a format, so that a reader knows the format before its first message."""
    def flush(self) -> None:
        """Writes what is buffered."""
    def close(self) -> None:
        """Writes the rest, and closes the file. Calling it twice does no harm."""
    def __enter__(self) -> Self: ...
    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None, /
    ) -> None: ...

@final
class Node:
    """The member of channels that acts for this process. It creates and opens channels. It listens at the given addresses
    (``127.0.0.1:7000``, ``unix:/tmp/x.sock``), or at a TCP port of this machine that the system chooses. It tells others the
    addresses in ``advertise`` in place of those of TCP at which it listens.
    It speaks TLS to other machines, with the certificate, key and authority in the file ``identity``, or with those of
    ``isoform keys``. The key may be in another file, ``identity_key``, and the authorities in ``trust``; ``trust_platform`` trusts
    those that this machine trusts, and needs ``trust_names``: names that the certificates of others must have. ``revoked`` is
    a file with revocation lists. ``tls_on_loopback`` is for tunnels and containers, where another machine has an address of this one.
    It admits the programs of the same user, and those that know ``key``: 64 hexadecimal digits.
    The file ``rules`` says what they may do on which channels (docs/book/reference/rules.md). Times are in seconds."""

    def __new__(
        cls,
        listen: str | list[str] | None = None,
        *,
        advertise: str | list[str] | None = None,
        insecure: bool = False,
        identity: str | PathLike[str] | None = None,
        identity_key: str | PathLike[str] | None = None,
        trust: str | PathLike[str] | None = None,
        trust_platform: bool = False,
        trust_names: str | list[str] | None = None,
        revoked: str | PathLike[str] | None = None,
        tls_on_loopback: bool = False,
        key: str | None = None,
        admit_anyone: bool = False,
        rules: str | PathLike[str] | None = None,
        silence: float | None = None,
        linger: float | None = None,
    ) -> Self: ...
    @property
    def addresses(self) -> list[str]:
        """The addresses at which others reach it."""
    def create(self, name: str, record: _RecordType | None = None) -> Channel:
        """Creates a channel for records of this type, or of all types."""
    def open(self, id: str, timeout: float = 5.0) -> Channel:
        """Opens a channel by its id, such as ``iso://127.0.0.1:7000/river``."""

@final
class Channel:
    """An event path, directly from every source to every sink."""

    @property
    def id(self) -> str:
        """The id with which others open it."""
    @property
    def ids(self) -> list[str]:
        """Its ids for all addresses of its members."""
    @property
    def name(self) -> str:
        """Its name."""
    @property
    def format(self) -> Format | None:
        """The type of its records, or `None` if it accepts all."""
    @property
    def query(self) -> str | None:
        """The query by which it is derived from another channel, or `None`."""
    def derive(self, query: str, name: str | None = None) -> Channel:
        """Derives a channel: what a query gives of this one, for sinks alone. With a name, others can open it by that at this process."""
    @property
    def members(self) -> list[str]:
        """The nodes that have it open, this one first."""
    def source(
        self,
        record: _RecordType | None = None,
        *,
        name: str | None = None,
        lossless: bool = False,
        keep: int = 0,
        query_time: tuple[float, float] | None = None,
        most_queries: int = 64,
        most_sinks: int = 64,
        parameters: Any = None,
        most_demands: int = 16,
    ) -> Source:
        """A source of records of this type, or of messages. See :class:`Source`."""
    def sink(
        self,
        record: _RecordType | Kinds | None = None,
        *,
        name: str | None = None,
        policy: str = "block",
        events: int | None = None,
        bytes: int | None = None,
        window: tuple[int, int] | None = None,
        longest: int | None = None,
        faults: str = "error",
        missing: str = "refuse",
        fields: Sequence[str] | None = None,
        rules: Iterable[_Rule] | None = None,
        until: str = "closed",
        heads: bool = False,
        query: str | None = None,
        parameters: Any = None,
    ) -> Sink:
        """A sink for records of this type, or for messages of any. See :class:`Sink`."""
    def info(self, timeout: float = 1.0) -> list[Member]:
        """Asks the members for their sources and sinks, and for the account of every source."""
    def close(self) -> None:
        """Leaves the channel. Its sources and sinks here end. In a forked process, this does
        nothing."""

@final
class _Place:
    def __new__(cls, name: str) -> Self: ...
    def begin(self) -> bool: ...
    @property
    def heard(self) -> bool: ...
    def emit(self, values: list[tuple[Any, ...]]) -> str | None: ...
    def fail(self) -> None: ...
    @staticmethod
    def failed() -> int: ...

@final
class _Symbols:
    def __new__(cls, symbols: list[tuple[str, int]]) -> Self: ...

@final
class Emitting:
    """What `emit_start` returns: records are submitted to channels until it is closed."""
    def __new__(cls, name: str) -> Self: ...
    def ids(self) -> list[str]:
        """The ids of the channels whose records have been emitted so far."""
    def close(self) -> None:
        """Stops emitting. Sinks have a second to take the last records."""
    def __enter__(self) -> Self: ...
    def __exit__(self, *_args: object) -> None: ...

@final
class Demand:
    """Values of the parameters of a source that its sinks ask for: the program submits records for each demand once."""

    @property
    def values(self) -> View:
        """The values by name, in the source's types."""
    @property
    def message(self) -> Message:
        """The values as a message."""
    @property
    def sinks(self) -> int:
        """How many sinks have them."""

@final
class Source:
    """Submits records to all sinks of a channel. `channel` is a channel or an id.

    A source waits a millisecond for an event, and ten in a second, for sinks with policy ``block`` that have no room. Then it
    drops events for them. With `lossless`, it waits as long as necessary for sinks with policy ``lossless``. It keeps the latest
    `keep` records for sinks that come later.

    `query_time` says how many seconds queries of other nodes may take, by their number of steps: one for an event, and all in a second,
    writing their results included. By default, all sources of a node have `(0.001, 0.02)` together. For queries beyond it, events are lost with the cause ``thinned``. One other node may have
    `most_sinks` sinks here, and all of them together `most_queries` different queries.

    `parameters` are values that sinks choose: these are the defaults, a record or a dict (docs/book/guides/parameters.md). The program
    submits records for each of the :meth:`demands`, of which there are `most_demands` at most, beside the defaults.
    """

    def __new__(
        cls,
        channel: Channel | str,
        record: _RecordType | None = None,
        *,
        name: str | None = None,
        lossless: bool = False,
        keep: int = 0,
        query_time: tuple[float, float] | None = None,
        most_queries: int = 64,
        most_sinks: int = 64,
        parameters: Any = None,
        most_demands: int = 16,
    ) -> Self: ...
    def submit(self, record: Any) -> int | None:
        """Submits a record, or all records of an array or a list. Returns the sequence number of the last, or `None` of none.
        Without sinks, records are only numbered. Waits while a sink has no room, as :class:`Source` says."""
    def submit_for(self, demand: Demand, record: Any) -> int:
        """Submits a record only to the sinks of a demand. For others, the event counts as skipped. Returns its sequence number."""
    def demands(self) -> list[Demand]:
        """What the sinks ask of this source's parameters: each demand once. Without sinks there is none, and nothing to generate."""
    def new_demands(self, timeout: float | None = None) -> list[Demand] | None:
        """The demands, if they are others than when the program was told of them last. Otherwise, waits for that, for `timeout` seconds,
        and then returns `None`."""
    def grant(self, demand: Demand, values: Any) -> None:
        """Grants a demand other values than its sinks ask for: a record, or a dict. Fields that are missing stay as they are. The sinks
        are told by :class:`isoform.Given`. If there is a demand for these values already, the sinks become part of it."""
    def refuse(self, demand: Demand, expected: str) -> None:
        """Refuses a demand. Its sinks are told what was `expected` by :class:`isoform.Refused`."""
    def wait_for_sinks(self, count: int = 1, timeout: float | None = None) -> None:
        """Waits until `count` sinks have subscribed. Raises :class:`isoform.Unavailable` if they have not in time: with the
        code `Forbidden` if there is none, and the rules do not let this node publish to a sink that is there."""
    @property
    def declined(self) -> Error | None:
        """Why the node of a sink has declined this source last, unless it has another sink here now: an error with the code
        `Forbidden` if the rules do not let this node publish, for example. `None` if none has."""
    @property
    def sinks(self) -> int:
        """The number of sinks that have subscribed."""
    def ledger(self) -> list[Ledger]:
        """The account with every subscribed sink, and with those that left most recently."""
    def close(self, timeout: float = 10.0) -> list[Ledger]:
        """Ends the source, waits until its sinks have taken all events, and returns the account.
        Calling it twice does no harm. In a forked process, it leaves the source of the parent as it
        is."""
    def __enter__(self) -> Self: ...
    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None, /
    ) -> None: ...

@final
class Sink:
    """Receives the events of a channel, as records of a type or of several :class:`Kinds`, or as messages without one. `channel`
    is a channel or an id.

    `policy` is the behaviour of sources when the sink is too slow: ``block`` (they wait as long as they grant, and
    then drop events), ``lossless`` (they wait as long as necessary; a source that is not `lossless` is refused), ``drop oldest``
    (they keep `events` events with `bytes` bytes), shorter ``oldest:1000``, or ``latest``. `window` limits the events and the bytes on their way.
    `longest` is the number of bytes of the longest accepted event, `faults` the treatment of numbers that do not fit, and
    `fields` the paths of the needed fields. The sink is refused if its records have no such field, or none of several kinds has
    it, and a sink of messages refuses the sources that lack one. `rules` are as for a :class:`Decoder`.
    `query` asks for less: the sources evaluate it for each event, and send nothing else
    (docs/book/guides/queries.md). The records of the sink are made of the results.
    `parameters` are values that the sources are asked for, of their parameters: a record, or a dict
    (docs/book/guides/parameters.md). :class:`isoform.Given` says what they give.
    With `heads`, the heads of events longer than 65,536 bytes come before the rest, as :class:`isoform.EventHead`,
    and :meth:`decline` declines the rest.
    Iterations (`for`, :meth:`records`, :meth:`batches`, `async for`) end when the sink or the channel is closed; with
    `until` = ``left`` also when the last source has left, after all of its events.
    """

    def __new__(
        cls,
        channel: Channel | str,
        record: _RecordType | Kinds | None = None,
        *,
        name: str | None = None,
        policy: str = "block",
        events: int | None = None,
        bytes: int | None = None,
        window: tuple[int, int] | None = None,
        longest: int | None = None,
        faults: str = "error",
        missing: str = "refuse",
        fields: Sequence[str] | None = None,
        rules: Iterable[_Rule] | None = None,
        until: str = "closed",
        heads: bool = False,
        query: str | None = None,
        parameters: Any = None,
    ) -> Self: ...
    def recv(self, timeout: float | None = None) -> Event | None:
        """The next event, or `None` if none arrives within `timeout` seconds."""
    def recv_many(self, most: int = 8192, timeout: float | None = None) -> Event | None:
        """The records that have arrived, up to `most` and 8 MiB (or one), as one :class:`isoform.Records`. Another event is
        returned as by :meth:`recv`. For records without strings and arrays of variable length. A sink of several kinds returns
        records of one kind; those that no array can hold come one by one, as by :meth:`recv`."""
    def batches(self, most: int = 8192) -> Iterator[Event]:
        """The results of :meth:`recv_many`, until the iteration ends (`until`)."""
    def records(self) -> Iterator[Any]:
        """The records without other events, until the iteration ends (`until`). There is a
        `RuntimeWarning` for each source that is refused, and one when events are lost, once for each
        sink: `counts.lost` says how many, and iterating over the sink tells of each
        :class:`isoform.Gap`."""
    def set_policy(self, policy: str, *, events: int | None = None, bytes: int | None = None) -> None:
        """Asks all sources for another policy. :class:`isoform.Granted` tells what they grant."""
    def set_parameters(self, values: Any) -> None:
        """Asks all sources for other values of their parameters: a record, or a dict. Fields that are missing have the source's default.
        :class:`isoform.Given` says from which event on they hold, or why not."""
    def decline(self, head: EventHead) -> bool:
        """Declines the rest of a long event, by its head. Returns whether that was still on its way. Then a
        :class:`isoform.Gap` comes in its place, with the cause ``declined``; or the event after all, if its source had sent it
        already."""
    @property
    def counts(self) -> Counts:
        """The counts of its events, of refused sources, and of records that did not fit."""
    def fileno(self) -> int:
        """A descriptor that is readable when an event has arrived, for `select` and event loops. On
        Windows, it is a socket. It belongs to the sink: end it by :meth:`close`, and never by
        `os.close`."""
    def _notes_loss(self) -> bool: ...
    def _patience(self) -> float | None: ...
    def _begin(self) -> None: ...
    def _descriptor(self) -> int: ...
    def __iter__(self) -> Iterator[Event]: ...
    def __next__(self) -> Event: ...
    def __aiter__(self) -> AsyncIterator[Event]: ...
    def close(self) -> None:
        """Leaves the channel. Calling it twice does no harm. In a forked process, it leaves the sink
        of the parent as it is."""
    def __enter__(self) -> Self: ...
    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None, /
    ) -> None: ...

__version__: str

def codes() -> list[tuple[int, str, str]]: ...
def _forked() -> None: ...
def _stand_behind(face: ModuleType) -> None: ...

__all__ = [
    "Batch",
    "Channel",
    "Columns",
    "Decoder",
    "Demand",
    "Document",
    "Emitting",
    "Encoder",
    "Field",
    "Format",
    "Head",
    "Kinds",
    "Message",
    "Node",
    "Reader",
    "Registry",
    "Responder",
    "Servers",
    "Sink",
    "Source",
    "Structure",
    "Texts",
    "Watch",
    "Writer",
    "_Later",
    "_Place",
    "_Symbols",
    "__version__",
    "_forked",
    "_stand_behind",
    "codes",
]
