"""Formats that a stream does not describe: found at servers or by a function, and registered by writers."""

from __future__ import annotations

import contextlib
import http.server
import io
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, Iterator

import isoform
import numpy as np
import pytest

LEVEL = np.dtype([("level", "f8")])
LATER = np.dtype([("level", "f8"), ("step", "i4")])
DEAD = "http://127.0.0.1:1"


def command() -> Path:
    """The command, which is built beside the package, unless without the service."""
    target = os.environ.get("CARGO_TARGET_DIR") or Path(__file__).parents[3] / "target"
    program = Path(target).resolve() / "debug" / "isoform"
    if not program.exists() or subprocess.run([program, "help", "serve"], capture_output=True).returncode:
        pytest.skip("the command is not built, or has no format service")
    return program


@contextlib.contextmanager
def service(folder: Path) -> Iterator[str]:
    arguments = ["serve", "--store", str(folder / "formats.redb"), "--listen", "127.0.0.1:0"]
    with subprocess.Popen([command(), *arguments], stderr=subprocess.PIPE, text=True) as server:
        assert server.stderr
        try:
            yield server.stderr.readline().split()[1]
        finally:
            server.kill()


def bare(record: np.dtype, level: float) -> bytes:
    """A message without the description of its format, padded."""
    values = (level, 7) if "step" in (record.names or ()) else (level,)
    message = bytes(isoform.Encoder(record).encode(values))
    return message + bytes(-len(message) % 16)


def test_a_writer_registers_and_a_reader_finds(tmp_path: Path) -> None:
    stream = io.BytesIO()
    with service(tmp_path) as url:
        with isoform.Writer(stream, LEVEL, servers=url) as writer:
            writer.write((1.5,))
            writer.write((2.5,))
        assert stream.getvalue() == bare(LEVEL, 1.5) + bare(LEVEL, 2.5), "no description"
        reader = isoform.Reader(io.BytesIO(stream.getvalue()), servers=[DEAD, url])
        assert next(reader).view()["level"] == 1.5
        cached = isoform.Servers(f"{DEAD},{url}", cache=tmp_path / "cache")
        registry = isoform.Registry(servers=cached)
        assert isoform.Message.parse(stream.getvalue(), registry).view()["level"] == 1.5
        assert cached.find(isoform.Format.of(LEVEL).token) == isoform.Format.of(LEVEL)
        del cached, registry  # the end waits for the disk
    # Every server is killed. Those who know the format are not affected, and the cache knows it.
    assert next(reader).view()["level"] == 2.5
    again = isoform.Reader(io.BytesIO(stream.getvalue()), servers=isoform.Servers(url, cache=tmp_path / "cache"))
    assert [message.view()["level"] for message in again] == [1.5, 2.5]
    # So do other readers and writers of this process, and none with other servers.
    assert next(isoform.Reader(io.BytesIO(stream.getvalue()), servers=[DEAD, url])).view()["level"] == 1.5
    after = io.BytesIO()
    with isoform.Writer(after, LEVEL, servers=url) as writer:
        writer.write((1.5,))
    assert after.getvalue() == bare(LEVEL, 1.5)
    nobody = ["http://127.0.0.1:2", DEAD]
    with pytest.raises(isoform.Unavailable) as fault:
        next(isoform.Reader(io.BytesIO(stream.getvalue()), servers=nobody))
    for named in (isoform.Format.of(LEVEL).token, *nobody, "efused"):
        assert named in str(fault.value)
    # A writer whose format no server could be asked to store describes it in the stream, as one without servers does.
    written = []
    for servers in (nobody, None):
        after = io.BytesIO()
        with isoform.Writer(after, LEVEL, servers=servers) as writer:
            writer.write((1.5,))
            writer.write((2.5,))
        written.append(after.getvalue())
    assert written[0] == written[1]
    assert [message.view()["level"] for message in isoform.Reader(io.BytesIO(written[0]))] == [1.5, 2.5]


