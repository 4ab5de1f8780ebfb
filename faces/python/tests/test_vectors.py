"""Every vector is read as it is written beside it."""

from __future__ import annotations

import base64
import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import isoform
import numpy as np
import pytest

VECTORS = Path(__file__).parents[3] / "vectors"
STREAMS = sorted(
    path for path in VECTORS.glob("*/*.bin") if path.parent.name != "invalid" and path.with_suffix(".json").exists()
)
CONVERSIONS = json.loads((VECTORS / "conversion/index.json").read_text(encoding="utf-8"), parse_float=Decimal)
INVALID = json.loads((VECTORS / "invalid/index.json").read_text(encoding="utf-8"))


def test_there_are_vectors() -> None:
    assert len(STREAMS) > 150 and len(INVALID) > 50


def structure_of(structure: isoform.Structure, fields: dict[str, Any]) -> None:
    assert (structure.name, structure.size, structure.alignment) == (
        fields["name"],
        fields["size"],
        fields["alignment"],
    )
    assert len(structure.fields) == len(fields["fields"])
    for field, wanted in zip(structure.fields, fields["fields"]):
        assert field.name == wanted["name"]
        assert field.kind == wanted["type"]
        assert (field.size, field.offset) == (wanted["size"], wanted["offset"])
        assert list(field.dimensions) == wanted.get("dimensions", [])
        assert field.indirect == wanted.get("indirect", False)
        assert field.unit == wanted.get("unit")
        assert field.symbols == wanted.get("symbols")


def structures(structure: isoform.Structure) -> dict[str, isoform.Structure]:
    found: dict[str, isoform.Structure] = {}
    for field in structure.fields:
        if field.structure is not None:
            found.update(structures(field.structure))
    return {**found, structure.name: structure}


def is_text(wanted: Any) -> bool:
    return isinstance(wanted, str) or isinstance(wanted, dict) and set(wanted) == {"base64"}


def text(wanted: Any) -> bytes:
    return wanted.encode() if isinstance(wanted, str) else base64.b64decode(wanted["base64"])


def number(came: Any, wanted: Any, field: isoform.Field) -> None:
    """Compares floats by what they are as this kind of float, to the last bit; of what is not a number, that it is none."""
    if isinstance(wanted, str) and wanted.lstrip("-") in ("NaN", "Infinity"):
        wanted = float(wanted)
    if came != came or wanted != wanted:
        assert came != came and wanted != wanted
        return
    words = field.type.split("[")[0].rstrip("*").replace("complex ", "")
    encoder = isoform.Encoder(isoform.Format.of_shape(f"record R\n  x  {words}\n  text  string"))
    assert encoder.encode({"x": came, "text": ""}).body == encoder.encode({"x": wanted, "text": ""}).body


def same(came: Any, wanted: Any, field: isoform.Field) -> None:
    if came is None:
        assert wanted is None
    elif isinstance(came, np.ndarray):
        assert not came.flags.writeable or came.size == 0
        same(came.tolist(), wanted, field)
    elif is_text(wanted) and (field.kind == "char" or field.kind == "string"):
        assert came.encode("utf-8", "surrogateescape") == text(wanted)
    elif field.kind.startswith("complex") and not isinstance(came, list):
        parts = came if isinstance(came, tuple) else (came.real, came.imag)
        for part, want in zip(parts, wanted):
            number(part, want, field)
    elif isinstance(came, list):
        assert len(came) == len(wanted)
        for part, want in zip(came, wanted):
            same(part, want, field)
    elif field.structure is not None:
        record(came, wanted, field.structure)
    elif "float" in field.kind or field.kind in ("x87", "double-double"):
        number(came, wanted, field)
    elif "integer" in field.kind:
        assert came == int(wanted)
    else:
        assert came == wanted


def record(view: isoform.View, wanted: dict[str, Any], structure: isoform.Structure) -> None:
    assert list(view) == [field.name for field in structure.fields]
    assert set(wanted) == set(view)
    for field in structure.fields:
        same(view[field.name], wanted[field.name], field)


