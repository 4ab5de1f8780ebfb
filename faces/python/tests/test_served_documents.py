"""Documents of an HTTP server: the options of loading, a cache, and watches. And texts of many records."""

from __future__ import annotations

import io
import queue
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from os import PathLike
from pathlib import Path
from typing import IO

import isoform
import pytest

FIRST = "struct Gauge { long step; double level; };"


class Server:
    """A server of one document, with its versions: at /gauge.idl; /moved/N redirects N times."""

    def __init__(self) -> None:
        self.text = FIRST
        self.counts: Counter[int] = Counter()
        this = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                body = this.text.encode()
                tag = f'"{hash(body)}"'
                name, _, count = self.path.rpartition("/")
                if name == "/moved":
                    self.answer(302, b"", Location="/gauge.idl" if count == "1" else f"/moved/{int(count) - 1}")
                elif self.path != "/gauge.idl":
                    self.answer(404, b"none")
                elif self.headers["If-None-Match"] == tag:
                    self.answer(304, b"", ETag=tag)
                else:
                    self.answer(200, body, ETag=tag)

            def answer(self, code: int, body: bytes, **headers: str) -> None:
                this.counts[code] += 1
                self.send_response(code)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.01})
        self.thread.start()

    def place(self, path: str = "gauge.idl") -> str:
        return f"http://127.0.0.1:{self.server.server_port}/{path}"

    def stop(self) -> None:
        if self.thread.is_alive():
            self.server.shutdown()
            self.thread.join()
            self.server.server_close()


@pytest.fixture
def server() -> Iterator[Server]:
    server = Server()
    yield server
    server.stop()


def test_options_hold_for_servers(server: Server) -> None:
    assert isoform.Format.of_document(server.place(), "Gauge").size == 16
    with pytest.raises(isoform.Error, match="none.idl.*404"):
        isoform.Format.of_document(server.place("none.idl"), "Gauge")
    with pytest.raises(isoform.Error, match="at most 10 bytes"):
        isoform.Format.of_document(server.place(), "Gauge", limit=10)
    with pytest.raises(isoform.Error, match="one of the schemes https, file"):
        isoform.Format.of_document(server.place(), "Gauge", schemes="https,file")
    with pytest.raises(isoform.Error, match="at most 2 redirects"):
        isoform.Document(server.place("moved/3"), "Gauge", language="idl", redirects=2)
    assert isoform.Document(server.place("moved/3"), "Gauge", language="idl", redirects=3).format.size == 16


def test_with_a_cache_servers_are_asked_for_changes_and_may_be_down(server: Server, tmp_path: Path) -> None:
    for expected in [0, 1]:
        isoform.Format.of_document(server.place(), "Gauge", cache=tmp_path)
        assert (server.counts[200], server.counts[304]) == (1, expected)
    server.stop()
    assert isoform.Format.of_document(server.place(), "Gauge", cache=tmp_path).size == 16
    with pytest.raises(isoform.Unavailable):
        isoform.Format.of_document(server.place(), "Gauge")


def test_a_watch_asks_whether_the_document_has_changed(server: Server) -> None:
    watch = isoform.Watch(server.place(), "Gauge", every=0)
    assert watch.document is None
    first = watch.poll()
    assert first is not None and first.size == 16
    for _ in range(3):
        assert watch.poll() is None
    assert (server.counts[200], server.counts[304]) == (1, 3)
    # A new default is a change, and the decoder of the document has it.
    old = isoform.Format.of_shape("record Gauge\n  step  i32")
    sent = isoform.Encoder(old).encode({"step": 7})
    for level in [0.5, 1.5]:
        server.text = FIRST.replace("double", f"@default({level}) double")
        assert watch.poll() == first
        assert watch.document is not None
        assert isoform.Decoder(watch.document).decode(sent)["level"] == level
    server.text = "struct Level { double level; };"
    with pytest.raises(isoform.Error, match="Gauge"):
        watch.poll()
    assert watch.poll() is None
    patient = isoform.Watch(server.place(), "Level", every=3600)
    assert patient.due == 0 and patient.poll() is not None and 3000 < patient.due <= 3600