def test_a_new_process_with_the_cache_needs_no_server(tmp_path: Path) -> None:
    program = """
import io, sys, isoform, numpy as np
url, cache, field = sys.argv[1:]
stream, level = io.BytesIO(), np.dtype([(field, "f8")])
with isoform.Writer(stream, level, servers=isoform.Servers(url, cache=cache)) as writer:
    writer.write((1.5,))
(message,) = isoform.Reader(io.BytesIO(stream.getvalue()), servers=isoform.Servers(url, cache=cache))
print(message.view()[field])
"""

    def run(url: str, field: str) -> subprocess.CompletedProcess[str]:
        arguments = [sys.executable, "-c", program, url, str(tmp_path / "cache"), field]
        return subprocess.run(arguments, capture_output=True, text=True)

    with service(tmp_path) as url:
        assert run(url, "level").stdout == "1.5\n"
    again = run(url, "level")
    assert (again.stdout, again.stderr) == ("1.5\n", "")
    # Nobody has stored this one, and this server nothing. Then the stream describes it.
    for server, field in ((url, "other"), (DEAD, "level")):
        assert run(server, field).stdout == "1.5\n"


def test_an_unknown_format_is_not_an_unreachable_server(tmp_path: Path) -> None:
    with service(tmp_path) as url:
        with pytest.raises(isoform.Unavailable) as fault:
            isoform.Servers(url).find("07" * 16)
        assert fault.value.code == isoform.Code.UnknownFormat and url in str(fault.value)
        servers = isoform.Servers(url)
        servers.put(isoform.Format.of(LATER))
        reader = isoform.Reader(io.BytesIO(bare(LEVEL, 1.5) + bare(LATER, 2.5)), servers=servers)
        with pytest.raises(isoform.Unavailable) as fault:
            next(reader)
        assert fault.value.token == isoform.Format.of(LEVEL).token
        assert next(reader).view()["step"] == 7, "the reader goes on"


def test_secrets_are_in_no_text() -> None:
    wrong = ["http://kaethe:pw-77aa@127.0.0.1:1", "ftp://kaethe:pw-77aa@host", "kaethe:pw-77aa@host"]
    for url in wrong:
        with pytest.raises(isoform.Error) as fault:
            isoform.Servers(url, bearer="secret-4f0c").find("07" * 16)
        assert "pw-77aa" not in repr(fault.value) and "kaethe" not in str(fault.value)
    servers = isoform.Servers([wrong[0], DEAD], bearer="secret-4f0c")
    with pytest.raises(isoform.Unavailable) as fault:
        next(isoform.Reader(io.BytesIO(bare(LEVEL, 1.5)), servers=servers))
    for text in (repr(servers), str(servers), str(fault.value), repr(fault.value), repr(vars(fault.value))):
        assert not any(secret in text for secret in ("pw-77aa", "kaethe", "secret-4f0c")), text
    with pytest.raises(isoform.Error) as fault:
        isoform.Servers(DEAD, bearer="secret 4f0c")
    assert "4f0c" not in str(fault.value)


