"""spec/format.md: descriptions, both ways, and tokens.

Values that come from a description are checked in `check_*`, spelling while it is parsed, and whatever is left of
"exactly one" by writing the format again.
"""

import unicodedata
from dataclasses import dataclass, field as with_default

from blake3 import derive_key
from refused import Refused

CONTEXT = "isoform 2026 format token v1"
MAX_DESCRIPTION = 65536
MAX_SIZE = 1 << 40
MAX_DEPTH, MAX_FIELDS, MAX_RANK, MAX_ALIGNMENT = 32, 4096, 8, 1 << 16

SIGNED, UNSIGNED = 1, 2
CHAR, BOOLEAN, SIGNED_ENUMERATION, UNSIGNED_ENUMERATION, STRING, STRUCTURE = 11, 12, 13, 14, 15, 16
# Each kind of float: its number, that of its complex number, its word, and its sizes in bytes.
KINDS_OF_FLOAT = [
    (3, 7, "float", (2, 4, 8, 16)),
    (4, 8, "bfloat", (2,)),
    (5, 9, "x87", (10, 12, 16)),
    (6, 10, "double-double", (16,)),
]
FLOATS = {kind: word for kind, _, word, _ in KINDS_OF_FLOAT}
COMPLEX = {kind: word for _, kind, word, _ in KINDS_OF_FLOAT}
FLOAT_SIZES = {word: sizes for _, _, word, sizes in KINDS_OF_FLOAT}
HAS_DIMENSIONS, INDIRECT, HAS_UNIT = 0x20, 0x40, 0x80
WHITE_SPACE = set(
    [*range(0x09, 0x0E), 0x20, 0x85, 0xA0, 0x1680, *range(0x2000, 0x200B), 0x2028, 0x2029, 0x202F, 0x205F, 0x3000]
)


@dataclass(frozen=True)
class Machine:
    order: str  # "little" or "big"
    pointer: int

    def number(self, data, signed=False):
        return int.from_bytes(data, self.order, signed=signed)


@dataclass
class Element:
    kind: int
    size: int
    symbols: tuple = ()  # of an enumeration: (name, value)
    structure: "Structure" = None

    @property
    def float_kind(self):
        return FLOATS.get(self.kind) or COMPLEX.get(self.kind)

    @property
    def part(self):
        """Bytes of a number: half of a complex one."""
        return self.size // 2 if self.kind in COMPLEX else self.size

    @property
    def has_slots(self):
        return self.kind == STRING or self.kind == STRUCTURE and self.structure.has_slots


@dataclass
class Field:
    name: str
    offset: int
    element: Element
    dimensions: tuple = ()  # each ("fixed", n) or ("field", index)
    indirect: bool = False
    unit: str = None

    @property
    def dynamic(self):
        return any(how == "field" for how, _ in self.dimensions)

    @property
    def fixed_bytes(self):
        product = self.element.size
        for how, number in self.dimensions:
            product *= number if how == "fixed" else 1
        return product

    def extent(self, pointer):
        return pointer if self.indirect else self.fixed_bytes


@dataclass
class Structure:
    name: str
    size: int
    alignment: int
    fields: list = with_default(default_factory=list)
    depth: int = 1
    total_fields: int = 0

    @property
    def has_slots(self):
        return any(field.indirect or field.element.has_slots for field in self.fields)


@dataclass
class Format:
    machine: Machine
    root: Structure
    description: bytes

    @property
    def token(self):
        return token_of(self.description)


def token_of(description):
    return derive_key(CONTEXT, description)[:16]


# Reading.


class Reader:
    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, count):
        if count > len(self.data) - self.at:
            raise Refused("Description", why=f"ends before byte {self.at + count}")
        self.at += count
        return self.data[self.at - count : self.at]

    def byte(self):
        return self.take(1)[0]

    def varint(self):
        value = shift = 0
        while True:
            byte = self.byte()
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                break
            shift += 7
            if shift > 63:
                raise Refused("Description", why="a varint of more than 64 bits")
        if value >> 64 or (byte == 0 and shift):
            raise Refused("Description", why="a varint that is not the shortest, or beyond 64 bits")
        return value

    def text(self):
        data = self.take(self.varint())
        try:
            return data.decode()
        except UnicodeDecodeError:
            raise Refused("Description", why="text that is not UTF-8") from None


