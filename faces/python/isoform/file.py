"""Streams and recordings in files, read as a whole: as messages, records, or columns."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from os import PathLike
from typing import Any, TypeVar

from ._isoform import Batch, Columns, Decoder, Format, Message, Reader
from .errors import Code, Mismatch, Usage, wrong_type

_T = TypeVar("_T")
_ONE = "one kind of records"
#: Of these, an error names so many.
_FIELDS, _KINDS = 12, 10


class File:
    """A stream, or a recording of `isoform record`, in a file. `isoform.open` makes it.

    It is an iterable of its messages, from the beginning each time. The keywords are those of `Reader`: `query`; `channel` for a recording of
    several channels, `start` and `end` for a part of it, in seconds since its beginning; ``damage="skip"`` for the whole part of a
    recording that is cut or damaged, or of a stream that is cut. A window of a query that ends with a cut stream has no result.
    """

    def __init__(self, path: str | PathLike[str], **options: Any) -> None:
        self.path = path
        self._options = options
        self._reader().close()  # so that a file that is not there is an error here

    def __repr__(self) -> str:
        return f"File({str(self.path)!r})"

    def __iter__(self) -> Iterator[Message]:
        with self._reader() as reader:
            yield from reader

    def formats(self) -> list[Format]:
        """The formats of the records. The file is read for that."""
        with self._reader() as reader:
            while reader.skip():
                pass
            return reader.formats()

    def kinds(self, name: str | None = None) -> list[Format]:
        """The kinds of records, as a format of each: records of one name with the same fields, whatever machines they come from. The file is
        read for that. With `name`, those of this name: the number of one, from 1, is the `kind` of `columns` and `records`, and that
        in the name of its table by ``isoform export`` (``step.parquet``, ``step-2.parquet``)."""
        return [format for format in self._kinds() if name is None or format.name == name]

    def records(self, record: Any = None, *, name: str | None = None, kind: int | Format | None = None, **options: Any) -> Any:
        """All records, as `Decoder.decode_many` returns them: one array of a dtype, or a list.

        `record` is their type; by default, they are as the first sender has them. If the file has records of several names, `name` says
        which. If those of one name have other fields than others, `kind` says which: its number (see `kinds`), or its format. A format as
        `record` chooses its kind, too. The keywords are those of `Decoder`, such as `missing`.
        """
        choice = _Choice(self, record, name, kind, options)
        batches = choice.batches()
        kind_of = choice.first if record is None else record
        return choice.explained(lambda: Decoder(kind_of, **options).decode_many(batches))

    def columns(
        self,
        fields: Sequence[str] | None = None,
        *,
        record: Any = None,
        name: str | None = None,
        kind: int | Format | None = None,
        **options: Any,
    ) -> Columns:
        """Single fields of all records, each as an array: ``pandas.DataFrame(dict(file.columns()))``, ``polars.DataFrame(file.columns())``.

        By default, all fields. ``stamps=True`` adds what a recording knows of its events, in the columns ``isoform.topic``, ``isoform.source``,
        ``isoform.sequence``, ``isoform.submitted`` and ``isoform.recorded``; some of them can be among the fields. The other
        arguments are those of `records`, and the keywords those of `Columns`.
        """
        choice = _Choice(self, record, name, kind, options)
        batches = choice.batches()
        kind_of = choice.first if record is None else record

        def read() -> Columns:
            columns = Columns(kind_of, fields, **options)
            columns.append(batches)
            return columns

        return choice.explained(read)

    def _reader(self) -> Reader:
        return Reader(self.path, **self._options)

    def _kinds(self) -> list[Format]:
        found: dict[tuple[str, int], Format] = {}
        seen: set[str] = set()
        # Whoever reads the records is told of damage.
        with Reader(self.path, **{**self._options, "damage": "ignore"}) as reader:
            while (head := reader.peek()) is not None:
                format = head.format
                if format.token not in seen:
                    seen.add(format.token)
                    found.setdefault((format.name, format._kind), format)
                reader.skip()
        return list(found.values())


class _Choice:
    """The records that are wanted of a file."""

    def __init__(self, file: File, record: Any, name: str | None, kind: int | Format | None, options: dict[str, Any]) -> None:
        self.file = file
        self.record = record
        self.fills = options.get("missing") == "zero"
        self.name: str | None = name
        self.kind: int | None = None
        self.fields: frozenset[str] | None = None
        if isinstance(kind, Format):
            self.name, self.kind = name or kind.name, kind._kind
        elif kind is not None:
            self.name, self.kind = self._numbered(name, kind)
        elif isinstance(record, Format) and name in (None, record.name) and (formats := file.kinds(record.name)):
            # Senders of another machine or type are converted, as ever; those with other fields are another kind.
            self.name = record.name
            self.fields = _fields(record) if any(_fields(each) == _fields(record) for each in formats) else None
        self.first: Any = None
        self._said: set[frozenset[str]] = set()

    def batches(self) -> Iterator[Batch]:
        """The batches of these records. Afterwards, `first` is the format of the first of them."""
        batches = self._all()
        first = next(batches, None)
        if first is None:
            wanted = "records" if self.name is None else f"records of {self.name}"
            raise wrong_type(str(self.file.path), wanted, self._names())
        self.first = first.format
        return self._from(first, batches)

    def explained(self, act: Callable[[], _T]) -> _T:
        """The result of `act`. An error that comes of several kinds says so."""
        try:
            return act()
        except (Mismatch, Usage) as error:
            if self.kind is not None or self.fields is not None or error.expected == _ONE:
                raise
            kinds = self.file.kinds(self.name)
            if len(kinds) < 2:
                raise
            raise type(error)(f"{error}; {self._advice(kinds)}", error.code, error.path, error.expected, error.actual) from None

    def _from(self, first: Batch, rest: Iterator[Batch]) -> Iterator[Batch]:
        yield first
        yield from rest

    def _all(self) -> Iterator[Batch]:
        fields: frozenset[str] | None = None
        name = self.name
        with self.file._reader() as reader:
            while (batch := reader.next_batch()) is not None:
                format = batch.format
                if name is None:
                    name = format.name
                elif format.name != name:
                    if self.name is None:
                        raise self._several_names()
                    continue
                if self.kind is not None and format._kind != self.kind or self.fields is not None and _fields(format) != self.fields:
                    continue
                if fields is None:
                    fields = _fields(format)
                elif _fields(format) != fields:
                    self._other_fields(format, fields)
                yield batch

    def _other_fields(self, format: Format, first: frozenset[str]) -> None:
        """A record has other fields than the first. If no type of records was given, it is refused. If what it lacks is to be zero, that is
        said once of each kind."""
        if self.record is None:
            kinds = self.file.kinds(format.name)
            raise _of_kinds(f"several kinds of records of {format.name} in {self.file.path}: {self._advice(kinds)}", self.file.path)
        if not self.fills or _fields(format) in self._said:
            return
        wanted = _fields(Decoder(self.record, missing="zero").format)
        for fields in {first, _fields(format)} - self._said:
            self._said.add(fields)
            if lacking := ", ".join(sorted(wanted - fields)):
                text = f"records of {format.name} with the fields {', '.join(sorted(fields))} lack {lacking}, which is zero in their rows"
                warnings.warn(f"{text}; {self._advice(self.file.kinds(format.name))}", RuntimeWarning, stacklevel=7)

    def _numbered(self, name: str | None, kind: int) -> tuple[str, int]:
        kinds = self.file.kinds(name)
        names = {format.name for format in kinds}
        if len(names) > 1:
            raise self._several_names()
        if not isinstance(kind, int) or not 1 <= kind <= len(kinds):
            raise wrong_type("kind", f"a number from 1 to {len(kinds)}, or a format", repr(kind))
        return kinds[kind - 1].name, kinds[kind - 1]._kind

    def _names(self) -> str:
        return ", ".join(dict.fromkeys(format.name for format in self.file._kinds())) or "no records"

    def _several_names(self) -> Usage:
        path = self.file.path
        with self.file._reader() as reader:
            message = next(reader)
            topics = " or a channel by isoform.open(.., channel=..)," if message.topic is not None else ""
        text = f"records of several names in {path}, {self._names()}: choose one by name={message.format.name!r},"
        return _of_kinds(f"{text}{topics} or what they have in common by a query", path)

    def _advice(self, kinds: list[Format]) -> str:
        each = [f"{number}: {_words(format)}" for number, format in enumerate(kinds[:_KINDS], 1)]
        each += [".."] * (len(kinds) > _KINDS)
        return f"choose one by kind=1 .. kind={len(kinds)} ({'; '.join(each)}), or convert all by record=.."


def _words(format: Format) -> str:
    named = [f"{field.name} {field.type}" for field in format.fields[:_FIELDS]]
    return ", ".join(named + [".."] * (len(format.fields) > _FIELDS))


@lru_cache(maxsize=256)
def _fields(format: Format) -> frozenset[str]:
    return frozenset(field.name for field in format.fields)


def _of_kinds(text: str, path: Any) -> Usage:
    return Usage(text, Code.WrongType, str(path), _ONE, "several")