@pytest.mark.parametrize("path", STREAMS, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_a_stream_is_read_as_it_is_written_beside_it(path: Path) -> None:
    wanted = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"), parse_float=Decimal)
    formats = {each["token"]: each for each in wanted["formats"]}
    messages = list(isoform.Reader(path))
    assert [message.format.token for message in messages] == [each["token"] for each in wanted["messages"]]
    for message, each in zip(messages, wanted["messages"]):
        format = formats[each["token"]]
        assert (message.format.byte_order, message.format.pointer) == (format["byte order"], format["pointer"])
        found = structures(message.format.structure)
        for structure in format["structures"]:
            structure_of(found[structure["name"]], structure)
        record(message.view(), each["record"], message.format.structure)


@pytest.mark.parametrize("path", STREAMS, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_what_was_read_is_written_again_as_the_same_bytes(path: Path) -> None:
    if path.parent.name == "streams" or path.stem == "mips" or path.match("long-double/powerpc*"):
        pytest.skip("it has bytes that no writer here makes: in gaps, in NaNs, in a double-double's smaller part")
    for message in isoform.Reader(path):
        format = isoform.Format.parse(message.format.description)
        assert isoform.Encoder(format).encode(array_or_view(message)).body == message.body


def array_or_view(message: isoform.Message) -> Any:
    try:
        return message.array()
    except isoform.Error:  # NumPy cannot hold it
        return message.view()


@pytest.mark.parametrize("wanted", INVALID, ids=lambda wanted: wanted["file"])
def test_an_invalid_stream_is_refused_for_its_reason(wanted: dict[str, Any]) -> None:
    records = 0
    with pytest.raises(isoform.Error) as fault:
        for message in isoform.Reader(VECTORS / "invalid" / wanted["file"]):
            message.view()
            records += 1
    assert fault.value.code.name == wanted["error"]
    assert records == wanted["records"]
    assert fault.value.path == wanted.get("path", fault.value.path)


def rules_of(said: list[dict[str, Any]]) -> list[tuple[str, str, str, Any]]:
    rules: list[tuple[str, str, str, Any]] = []
    for rule in said:
        if "structure" not in rule:
            continue
        where = rule["structure"], rule["field"]
        rules += [(*where, "alias", alias) for alias in rule.get("aliases", [])]
        rules += [(*where, word, rule[word]) for word in ("default", "zero", "required") if word in rule]
    return rules


def missing_of(said: list[dict[str, Any]]) -> str:
    return next((rule["missing"] for rule in said if "missing" in rule), "refuse")


@pytest.mark.parametrize("case", CONVERSIONS, ids=lambda case: case["name"])
def test_what_becomes_of_records_in_another_format(case: dict[str, Any]) -> None:
    wire = isoform.Format.parse(bytes.fromhex(case["wire"]))
    native = isoform.Format.parse(bytes.fromhex(case["native"]))
    for result in case["results"]:
        message = message_of(wire, bytes.fromhex(result["body"]))
        record(message.view(), result["record"], wire.structure)
        for faults in result["faults"]:
            decoder = isoform.Decoder(native, faults=faults, missing=missing_of(case["rules"]), rules=rules_of(case["rules"]))
            if "error" in result:
                with pytest.raises(isoform.Error) as fault:
                    decoder.decode(message)
                assert (fault.value.code.name, fault.value.path) == (result["error"]["name"], result["error"]["path"])
            else:
                came = decoder.decode(message)
                if not isinstance(came, isoform.View):  # what NumPy can hold becomes a record of NumPy's
                    came = isoform.Encoder(native).encode(came).view()
                record(came, result["becomes"], native.structure)


def message_of(format: isoform.Format, body: bytes) -> isoform.Message:
    registry = isoform.Registry()
    registry.register(format)
    header = message_header(format, len(body))
    return isoform.Message.parse(header + body, registry)


def message_header(format: isoform.Format, length: int) -> bytes:
    """As `spec/message.md` has it."""
    return b"\x89ISO\x01\0\0\0" + bytes.fromhex(format.token) + length.to_bytes(8, "little")
