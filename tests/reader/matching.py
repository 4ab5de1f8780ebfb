"""spec/conversion.md: which wire field each native field takes, and which native fields are missing.

This is the part of a conversion that is decided once for a pair of formats, without values. Pairs that are refused for
types, shapes or units are left to others.
"""

import description as d


class Rules:
    """The receiver's rules, as in vectors/conversion/index.json."""

    def __init__(self, lines):
        self.zero = any(line.get("missing") == "zero" for line in lines)
        self.lines = [line for line in lines if "structure" in line]

    def of(self, structure, field, key):
        """What the rules say about a field, or None."""
        said = [line[key] for line in self.lines if (line["structure"], line["field"]) == (structure.name, field.name) and key in line]
        return said[-1] if said else None


class Matching:
    """The missing fields of a pair of formats, by path, and whether anything matched."""

    def __init__(self, wire, native, rules):
        self.rules, self.missing, self.required, self.matched = rules, [], [], False
        self.structure(wire.root, native.root, "")

    def structure(self, wire, native, path):
        for field in unmatched_lengths(native):
            here = path + field.name
            if self.is_flat(wire, native, field):
                self.structure(wire, field.element.structure, here + ".")
                continue
            found = self.find(wire, native, field)
            if found is None:
                self.absent(native, field, here, self.rules.zero)
                continue
            self.matched = True
            if field.element.kind == found.element.kind == d.STRUCTURE:
                self.structure(found.element.structure, field.element.structure, element(here, field) + ".")
            if is_short(found, field):
                self.short(native, field, here)

    def find(self, wire, native, field):
        """By name, else by the first alias that names a field."""
        names = [field.name, *(self.rules.of(native, field, "aliases") or [])]
        return next((found for found in (reach(wire, name) for name in names) if found), None)

    def is_flat(self, wire, native, field):
        """Whether the field takes the wire structure itself, by the alias "."."""
        aliases = self.rules.of(native, field, "aliases") or []
        nests = field.element.kind == d.STRUCTURE and not field.dimensions and not field.indirect
        if "." not in aliases or not nests:
            return False
        names = [field.name, *aliases[: aliases.index(".")]]
        if any(reach(wire, name) for name in names):
            return False
        inner = field.element.structure
        takes = (self.find(wire, inner, one) or self.is_flat(wire, inner, one) for one in unmatched_lengths(inner))
        return any(takes)

    def absent(self, native, field, path, zero):
        """Rules 3 to 8 for a field that takes no wire field."""
        if self.rules.of(native, field, "required"):
            self.required.append(path)
            self.missing.append(path)
        elif self.rules.of(native, field, "default") is not None:
            return
        else:
            zero = zero or bool(self.rules.of(native, field, "zero"))
            if field.indirect:
                if field.dynamic and not zero:
                    self.missing.append(path)
            else:
                self.blank(field, path, zero)

    def blank(self, field, path, zero):
        if field.element.kind == d.STRUCTURE:
            structure = field.element.structure
            for inner in unmatched_lengths(structure):
                self.absent(structure, inner, f"{element(path, field)}.{inner.name}", zero)
        elif not zero:
            self.missing.append(path)
        elif field.element.symbols and all(value != 0 for _, value in field.element.symbols):
            self.missing.append(element(path, field))

    def short(self, native, field, path):
        """Elements beyond a shorter array, both of which are fixed."""
        if field.element.kind == d.CHAR and len(field.dimensions) == 1:
            return
        default = self.rules.of(native, field, "default")
        if default is not None and not isinstance(default, list) and not field.indirect:
            return
        zero = self.rules.zero or bool(self.rules.of(native, field, "zero"))
        if field.element.kind == d.STRUCTURE:
            self.blank(field, path, zero)
        elif not zero:
            self.missing.append(element(path, field))

    def verdict(self):
        """The error of the pair and the paths that it names, or None: the order is that of the native fields."""
        paths = list(dict.fromkeys(self.missing))
        if self.required or self.matched and paths:
            return "Required", paths
        return None if self.matched else ("NoConversion", [])


def unmatched_lengths(structure):
    """The fields of a structure but those that are lengths of arrays."""
    lengths = {index for field in structure.fields for how, index in field.dimensions if how == "field"}
    return [field for index, field in enumerate(structure.fields) if index not in lengths]


def reach(structure, path):
    """The field at a path with dots, through structures that lie in place."""
    name, _, rest = path.partition(".")
    field = next((field for field in structure.fields if field.name == name), None)
    if field is None or not rest:
        return field
    if field.element.kind != d.STRUCTURE or field.dimensions or field.indirect:
        return None
    return reach(field.element.structure, rest)


def element(path, field):
    return path + "[]" if field.dimensions else path


def is_short(wire, native):
    """Whether every wire array has fewer elements than the native one."""
    return bool(
        wire.dimensions
        and len(wire.dimensions) == len(native.dimensions)
        and wire.dimensions[0][0] == native.dimensions[0][0] == "fixed"
        and wire.dimensions[0][1] < native.dimensions[0][1]
    )
