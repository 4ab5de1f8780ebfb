"""Runs the guide to format services from its first line to its last, as a reader who types all of it:

    python formats.py COMMAND PREFIX

COMMAND is the command `isoform`, and PREFIX is where the C library is installed. The services listen at other ports than the guide
says. Nothing waits for a time: programs are asked until they answer.
"""

import contextlib
import os
import pathlib
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from typing import Any

GUIDE = pathlib.Path(__file__).parents[2] / "docs/book/guides/formats.md"
COMPILED = "$(pkg-config --cflags --libs isoform)"
PATIENCE = 120


def blocks(text: str) -> list[tuple[str, str, str]]:
    """The language of each block, the last file that the text before it names, and the block."""
    found, end = [], 0
    for block in re.finditer(r"^```([a-z]+)[^\n]*\n(.*?)^```$", text, re.M | re.S):
        names = re.findall(r"`([a-z]+\.(?:py|c))`", text[end : block.start()])
        found.append((block[1], names[-1] if names else "", block[2]))
        end = block.end()
    return found


def free(ports: set[str]) -> dict[str, str]:
    """Another port for each, at which nobody listens. None of them is one that the system gives to connections."""
    chosen: dict[str, str] = {}
    for port in sorted(ports):
        while port not in chosen:
            other = random.randrange(20_000, 30_000)
            with socket.socket() as probe, contextlib.suppress(OSError):
                probe.bind(("127.0.0.1", other))
                if str(other) not in chosen.values():
                    chosen[port] = str(other)
    return chosen