def test_a_thread_tells_of_changes(server: Server) -> None:
    told: queue.Queue[isoform.Format | isoform.Error] = queue.Queue()
    with isoform.Watch(server.place(), "Gauge", every=0.001).spawn(told.put):
        first = told.get(timeout=60)
        assert isinstance(first, isoform.Format) and first.size == 16
        server.text = "struct Level { long step; };"
        assert isinstance(told.get(timeout=60), isoform.Error)
        server.text = "struct Gauge { long step; };"
        again = told.get(timeout=60)
        assert isinstance(again, isoform.Format) and again.size == 4
    assert told.empty()


def test_a_function_that_fails_does_not_end_the_watch(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    failures: queue.Queue[object] = queue.Queue()
    monkeypatch.setattr("threading.excepthook", failures.put)
    told: queue.Queue[isoform.Format | isoform.Error] = queue.Queue()

    def fail_at_first(found: isoform.Format | isoform.Error) -> None:
        told.put(found)
        if failures.empty():
            raise ValueError("not today")

    with isoform.Watch(server.place(), "Gauge", every=0.001).spawn(fail_at_first):
        assert told.get(timeout=60) is not None
        assert failures.get(timeout=60).exc_type is ValueError  # type: ignore[attr-defined]
        failures.put(None)
        server.text = "struct Gauge { long step; };"
        found = told.get(timeout=60)
        assert isinstance(found, isoform.Format) and found.size == 4


def test_a_program_ends_while_a_thread_watches(server: Server) -> None:
    program = f"""
import isoform, threading
told = threading.Event()
isoform.Watch({server.place()!r}, "Gauge", every=0.0).spawn(lambda format: told.set())
assert told.wait(60)
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=120)


XML = "<Gauge><step>{}</step><level>0.5</level></Gauge>"


def test_texts_have_many_records(tmp_path: Path) -> None:
    place = tmp_path / "gauge.idl"
    place.write_text(FIRST)
    gauge = isoform.Document(str(place), "Gauge")
    xml, json = "\n".join(XML.format(step) for step in range(500)), '{{"step": {}, "level": 0.5}}\n'

    def within(source: str | PathLike[str] | IO[bytes]) -> isoform.Texts:
        return gauge.records_of_xml(source, within="river")

    for text, read in [
        (xml, gauge.records_of_xml),
        (f"<?xml version='1.0'?><river at='here'>{xml}</river>", within),
        ("\n".join(json.format(step) for step in range(500)), gauge.records_of_json),
    ]:
        steps = [message.view().step for message in read(io.BytesIO(text.encode()))]
        assert steps == list(range(500))
        file = tmp_path / "river.txt"
        file.write_text(text)
        assert isoform.Decoder(gauge).decode_many(read(file))["step"].tolist() == steps
    # What the document writes for each record is such a text.
    written = "".join(gauge.to_xml({"step": step, "level": 0.5}) + "\n" for step in range(500))
    assert written == xml + "\n"
    lines = gauge.records_of_json(io.BytesIO(b'{"step": 1, "level": 1}\n\n{"step": "one"}\n{"step": 2}'))
    assert next(lines).view().level == 1
    with pytest.raises(isoform.Error, match=r"step.*line 3|line 3.*step"):
        next(lines)
    assert list(lines) == []
    with pytest.raises(isoform.Error, match="river"):
        next(gauge.records_of_xml(io.BytesIO(xml.encode()), within="river"))

    class Broken:
        def read(self, _: int) -> bytes:
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        next(gauge.records_of_xml(Broken()))  # type: ignore[arg-type]
    with pytest.raises(isoform.Error, match="an object with `read`"):
        gauge.records_of_json(7)  # type: ignore[arg-type]