def parse(data):
    """The format that a description stands for."""
    if len(data) > MAX_DESCRIPTION:
        raise Refused("DescriptionSize", why=f"{len(data)} bytes")
    reader = Reader(data)
    if reader.byte() != 1:
        raise Refused("Version")
    marks = reader.byte()
    if marks & ~3:
        raise Refused("Flags", why=f"machine {marks:#04x}")
    machine = Machine("big" if marks & 1 else "little", 8 if marks & 2 else 4)
    listed = []
    for _ in range(reader.varint()):
        listed.append(parse_structure(reader, machine, listed))
    if reader.at != len(data):
        raise Refused("Description", why="bytes after the last structure")
    if not listed:
        raise Refused("Description", why="no structure")
    check_names_of_structures(listed[-1])
    if write(machine, listed[-1]) != data:
        raise Refused("NotCanonical")
    return Format(machine, listed[-1], bytes(data))


def parse_structure(reader, machine, listed):
    name = reader.text()
    size, log2, count = reader.varint(), reader.byte(), reader.varint()
    structure = Structure(name, size, 1 << log2)
    end = 0
    try:
        for _ in range(count):
            field = parse_field(reader, machine, listed, end)
            end = field.offset + field.extent(machine.pointer)
            structure.fields.append(field)
        check_structure(structure, end)
        for field in structure.fields:
            try:
                check_field(field, structure.fields)
            except Refused as refused:
                raise refused.within(field.name) from None
    except Refused as refused:
        raise refused.within(name) from None
    return structure


def parse_field(reader, machine, listed, end):
    name = reader.text()
    offset = end + reader.varint()
    tag = reader.byte()
    element = parse_element(reader, machine, listed, tag & 0x1F)
    dimensions = []
    if tag & HAS_DIMENSIONS:
        rank = reader.varint()
        if not 1 <= rank <= MAX_RANK:
            raise Refused("Description", name, f"{rank} dimensions")
        for _ in range(rank):
            number = reader.varint()
            dimensions.append(("field" if number & 1 else "fixed", number >> 1))
    unit = reader.text() if tag & HAS_UNIT else None
    return Field(name, offset, element, tuple(dimensions), bool(tag & INDIRECT), unit)