def test_a_lying_server_is_refused() -> None:
    class Liar(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(isoform.Format.of(LATER).description)

        def log_message(self, *_: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Liar) as liar:
        threading.Thread(target=liar.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{liar.server_port}"
        reader = isoform.Reader(io.BytesIO(bare(LEVEL, 1.5) + bare(LATER, 2.5)), servers=url)
        with pytest.raises(isoform.Error) as fault:
            next(reader)
        assert fault.value.code == isoform.Code.TokenMismatch and url in str(fault.value)
        assert next(reader).view()["step"] == 7, "which is what it says that everything is"
        liar.shutdown()


def test_a_function_finds_formats() -> None:
    known: dict[str, bytes] = {}
    asked = []

    def resolver(token: str) -> bytes | None:
        asked.append(token)
        return known.get(token)

    token = isoform.Format.of(LEVEL).token
    reader = isoform.Reader(io.BytesIO(bare(LEVEL, 1.5) + bare(LEVEL, 2.5) + bare(LEVEL, 3.5)), resolver=resolver)
    with pytest.raises(isoform.Unavailable):
        next(reader)
    known[token] = isoform.Format.of(LEVEL).description
    assert [message.view()["level"] for message in reader] == [2.5, 3.5]
    assert asked == [token, token]
    registry = isoform.Registry(resolver=resolver)
    assert isoform.Message.parse(bare(LEVEL, 1.5), registry).view()["level"] == 1.5


@pytest.mark.parametrize("fault", [ValueError("no time"), KeyboardInterrupt(), isoform.Usage("no", isoform.Code.WrongType)], ids=repr)
def test_what_a_function_raises_is_passed_on(fault: BaseException) -> None:
    def resolver(_: str) -> bytes | None:
        raise fault

    token = isoform.Format.of(LEVEL).token
    reader = isoform.Reader(io.BytesIO(bare(LEVEL, 1.5)), resolver=resolver)
    acts: list[Callable[[], object]] = [lambda: next(reader), lambda: isoform.Message.parse(bare(LEVEL, 1.5), isoform.Registry(resolver=resolver))]
    for act in acts:
        with pytest.raises(type(fault)) as passed:
            act()
        assert passed.value is fault
    with pytest.raises(isoform.Unavailable) as later:  # which it does not stand for
        isoform.Message.parse(bare(LEVEL, 1.5), isoform.Registry())
    assert later.value.token == token


@pytest.mark.parametrize("found", [b"nothing", b"", "text", 5])
def test_what_a_function_does_wrong_is_an_error(found: Any) -> None:
    def resolver(_: str) -> bytes | None:
        return found  # type: ignore[no-any-return]

    reader = isoform.Reader(io.BytesIO(bare(LEVEL, 1.5)), resolver=resolver)
    with pytest.raises(isoform.Error):
        next(reader)


def test_what_names_no_server_is_refused() -> None:
    with pytest.raises(isoform.Error):
        isoform.Servers("formats:7460")
    with pytest.raises(isoform.Usage):
        isoform.Reader(io.BytesIO(), isoform.Registry(), servers=DEAD)
    with pytest.raises(isoform.Usage):
        isoform.Registry(servers=DEAD, resolver=lambda _: None)


def test_a_program_answers_for_its_own_formats(tmp_path: Path) -> None:
    stream = io.BytesIO()
    with isoform.Responder() as responder:
        assert responder.url.startswith("http://127.0.0.1:")
        with isoform.Writer(stream, LEVEL, responder=responder) as writer:
            writer.write((1.5,))
        host = responder.url.removeprefix("http://")
        stranger = isoform.Reader(io.BytesIO(stream.getvalue()), servers=isoform.Servers())
        with pytest.raises(isoform.Error, match=f"names http://{host}, which is not an allowed host"):
            next(stranger)
        near = isoform.Servers(hosts=["localhost", host], cache=tmp_path)
        assert next(isoform.Reader(io.BytesIO(stream.getvalue()), servers=near)).view()["level"] == 1.5
        del near  # the end waits for the disk
    # The program has ended, and the cache has the format.
    assert next(isoform.Reader(io.BytesIO(stream.getvalue()), servers=isoform.Servers(cache=tmp_path))).view()["level"] == 1.5
    responder.close()
    with pytest.raises(isoform.Error, match="a closed Responder"):
        isoform.Writer(io.BytesIO(), LEVEL, responder=responder)


def test_a_responder_and_its_mistakes() -> None:
    level = isoform.Format.of(LEVEL)
    with isoform.Responder("127.0.0.1:0") as responder:
        responder.put(level)
        stream = io.BytesIO()
        with isoform.Writer(stream, LEVEL, responder=responder, locators="http://sim7:7460") as writer:
            writer.write((1.5,))
        assert b"http://sim7:7460" in stream.getvalue() and responder.url.encode() not in stream.getvalue()
        with pytest.raises(isoform.Error, match="servers or a responder, but not both"):
            isoform.Writer(io.BytesIO(), LEVEL, servers=DEAD, responder=responder)
    with pytest.raises(isoform.Error, match="an address of this machine"):
        isoform.Responder("0.0.0.0:0")
    isoform.Responder("0.0.0.0:0", insecure=True).close()
    with pytest.raises(isoform.Error, match="HOST:PORT"):
        isoform.Responder("nowhere")
    with pytest.raises(isoform.Error, match="the URL of a server"):
        isoform.Writer(io.BytesIO(), LEVEL, locators="ftp://sim7")
    with pytest.raises(isoform.Error, match="a host, or a host and a port"):
        isoform.Servers(hosts="http://sim7")
    with pytest.raises(isoform.Error, match="nowhere.pem"):
        isoform.Servers("https://127.0.0.1:1", trust="nowhere.pem")
    with pytest.raises(isoform.Error, match="a server at which formats are registered"):
        isoform.Servers().put(level)


def test_a_record_alone_with_its_description() -> None:
    packet = io.BytesIO()
    with isoform.Writer(packet, LEVEL) as writer:
        writer.write((1.5,))
    (message,) = isoform.Reader(io.BytesIO(packet.getvalue()))
    assert message.view()["level"] == 1.5
