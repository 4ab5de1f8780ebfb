"""Streams and recordings in files, read as a whole: as messages, records, or columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from os import PathLike
from typing import Any

from ._isoform import Batch, Columns, Decoder, Format, Message, Reader
from .errors import wrong_type


class File:
    """A stream, or a recording of `isoform record`, in a file. `isoform.open` makes it.

    It is an iterable of its messages, from the beginning each time. The keywords are those of `Reader`, such as `query`, and `channel`
    for a recording of several channels.
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

    def records(self, record: Any = None, *, name: str | None = None, **options: Any) -> Any:
        """All records, as `Decoder.decode_many` returns them: one array of a dtype, or a list.

        `record` is their type; by default, they are as the first sender has them. If the file has records of several names, `name` says
        which. The keywords are those of `Decoder`, such as `missing`.
        """
        name, format = self._kind(name)
        return Decoder(format if record is None else record, **options).decode_many(self._batches(name))

    def columns(self, fields: Sequence[str] | None = None, *, record: Any = None, name: str | None = None, **options: Any) -> Columns:
        """Single fields of all records, each as an array: ``pandas.DataFrame(dict(file.columns()))``, ``polars.DataFrame(file.columns())``.

        By default, all fields. The other arguments are those of `records`, and the keywords those of `Columns`.
        """
        name, format = self._kind(name)
        columns = Columns(format if record is None else record, fields, **options)
        columns.append(self._batches(name))
        return columns

    def _reader(self) -> Reader:
        return Reader(self.path, **self._options)

    def _batches(self, name: str) -> Iterator[Batch]:
        with self._reader() as reader:
            while (batch := reader.next_batch()) is not None:
                if batch.format.name == name:
                    yield batch

    def _kind(self, name: str | None) -> tuple[str, Format]:
        """The name of the records that are wanted, and their first format."""
        found: dict[str, Format] = {}
        with self._reader() as reader:
            while (head := reader.peek()) is not None:
                found.setdefault(head.format.name, head.format)
                if head.format.name == name:
                    break
                reader.skip()
        if name is None and len(found) == 1:
            (name,) = found
        if name is None or name not in found:
            names = ", ".join(found) or "no records"
            raise wrong_type(str(self.path), "the name of its records" if name is None else f"records of {name}", names)
        return name, found[name]
