"""Formats as the JSON beside a vector (vectors/README.md)."""

import description as d

WORDS = {
    d.SIGNED: "integer",
    d.UNSIGNED: "unsigned integer",
    d.CHAR: "char",
    d.BOOLEAN: "boolean",
    d.SIGNED_ENUMERATION: "enumeration",
    d.UNSIGNED_ENUMERATION: "unsigned enumeration",
    d.STRING: "string",
    **d.FLOATS,
    **{kind: f"complex {word}" for kind, word in d.COMPLEX.items()},
}


def format_as_json(format):
    listed = []

    def add(structure):
        for field in structure.fields:
            if field.element.kind == d.STRUCTURE:
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
    word = element.structure.name if element.kind == d.STRUCTURE else WORDS[element.kind]
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
