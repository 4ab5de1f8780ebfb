"""A thread that looks at a document in place of the program."""

from __future__ import annotations

import atexit
import sys
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, final

from .errors import Error

if TYPE_CHECKING:
    from ._isoform import Format, Watch


@final
class Watching:
    """The thread that :meth:`Watch.spawn` starts. It ends when this is closed, and when the program ends."""

    def __init__(self, watch: Watch, function: Callable[[Format | Error], object]) -> None:
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, args=(watch, function), name="isoform-watch", daemon=True)
        self._thread.start()
        atexit.register(self._wait)

    def close(self) -> None:
        """Ends the thread, which may still finish a request, without waiting for it. The function is not called again, unless another
        thread is just calling it."""
        self._ended.set()

    def __enter__(self) -> Watching:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _run(self, watch: Watch, function: Callable[[Format | Error], object]) -> None:
        try:
            while not self._ended.is_set():
                found: Format | Error | None
                try:
                    found = watch.poll()
                except Error as error:
                    found = error
                if found is not None and not self._ended.is_set():
                    try:
                        function(found)
                    except Exception:
                        # As for any thread, but the document is watched on.
                        threading.excepthook(threading.ExceptHookArgs((*sys.exc_info(), self._thread)))
                self._ended.wait(watch.due)
        finally:
            atexit.unregister(self._wait)

    # A thread that came back from a request after the interpreter has ended would be in its way.
    def _wait(self) -> None:
        self.close()
        self._thread.join()
