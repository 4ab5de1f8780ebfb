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
    # Senders use the names of the document, and a Document takes these as aliases.
    gauge = isoform.Encoder(isoform.Format.of_document(str(document), "Gauge", language="idl"))
    message = gauge.encode({"lvl": 0.5, "debug": 1})
    ours = isoform.Document(str(document), "Level", language="idl", overlay=mine)
    assert isoform.Decoder(ours).decode(message)["level"] == 0.5
    with pytest.raises(isoform.Error, match="level"):
        isoform.Decoder(level).decode(message)
    with pytest.raises(isoform.Error, match="cobol"):
        isoform.Format.of_document(str(document), "Gauge", language="cobol")
    with pytest.raises(isoform.Error, match="none.json"):
        isoform.Format.of_document(str(document), "Gauge", language="idl", overlay=tmp_path / "none.json")


SCHEMA = """<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema" targetNamespace="urn:river" elementFormDefault="qualified">
  <xs:complexType name="Gauge">
    <xs:sequence>
      <xs:element name="station" type="xs:string"/>
      <xs:element name="level" type="xs:double" default="-INF"/>
      <xs:element name="wind" type="xs:float" minOccurs="0" maxOccurs="unbounded"/>
      <xs:element name="state" default="low">
        <xs:simpleType><xs:restriction base="xs:string"><xs:enumeration value="low"/><xs:enumeration value="high"/></xs:restriction></xs:simpleType>
      </xs:element>
    </xs:sequence>
    <xs:attribute name="at" type="xs:dateTime" use="required"/>
  </xs:complexType>
</xs:schema>"""
XML = (
    '<Gauge xmlns="urn:river" at="2026-11-23T12:00:00Z"><station>Old &lt;Mill&gt;</station><level>0.5</level>'
    "<wind>1.5</wind><wind>NaN</wind><state>high</state></Gauge>"
)


def test_records_are_read_and_written_as_the_document_describes_them(tmp_path: Path) -> None:
    place = tmp_path / "gauge.xsd"
    place.write_text(SCHEMA)
    gauge = isoform.Document(str(place), "Gauge")
    assert gauge.format == isoform.Format.of_document(str(place), "Gauge")
    message = gauge.of_xml(XML)
    assert message.format == gauge.format and message.view().station == "Old <Mill>"
    assert gauge.to_xml(message) == XML
    json = '{"station":"Old <Mill>","level":0.5,"wind":[1.5,"NaN"],"state":"high","at":"2026-11-23T12:00:00Z"}'
    assert gauge.to_json(message) == json and gauge.of_json(json).body == message.body
    record = isoform.Decoder(gauge).decode(message)
    assert gauge.to_xml(record) == XML
    assert gauge.to_xml({"station": "Old <Mill>", "level": 0.5, "wind": [1.5, float("nan")], "state": "high", "at": record.at}) == XML
    # On another machine, records are the same text.
    far = isoform.Document(str(place), "Gauge", layout="s390x")
    assert far.to_xml(far.of_xml(XML)) == XML
    with pytest.raises(isoform.Error, match="decode it as a record of the document"):
        gauge.to_xml(far.of_xml(XML))
    for text, found in [
        (XML.replace("<level>", "<depth>").replace("</level>", "</depth>"), "depth"),
        (XML.replace("0.5", "half"), "level"),
        (XML[:-1], "the end within a tag"),
        (XML.replace(' at="2026-11-23T12:00:00Z"', ""), "at"),
    ]:
        with pytest.raises(isoform.Error, match=found):
            gauge.of_xml(text)
    with pytest.raises(isoform.Error, match="missing .* at") as missing:
        gauge.of_json('{"station":"Old <Mill>","wind":[]}')
    assert missing.value.code == isoform.Code.Required
    with pytest.raises(isoform.Error, match="station"):
        gauge.to_xml({"station": "a bell: \x07", "wind": [], "at": 0})
    with pytest.raises(isoform.Error):
        gauge.to_xml(None)


def test_the_defaults_of_documents_are_rules(tmp_path: Path) -> None:
    place = tmp_path / "gauge.xsd"
    place.write_text(SCHEMA)
    gauge = isoform.Document(str(place), "Gauge")
    old = isoform.Format.of_shape(
        'record Gauge\n  station  string\n  wind  f32[wind_len]\n  wind_len  u64\n  at  i64  unit="ns since 1970-01-01T00:00:00Z"'
    )
    message = isoform.Encoder(old).encode({"station": "Ferry", "wind": [], "at": 7})
    with pytest.raises(isoform.Error, match="level"):
        isoform.Decoder(gauge.format).decode(message)
    came = isoform.Decoder(gauge).decode(message)
    assert (came.level, came.state, came.at) == (float("-inf"), "low", 7)
    sent = isoform.Encoder(gauge).encode({"station": "Ferry", "wind": [], "at": 7})
    assert (sent.view().level, sent.view().state) == (float("-inf"), "low")
    # Without pointers, records are rows of NumPy.
    place.write_text(SCHEMA.replace('type="xs:string"', 'type="xs:int" default="3"').replace('minOccurs="0" maxOccurs="unbounded"', ""))
    flat = isoform.Document(str(place), "Gauge")
    old = isoform.Format.of_shape('record Gauge\n  wind  f32\n  at  i64  unit="ns since 1970-01-01T00:00:00Z"')
    row = isoform.Decoder(flat).decode(isoform.Encoder(old).encode((1.5, 7)))
    assert row["station"] == 3 and row["wind"] == 1.5 and row["level"] == float("-inf")


def test_limits_of_loading_hold(tmp_path: Path) -> None:
    document = tmp_path / "gauge.idl"
    document.write_text("struct Gauge { double level; };")
    assert isoform.Format.of_document(str(document), "Gauge", schemes="https, file", limit=100, redirects=0).size == 8
    with pytest.raises(isoform.Error, match="at most 9 bytes"):
        isoform.Format.of_document(str(document), "Gauge", limit=9)
    with pytest.raises(isoform.Error, match="one of the schemes https"):
        isoform.Format.of_document(str(document), "Gauge", schemes="https")
    assert isoform.Document(str(document), "Gauge", schemes="https, file", limit=100, redirects=0).format.size == 8
    with pytest.raises(isoform.Error, match="at most 9 bytes"):
        isoform.Document(str(document), "Gauge", limit=9)
    with pytest.raises(isoform.Error, match="one of the schemes https"):
        isoform.Document(str(document), "Gauge", schemes="https")


def test_a_program_is_told_of_a_changed_document(tmp_path: Path) -> None:
    document = tmp_path / "gauge.idl"
    document.write_text("struct Gauge { double level; };")
    watch = isoform.Watch(str(document), "Gauge", every=0)
    first = watch.poll()
    assert first == isoform.Format.of_document(str(document), "Gauge")
    assert watch.poll() is None
    document.write_text("struct Gauge { double level; }; // the same")
    assert watch.poll() is None
    document.write_text("struct Gauge { double level; double flow; };")
    changed = watch.poll()
    assert changed is not None and changed.size == 16
    document.write_text("struct Level { double level; };")
    with pytest.raises(isoform.Error, match="Gauge"):
        watch.poll()
    assert watch.poll() is None
    patient = isoform.Watch(str(document), "Level", every=1e6)
    assert patient.poll() is not None
    document.write_text("struct Level { double level; double flow; };")
    assert patient.poll() is None
    assert patient.check() is not None


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
