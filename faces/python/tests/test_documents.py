"""The examples of the guide and of the README run."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import isoform
import pytest

ROOT = Path(__file__).parents[3]


def examples(document: str) -> list[tuple[int, str]]:
    """What stands in a document as Python, and at which line."""
    text = (ROOT / document).read_text()
    blocks = re.finditer(r"^```python\n(.*?)^```", text, re.M | re.S)
    return [(text[: block.start(1)].count("\n"), block[1]) for block in blocks]


def run(document: str) -> None:
    namespace: dict[str, Any] = {"__name__": "__main__"}
    for line, example in examples(document):
        exec(compile("\n" * line + example, document, "exec", dont_inherit=True), namespace)


def test_formats_come_from_documents(tmp_path: Path) -> None:
    document = tmp_path / "river.xsd"
    text = (ROOT / "examples/hydrology/hydrology.xsd").read_text()
    document.write_text(text)
    shape = 'record Rain\n  timestep  int\n  size  int\n  rain  float[size]  unit="mm"'
    assert isoform.Format.of_document(str(document), "Rain") == isoform.Format.of_shape(shape)
    with pytest.raises(isoform.Error, match="Snow"):
        isoform.Format.of_document(str(document), "Snow")
    document.write_text(text.replace("Rain", "Snow"))
    assert isoform.Format.of_document(str(document), "Snow").name == "Snow"
    with pytest.raises(isoform.Error):
        isoform.Format.of_document(str(tmp_path / "none.xsd"), "Rain")


def test_documents_are_loaded_as_asked(tmp_path: Path) -> None:
    document, mine = tmp_path / "gauge.txt", tmp_path / "mine.json"
    document.write_text("struct Gauge { double lvl; int32 debug; };")
    mine.write_text('{"Gauge": {"name": "Level", "fields": {"lvl": {"name": "level", "unit": "m"}, "debug": null}}}')
    level = isoform.Format.of_document(str(document), "Level", language="idl", overlay=mine, layout="s390x")
    assert level == isoform.Format.of_shape('record Level\n  level  double  unit="m"', "s390x")
    with pytest.raises(isoform.Error, match="cobol"):
        isoform.Format.of_document(str(document), "Gauge", language="cobol")
    with pytest.raises(isoform.Error, match="none.json"):
        isoform.Format.of_document(str(document), "Gauge", language="idl", overlay=tmp_path / "none.json")


def test_the_guide(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert len(examples("docs/book/guides/python.md")) > 6
    run("docs/book/guides/python.md")


def test_the_readme(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    shape = "record Sample\n  step  int\n  station  string\n  n  int\n  depth  float[n]"
    format = isoform.Format.of_shape(shape)
    with isoform.Writer("river.iso", format) as stream:
        for step in range(3):
            stream.write({"step": step, "station": "Old Mill", "depth": [0.5, 0.25 * step, 2.0]})
    run("README.md")
    printed = capsys.readouterr().out.splitlines()
    assert printed[0] == "[0 1 2]" and len(printed) == 4 and all(line.startswith("Old Mill [0.5") for line in printed[1:])
