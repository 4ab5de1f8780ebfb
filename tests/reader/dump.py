"""Formats as the JSON beside a vector (vectors/README.md)."""

from description import BOOLEAN, CHAR, COMPLEX, FLOATS, SIGNED, SIGNED_ENUMERATION, STRING, STRUCTURE, UNSIGNED, UNSIGNED_ENUMERATION

WORDS = {
    SIGNED: "integer",
    UNSIGNED: "unsigned integer",
    CHAR: "char",
    BOOLEAN: "boolean",
    SIGNED_ENUMERATION: "enumeration",
    UNSIGNED_ENUMERATION: "unsigned enumeration",
    STRING: "string",
    **FLOATS,
    **{kind: f"complex {word}" for kind, word in COMPLEX.items()},
}


def format_as_json(format):
    listed = []

    def add(structure):
        for field in structure.fields:
            if field.element.kind == STRUCTURE:
                add(field.element.structure)
        if not any(structure is other for other in listed):
            listed.append(structure)

    add(format.root)
    return {
        "token": format.token.hex(),
        "byte order": format.machine.order,
        "pointer": format.machine.pointer,
        "structures": [structure_as_json(structure) for structure in listed],
    }


def structure_as_json(structure):
    return {
        "name": structure.name,
        "size": structure.size,
        "alignment": structure.alignment,
        "fields": [field_as_json(field, structure) for field in structure.fields],
    }


def field_as_json(field, structure):
    element = field.element
    word = element.structure.name if element.kind == STRUCTURE else WORDS[element.kind]
    json = {"name": field.name, "type": word, "size": element.size, "offset": field.offset}
    if field.dimensions:
        json["dimensions"] = [
            number if how == "fixed" else structure.fields[number].name for how, number in field.dimensions
        ]
    if field.indirect:
        json["indirect"] = True
    if field.unit is not None:
        json["unit"] = field.unit
    if element.symbols:
        json["symbols"] = dict(element.symbols)
    return json
