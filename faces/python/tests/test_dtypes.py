"""What a dtype says about its fields, and the rules of decoders."""

from __future__ import annotations

from dataclasses import make_dataclass
from typing import Annotated, Any

import isoform
import numpy as np
import pytest
from isoform import field


def message(dtype: Any, record: tuple[Any, ...]) -> isoform.Message:
    return isoform.Encoder(np.dtype(dtype)).encode(record)


def test_a_dtype_states_units_aliases_and_defaults() -> None:
    sample = np.dtype(
        [
            ("depth", field("f4", unit="m", alias=["d", "z"])),
            ("wind", field("f8", default=11.5)),
            ("tag", field("S4", default="none")),
            ("grid", field(("i2", (2, 2)), default=np.arange(4).reshape(2, 2))),
            ("zeros", field(("i2", (3,)), default=7)),
        ]
    )
    format = isoform.Format.of(sample)
    assert [f.unit for f in format.fields] == ["m", None, None, None, None]
    came = isoform.Decoder(sample).decode(message([("z", field("f8", unit="m"))], (0.5,)))
    assert (came["depth"], came["wind"], came["tag"]) == (0.5, 11.5, b"none")
    assert came["grid"].tolist() == [[0, 1], [2, 3]] and came["zeros"].tolist() == [7, 7, 7]
    with pytest.raises(isoform.Mismatch) as fault:
        isoform.Decoder(sample).decode(message([("depth", field("f8", unit="ft"))], (0.5,)))
    assert (fault.value.code, fault.value.path) == (isoform.Code.Unit, "depth")


def test_a_required_field_is_required_also_if_missing_fields_are_zero() -> None:
    sample = np.dtype([("depth", "f4"), ("wind", field("f8", required=True))])
    with pytest.raises(isoform.Mismatch, match="required: wind"):
        isoform.Decoder(sample, missing="zero").decode(message([("depth", "f4")], (1,)))


def test_a_misspelt_field_is_an_error_that_names_it_and_those_that_came() -> None:
    with pytest.raises(isoform.Mismatch) as fault:
        isoform.Decoder(np.dtype([("step", "i4"), ("dept", "f8")])).decode(message([("step", "i4"), ("depth", "f8")], (1, 2)))
    assert (fault.value.code, fault.value.path) == (isoform.Code.Required, "dept")
    assert "dept (f64)" in fault.value.expected and "depth" in fault.value.actual


def test_notes_tell_dtypes_apart_that_numpy_calls_equal() -> None:
    plain, metres = np.dtype([("x", "f4")]), np.dtype([("x", field("f4", unit="m"))])
    assert plain == metres
    assert [isoform.Format.of(dtype).fields[0].unit for dtype in (plain, metres, plain)] == [None, "m", None]
    nested = np.dtype([("a", plain), ("b", [("a", metres)])])
    assert isoform.Format.of(nested).fields[1].structure.fields[0].structure.fields[0].unit == "m"  # type: ignore[union-attr]


def test_the_dtype_of_a_format_has_its_units() -> None:
    sample = np.dtype([("depth", field(("f4", (3,)), unit="m")), ("pos", [("x", field(">f4", unit="km"))])]).newbyteorder("<")
    format = isoform.Format.of(sample)
    assert isoform.Format.of(format.dtype) == format


def test_what_a_field_cannot_have_is_refused() -> None:
    with pytest.raises(TypeError):
        field("f4", units="m")  # type: ignore[call-arg]
    with pytest.raises(isoform.Usage, match="wrong type at default"):
        field("f4", default={})
    for note, path in ((field("f4", default="much"), "x"), (field("f4", alias="a..b"), "record.x")):
        with pytest.raises(isoform.Error) as fault:
            isoform.Decoder(np.dtype([("x", note)]))
        assert path in fault.value.path or path in str(fault.value)


def test_rules_take_paths_and_name_what_they_do_not_know() -> None:
    wire = message([("p", [("u", "f4")]), ("step", "i4")], ((0.5,), 7))
    native = np.dtype([("p", [("x", "f4"), ("w", "f8")]), ("count", "i4")])
    rules: list[Any] = [("p.x", "alias", "u"), ("p.w", "default", 2.5), ("record", "count", "alias", "step")]
    came = isoform.Decoder(native, rules=rules).decode(wire)
    assert (came["p"]["x"], came["p"]["w"], came["count"]) == (0.5, 2.5, 7)
    for rule, expected in (
        (("p.y", "alias", "u"), "one of x, w"),
        (("q", "zero", True), "one of p, count"),
        (("record", "nope", "required", True), "one of p, count"),
        (("record", "nope", "alias", "a"), "one of p, count"),
        (("count", "alias", 5), "a name"),
        (("count", "rename", "u"), "alias, required, default or zero"),
        ("count", 'rules such as ("depth", "alias", "d")'),
    ):
        with pytest.raises(isoform.Usage) as fault:
            isoform.Decoder(native, rules=[rule])  # type: ignore[list-item]
        assert expected in fault.value.expected
    with pytest.raises(isoform.Usage, match="rules such as"):
        isoform.Decoder(native, rules=5)  # type: ignore[arg-type]
    with pytest.raises(isoform.Mismatch):
        isoform.Decoder(np.dtype([("a", "i4")]), rules=[("a", "zero", False)]).decode(wire)


def test_columns_take_missing_and_rules() -> None:
    wire = message([("step", "i4")], (7,))
    native = np.dtype([("count", "i4"), ("wind", "f8")])
    columns = isoform.Columns(native, missing="zero", rules=[("count", "alias", "step")])
    columns.append([wire])
    assert columns["count"].tolist() == [7] and columns["wind"].tolist() == [0]
    for rules, code in (([("count", "alias", "step")], isoform.Code.Required), ([], isoform.Code.NoConversion)):
        with pytest.raises(isoform.Mismatch) as fault:
            isoform.Columns(native, rules=rules).append([wire])
        assert fault.value.code == code
    noted = isoform.Columns(np.dtype([("count", field("i4", alias="step")), ("wind", field("f8", default=1.5))]))
    noted.append([wire])
    assert noted["count"].tolist() == [7] and noted["wind"].tolist() == [1.5]


@pytest.mark.parametrize("kind", ["i128", "u128"])
@pytest.mark.parametrize("dims", ["", "[2][3]"])
def test_a_number_that_numpy_lacks_has_an_alternative(kind: str, dims: str) -> None:
    format = isoform.Format.of_shape(f"record Point\n  n  {kind}{dims}\nrecord Wide\n  step  int\n  at  Point")
    with pytest.raises(isoform.Usage, match=rf"such as i8 in a dtype of your own, or as an int .* isoform\.{kind}") as fault:
        _ = format.dtype
    assert fault.value.path.endswith("n")
    # The alternatives are what the error says: an int in a class, and another number in a dtype.
    if not dims:
        number = {"i128": -(2**100), "u128": 2**100}[kind]
        annotated = make_dataclass("Wide", [("n", Annotated[int, getattr(isoform, kind)])])
        message = isoform.Encoder(annotated).encode(annotated(number))
        assert isoform.Decoder(annotated).decode(message).n == number
        small = isoform.Encoder(annotated).encode(annotated(7))
        assert isoform.Decoder(np.dtype([("n", "i8")])).decode(small)["n"] == 7