def parse_element(reader, machine, listed, kind):
    if kind in COMPLEX:
        return Element(kind, 2 * reader.byte())
    if kind in (SIGNED, UNSIGNED, BOOLEAN) or kind in FLOATS:
        return Element(kind, reader.byte())
    if kind == CHAR:
        return Element(kind, 1)
    if kind in (SIGNED_ENUMERATION, UNSIGNED_ENUMERATION):
        size, symbols = reader.byte(), []
        for _ in range(reader.varint()):
            name, number = reader.text(), reader.varint()
            if kind == SIGNED_ENUMERATION:
                number = -(number // 2) - 1 if number & 1 else number // 2
            symbols.append((name, number))
        return Element(kind, size, tuple(symbols))
    if kind == STRING:
        return Element(kind, machine.pointer)
    if kind == STRUCTURE:
        place = reader.varint()
        if place >= len(listed):
            raise Refused("Description", why=f"structure {place} is not listed before")
        return Element(kind, listed[place].size, structure=listed[place])
    raise Refused("Description", why=f"kind {kind}")


# Rules about what was read.


def check_name(name):
    if not 1 <= len(name.encode()) <= 255:
        raise Refused("Declaration", name, "a name of 0 or more than 255 bytes")
    for char in name:
        if unicodedata.category(char) == "Cc" or ord(char) in WHITE_SPACE or char in ".[]{}*,=":
            raise Refused("Declaration", name, f"a name with {char!r}")


def check_structure(structure, end):
    check_name(structure.name)
    if structure.size >= MAX_SIZE:
        raise Refused("Size", why=f"{structure.size} bytes")
    if structure.alignment > MAX_ALIGNMENT or structure.size % structure.alignment or structure.size == 0:
        raise Refused("Declaration", why=f"size {structure.size}, alignment {structure.alignment}")
    if not structure.fields:
        raise Refused("Declaration", why="no fields")
    if end > structure.size:
        raise Refused("Declaration", why="fields end after their structure")
    if len({field.name for field in structure.fields}) < len(structure.fields):
        raise Refused("Declaration", why="two fields of one name")
    nested = [field.element.structure for field in structure.fields if field.element.kind == STRUCTURE]
    structure.depth = 1 + max((inner.depth for inner in nested), default=0)
    structure.total_fields = len(structure.fields) + sum(inner.total_fields for inner in nested)
    if structure.depth > MAX_DEPTH:
        raise Refused("Depth")
    if structure.total_fields > MAX_FIELDS:
        raise Refused("Fields")


def check_field(field, fields):
    check_name(field.name)
    check_element(field.element)
    if field.unit is not None:
        if not 1 <= len(field.unit.encode()) <= 255 or any(unicodedata.category(char) == "Cc" for char in field.unit):
            raise Refused("Declaration", why="a unit")
    for how, number in field.dimensions:
        if how == "fixed" and not 1 <= number < MAX_SIZE:
            raise Refused("Declaration", why=f"a dimension of {number}")
        if how == "field":
            length = fields[number] if number < len(fields) else None
            if (
                length is None
                or length.element.kind not in (SIGNED, UNSIGNED)
                or length.element.size > 8
                or length.dimensions
                or length.indirect
            ):
                raise Refused("Declaration", why="a length that is not a single integer field")
    if field.dynamic and not field.indirect:
        raise Refused("Declaration", why="a dynamic array that is not indirect")
    if field.fixed_bytes >= MAX_SIZE:
        raise Refused("Size")


def check_element(element):
    sizes = {SIGNED: (1, 2, 4, 8, 16), UNSIGNED: (1, 2, 4, 8, 16)}
    sizes.update({kind: (1, 2, 4, 8) for kind in (BOOLEAN, SIGNED_ENUMERATION, UNSIGNED_ENUMERATION)})
    allowed = FLOAT_SIZES[element.float_kind] if element.float_kind else sizes.get(element.kind)
    if allowed and element.part not in allowed:
        raise Refused("Declaration", why=f"an element of kind {element.kind} and {element.part} bytes")
    if element.kind in (SIGNED_ENUMERATION, UNSIGNED_ENUMERATION):
        bits = 8 * element.size
        low = -(1 << bits - 1) if element.kind == SIGNED_ENUMERATION else 0
        high = low + (1 << bits) - 1
        names, values = {name for name, _ in element.symbols}, {value for _, value in element.symbols}
        if not element.symbols or len(names) < len(element.symbols) or len(values) < len(element.symbols):
            raise Refused("Declaration", why="symbols: none, or two of one name or value")
        for name, value in element.symbols:
            check_name(name)
            if not low <= value <= high:
                raise Refused("Declaration", why=f"symbol {name} = {value} does not fit")


def check_names_of_structures(root):
    """Structures of one name are equal. Those that are equal were made from one entry of the list, or from two of
    the same bytes."""
    by_name, seen = {}, set()

    def visit(structure):
        if id(structure) in seen:
            return
        seen.add(id(structure))
        for field in structure.fields:
            if field.element.kind == STRUCTURE:
                visit(field.element.structure)
        if by_name.setdefault(structure.name, structure) != structure:
            raise Refused("Declaration", structure.name, "two different structures of this name")

    visit(root)


# Writing.


def varint(number):
    out = bytearray()
    while number >= 0x80:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def text(string):
    data = string.encode()
    return varint(len(data)) + data


def write(machine, root):
    """The one description of a format."""
    places, listed = {}, []

    def add(structure):
        if structure.name in places:
            return places[structure.name]
        out = text(structure.name) + varint(structure.size)
        out += bytes([structure.alignment.bit_length() - 1]) + varint(len(structure.fields))
        end = 0
        for field in structure.fields:
            inner = field.element.structure
            out += write_field(field, field.offset - end, add(inner) if inner else None)
            end = field.offset + field.extent(machine.pointer)
        listed.append(out)
        places[structure.name] = len(listed) - 1
        return places[structure.name]

    add(root)
    marks = (1 if machine.order == "big" else 0) | (2 if machine.pointer == 8 else 0)
    return bytes([1, marks]) + varint(len(listed)) + b"".join(listed)


def write_field(field, gap, place):
    element, kind = field.element, field.element.kind
    tag = kind | (HAS_DIMENSIONS if field.dimensions else 0) | (INDIRECT if field.indirect else 0)
    out = text(field.name) + varint(gap) + bytes([tag | (HAS_UNIT if field.unit is not None else 0)])
    if kind not in (CHAR, STRING, STRUCTURE):
        out += bytes([element.part])
    if kind in (SIGNED_ENUMERATION, UNSIGNED_ENUMERATION):
        out += varint(len(element.symbols))
        for name, value in sorted(element.symbols, key=lambda symbol: symbol[1]):
            if kind == SIGNED_ENUMERATION:
                value = 2 * value if value >= 0 else -2 * value - 1
            out += text(name) + varint(value)
    if kind == STRUCTURE:
        out += varint(place)
    if field.dimensions:
        out += varint(len(field.dimensions))
        out += b"".join(varint(2 * number + (how == "field")) for how, number in field.dimensions)
    return out + (text(field.unit) if field.unit is not None else b"")
