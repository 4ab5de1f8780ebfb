"""The examples run, and so does the plot."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import isoform
import numpy as np
import pytest

EXAMPLES = Path(__file__).parents[3] / "examples/python"


def run(name: str, *arguments: str) -> list[str]:
    command = [sys.executable, str(EXAMPLES / name), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=60).stdout.splitlines()


def test_a_stream(tmp_path: Path) -> None:
    lines = run("stream.py", str(tmp_path / "river.iso"))
    assert lines == [f"Old Mill: step {step}, depth 0.5 {0.25 * step:g} 2 m, 11.5 degrees" for step in range(3)]


def test_a_source_and_a_sink() -> None:
    command = [sys.executable, str(EXAMPLES / "source.py"), "127.0.0.1:0"]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True) as source:
        assert source.stdout is not None and source.stderr is not None
        lines = run("sink.py", source.stdout.readline().strip(), "step", "station", "depth[1]")
        assert source.stderr.read() == "submitted 30, taken 30, lost 0\n"
    assert lines == [f"{step} Old Mill {0.25 * step}" for step in range(30)]


SAMPLE = np.dtype([("step", ">i4"), ("depth", ">f8"), ("row", ">f4", (20,)), ("table", ">f4", (4, 5)), ("text", "S4")])


def interrupted(channel: str, png: Path) -> None:
    """A file is drawn of what had come, also if nobody wants to wait for the end."""
    command = [sys.executable, "-m", "isoform", "plot", channel, "depth", "--png", str(png), "--seconds", "60"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            known = isoform.open(channel)
            until = time.monotonic() + 30
            while not any(sink.taken > 0 for member in known.info() for sink in member.sinks):
                assert time.monotonic() < until
                time.sleep(0.05)
            time.sleep(1)
            process.send_signal(signal.SIGINT)
            assert "events" in process.communicate(timeout=30)[0]
        finally:
            process.kill()
    assert process.returncode == 0 and png.read_bytes()[:4] == b"\x89PNG"


def test_a_plot(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("matplotlib")
    from isoform.__main__ import main

    channel = isoform.create("plotted", SAMPLE)
    stop = threading.Event()

    def submit() -> None:
        with channel.source(SAMPLE) as source:
            source.wait_for_sinks()
            sample = np.zeros(1, SAMPLE)
            while not stop.wait(0.005):
                sample["step"] += 1
                sample["depth"], sample["row"] = np.sin(sample["step"] / 10), np.arange(20)
                source.submit(sample)

    thread = threading.Thread(target=submit)
    thread.start()
    try:
        for fields in ([], ["depth", "row", "table", "row[3]"]):
            png = tmp_path / f"{len(fields)}.png"
            assert main(["plot", channel.id, *fields, "--png", str(png), "--seconds", "0.5"]) == 0
            assert png.read_bytes()[:4] == b"\x89PNG" and "events" in capsys.readouterr().out
        png = tmp_path / "against.png"
        assert main(["plot", channel.id, "depth", "--x", "step", "--png", str(png), "--seconds", "0.5"]) == 0
        assert png.read_bytes()[:4] == b"\x89PNG" and "events" in capsys.readouterr().out
        interrupted(channel.id, tmp_path / "interrupted.png")
        png = tmp_path / "queried.png"
        assert main(["plot", channel.id, "--query", "select d = depth", "--png", str(png), "--seconds", "0.5"]) == 0
        assert main(["plot", channel.id, "--query", "select nobody", "--png", str(png)]) == 1
        assert "no such field" in capsys.readouterr().err
        for field, said in (("nobody", "no such field"), ("text", "numbers to draw")):
            assert main(["plot", channel.id, field, "--png", str(tmp_path / "x.png"), "--seconds", "0.5"]) == 1
            assert said in capsys.readouterr().err
    finally:
        stop.set()
        thread.join()
    assert main(["plot", "iso://127.0.0.1:1/x", "depth", "--png", "x.png"]) == 1
    assert "cannot be reached" in capsys.readouterr().err
    # Before anything else, since all the seconds would be lost.
    for file, said in ((tmp_path / "no" / "x.png", "No such folder"), (tmp_path / "x.txt", "ends with .")):
        assert main(["plot", "iso://127.0.0.1:1/x", "depth", "--png", str(file)]) == 1
        assert said in capsys.readouterr().err


def test_a_plot_of_what_others_may_send(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Names that look like formulas, infinite numbers, small floats, and a source of something else."""
    pyplot = pytest.importorskip("matplotlib.pyplot")
    from isoform._plot import Field
    from isoform.__main__ import main

    name = r"$\frac$"
    sample = np.dtype([(name, "f8"), ("small", "f2", (2, 3)), ("flags", "?", (2, 2)), ("row", "f4", 3)])
    channel = isoform.create("others")
    stop = threading.Event()

    def submit() -> None:
        with channel.source(sample) as source, channel.source(SAMPLE) as other:
            source.wait_for_sinks()
            item = np.zeros(1, sample)
            item[name], item["small"], item["row"] = np.inf, -np.inf, [1, np.nan, np.inf]
            source.submit(item)
            while not stop.wait(0.005):
                other.submit(np.zeros(1, SAMPLE))
                source.submit(item)

    thread = threading.Thread(target=submit)
    thread.start()
    try:
        png = tmp_path / "others.png"
        fields = [name, "small", "flags", "row"]
        assert main(["plot", channel.id, *fields, "--png", str(png), "--seconds", "2"]) == 0
        assert png.read_bytes()[:4] == b"\x89PNG" and "without these fields" in capsys.readouterr().out
    finally:
        stop.set()
        thread.join()
    _, axes = pyplot.subplots()
    field = Field("large", axes)
    field.add(0.0, {"large": np.full((2, 2), 2**62 + 1)})
    field.draw(0.0, 10.0)
    assert field.artist.get_array().dtype == np.dtype("i8"), "integers are drawn as they are"


def test_a_plot_against_a_field() -> None:
    pyplot = pytest.importorskip("matplotlib.pyplot")
    from isoform._plot import Field

    _, (points, curve) = pyplot.subplots(2, 1)
    for number in (3.0, 1.0, 2.0):
        item = {"step": number, "depth": 2 * number, "row": np.arange(3), "at": np.arange(3) * number}
        point, line = Field("depth", points, "step"), Field("row", curve, "at")
        for field in (point, line):
            field.add(100.0, item)
            field.draw(0.0, 30.0)
    assert point.artist.get_xydata().tolist() == [[2.0, 4.0]] and points.get_xlabel() == "step"
    assert line.artist.get_xydata().tolist() == [[0.0, 0.0], [2.0, 1.0], [4.0, 2.0]] and curve.get_xlabel() == "at"
    with pytest.raises(isoform.Usage, match="as many numbers as depth has"):
        point.add(0.0, {"step": np.arange(3), "depth": 1.0})
    pyplot.close("all")