class Reader:
    """Who reads the guide, in a folder of their own."""

    def __init__(self, command: pathlib.Path, prefix: pathlib.Path, folder: pathlib.Path) -> None:
        self.prefix, self.folder = prefix, folder
        self.running: list[subprocess.Popen[str]] = []
        self.jobs: list[subprocess.Popen[str]] = []
        self.later: list[str] = []
        text = GUIDE.read_text()
        self.ports = free(set(re.findall(r"(?:127\.0\.0\.1|localhost):(7\d\d\d)\b", text)))
        self.blocks = [(language, name, self.moved(block)) for language, name, block in blocks(text)]
        programs = [str(command.parent), str(pathlib.Path(sys.executable).parent), os.environ["PATH"]]
        self.environment = {key: value for key, value in os.environ.items() if not key.startswith("ISOFORM_")} | {
            "PATH": os.pathsep.join(programs),
            "LD_LIBRARY_PATH": str(prefix / "lib"),
            "DYLD_LIBRARY_PATH": str(prefix / "lib"),
            "ISOFORM_FORMATS": self.moved("http://127.0.0.1:7460"),
            "XDG_DATA_HOME": str(folder / "data"),
            "XDG_CACHE_HOME": str(folder / "cache"),
        }
        self.namespace: dict[str, Any] = {"__name__": "__main__"}

    def moved(self, text: str) -> str:
        return re.sub(r"(127\.0\.0\.1|localhost):(7\d\d\d)\b", lambda place: f"{place[1]}:{self.ports[place[2]]}", text)

    def read(self) -> None:
        numbers = iter(range(len(self.blocks)))
        for number in numbers:
            language, name, block = self.blocks[number]
            if language == "sh":
                for line in block.replace("\\\n", "").splitlines():
                    self.type(line)
            elif name:
                (self.folder / name).write_text(block)
            elif language == "python":
                # A program that waits for its user, who runs the next one meanwhile.
                self.namespace["input"] = lambda _: self.execute(self.blocks[next(numbers)][2])
                self.execute(block)

    def execute(self, block: str) -> None:
        print(block, flush=True)
        exec(compile(block, str(GUIDE), "exec", dont_inherit=True), self.namespace)
        for line in self.later:
            self.type(line)
        self.later.clear()

    def type(self, line: str) -> None:
        """A line of a shell."""
        line, _, comment = line.partition("   #")
        line = line.strip()
        print(f"$ {line}", flush=True)
        if line.startswith("export "):
            self.environment.update(word.split("=", 1) for word in line.split()[1:])
        elif line.startswith("isoform dump levels.iso") and not (self.folder / "levels.iso").exists():
            self.later.append(line)
        elif line.startswith("isoform serve") and not line.endswith("--once"):
            self.serve(line.removesuffix("&"))
        elif line.startswith("kill "):
            for job in line.split()[1:]:
                ended(self.jobs[int(job.removeprefix("%")) - 1])
        elif line.startswith("pip ") or "zeromq.py" in line:
            pass  # tests/service/brokers.py runs them.
        else:
            self.run(line, refused=" refused" in comment, soon=" within " in comment)
        if line.startswith("mkfifo"):
            self.exchange()

    def serve(self, line: str) -> None:
        if "--listen" not in line:
            line += self.moved(" --listen 127.0.0.1:7460")
        server = self.start(line.split(), stderr=subprocess.PIPE)
        assert server.stderr
        told = server.stderr.readline()
        assert told.startswith("-- http"), told
        # In a shell of their own, those that are started in the background have numbers.
        self.jobs = [*self.jobs, server] if "--peer" in line else [server]
        self.jobs = [job for job in self.jobs if "--peer" in " ".join(map(str, job.args)) or "--peer" not in line]

    def start(self, line: list[str], **options: Any) -> "subprocess.Popen[str]":
        program = shutil.which(line[0], path=self.environment["PATH"]) or line[0]
        process = subprocess.Popen([program, *line[1:]], cwd=self.folder, env=self.environment, text=True, **options)
        self.running.append(process)
        return process

    def run(self, line: str, refused: bool, soon: bool) -> None:
        flags = f"-I{self.prefix / 'include'} -L{self.prefix / 'lib'} -lisoform -lpthread"
        line = line.replace(COMPILED, flags)
        line = re.sub(r"^python\b", f"'{sys.executable}'", line)
        end = time.monotonic() + PATIENCE
        while True:
            ran = subprocess.run(line, shell=True, cwd=self.folder, env=self.environment, stdin=subprocess.DEVNULL)
            if ran.returncode == 0 or not soon or time.monotonic() > end:
                break
            time.sleep(0.1)
        assert (ran.returncode != 0) == refused, f"{line}: exit status {ran.returncode}"

    def exchange(self) -> None:
        """What the guide says of the producer and the consumer: both go on when the service is killed, and begin again without it."""
        (service,) = self.jobs
        for begins in ("with the service", "without it"):
            consumer = self.start([sys.executable, "watch.py"], stdout=subprocess.PIPE)
            producer = self.start(["./gauge"], stdin=subprocess.PIPE)
            assert consumer.stdout and producer.stdin
            for step, depth in enumerate([0.5, 1.5]):
                producer.stdin.write(f"{depth}\n")
                producer.stdin.flush()
                assert consumer.stdout.readline() == f"Gauge {step} {depth}\n", begins
                if service.poll() is None:
                    ended(service)
            producer.stdin.close()
            assert producer.wait() == 0 and consumer.wait() == 0, begins
            print(f"both go on without a service, begun {begins}", flush=True)
        self.serve("isoform serve")

    def leave(self) -> None:
        for process in self.running:
            ended(process)


def ended(process: "subprocess.Popen[str]") -> None:
    if process.poll() is None:
        process.send_signal(signal.SIGKILL)
    process.wait()


def main(command: str, prefix: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        reader = Reader(pathlib.Path(command).resolve(), pathlib.Path(prefix).resolve(), pathlib.Path(folder))
        try:
            reader.read()
        finally:
            reader.leave()
            os.chdir("/")


if __name__ == "__main__":
    missing = [tool for tool in ("cc", "openssl") if not shutil.which(tool)]
    if missing:
        print(f"*** SKIPPED: the guide to format services. It needs {' and '.join(missing)} ***")
    else:
        arguments = [os.path.abspath(path) for path in sys.argv[1:]]
        main(*arguments)
