"""Random formats, and random records of them as bodies, written from spec/ alone like the reader.

Records are small, and nested up to four levels. Most of what is made is valid; `damaged` makes most things invalid.
"""

import description as d
from body import alignment_of, dimensions_of, product, round_up

MAGIC = bytes([0x89]) + b"ISO"
KINDS = [
    *(d.SIGNED, d.UNSIGNED, *d.FLOATS, *d.COMPLEX, d.CHAR, d.BOOLEAN),
    *(d.SIGNED_ENUMERATION, d.UNSIGNED_ENUMERATION, d.STRING),
]


def message(token, body):
    header = MAGIC + bytes([1, 0, 0, 0]) + token + len(body).to_bytes(8, "little")
    return header + body + bytes(-len(body) % 16)


class Formats:
    """Random formats; `random` is a random.Random."""

    def __init__(self, random):
        self.random = random
        self.machine = d.Machine(random.choice(["little", "big"]), random.choice([4, 8]))
        self.known = []

    def description(self):
        return d.write(self.machine, self.structure(0))

    def structure(self, depth):
        random, fields, lengths, end = self.random, [], [], 0
        for index in range(random.randint(1, 6)):
            element = self.element(depth)
            dimensions = []
            for _ in range(random.choice([0, 0, 0, 1, 1, 2, 3])):
                if lengths and random.random() < 0.5:
                    dimensions.append(("field", random.choice(lengths)))
                else:
                    dimensions.append(("fixed", random.randint(1, 4)))
            indirect = random.random() < 0.1 or any(how == "field" for how, _ in dimensions)
            name = random.choice(["x", "grid", "größe", "名", "n_1", "-"]) + str(index)
            unit = random.choice([None, None, "m", "m/s²"])
            field = d.Field(name, end + random.choice([0, 0, 0, 1, 3]), element, tuple(dimensions), indirect, unit)
            if element.kind in (d.SIGNED, d.UNSIGNED) and element.size <= 8 and not dimensions and not indirect:
                lengths.append(index)
            fields.append(field)
            end = field.offset + field.extent(self.machine.pointer)
        alignment = random.choice([1, 2, 4, 8, 16, 32])
        name = f"S{len(self.known)}"
        self.known.append(d.Structure(name, round_up(end, alignment), alignment, fields))
        return self.known[-1]

    def element(self, depth):
        random = self.random
        kind = random.choice([*KINDS, 1, 2, 3, d.STRING, d.STRUCTURE, d.STRUCTURE])
        if kind == d.STRUCTURE and depth < 3:
            inner = random.choice(self.known) if self.known and random.random() < 0.3 else self.structure(depth + 1)
            return d.Element(kind, inner.size, structure=inner)
        if kind in (d.STRING, d.STRUCTURE):
            return d.Element(d.STRING, self.machine.pointer)
        if kind in d.FLOATS:
            return d.Element(kind, random.choice(d.FLOAT_SIZES[d.FLOATS[kind]]))
        if kind in d.COMPLEX:
            return d.Element(kind, 2 * random.choice(d.FLOAT_SIZES[d.COMPLEX[kind]]))
        if kind == d.CHAR:
            return d.Element(kind, 1)
        if kind in (d.SIGNED, d.UNSIGNED):
            return d.Element(kind, random.choice([1, 2, 4, 8, 16]))
        size = random.choice([1, 2, 4, 8])
        if kind == d.BOOLEAN:
            return d.Element(kind, size)
        low, high = (-(1 << 8 * size - 1), 1 << 8 * size - 1) if kind == d.SIGNED_ENUMERATION else (0, 1 << 8 * size)
        values = sorted({random.randrange(low, high) for _ in range(random.randint(1, 4))})
        return d.Element(kind, size, tuple((f"s{index}", value) for index, value in enumerate(values)))


class Bodies:
    """A random record of a format: bytes are written to where the walk of spec/message.md places them."""

    def __init__(self, random, format):
        self.random, self.machine, self.out = random, format.machine, bytearray(format.root.size)
        self.structure(format.root, 0)

    def number(self, at, size, value):
        self.out[at : at + size] = (value & ((1 << 8 * size) - 1)).to_bytes(size, self.machine.order)

    def block(self, alignment, size):
        begin = round_up(len(self.out), alignment)
        self.out.extend(bytes(begin + size - len(self.out)))
        return begin

    def structure(self, structure, at):
        lengths = {number for field in structure.fields for how, number in field.dimensions if how == "field"}
        for index in lengths:
            field = structure.fields[index]
            self.number(at + field.offset, field.element.size, self.random.choice([0, 1, 1, 2, 3]))
        for index, field in enumerate(structure.fields):
            if index in lengths:
                continue
            count = product(dimensions_of(self.machine, self.out, structure, field, at))
            begin = at + field.offset
            if field.indirect:
                if count == 0 or not field.dynamic and self.random.random() < 0.4:
                    continue
                begin = self.block(alignment_of(field.element), count * field.element.size)
                self.number(at + field.offset, self.machine.pointer, begin)
            self.elements(field.element, begin, count)

    def text(self, length):
        """Rarely UTF-8 if there are bytes above 127 in it."""
        return bytes(self.random.randrange(1, 256 if self.random.random() < 0.2 else 128) for _ in range(length))

    def elements(self, element, at, count):
        random = self.random
        for place in range(at, at + count * element.size, element.size):
            if element.kind == d.STRUCTURE:
                self.structure(element.structure, place)
            elif element.kind == d.STRING:
                if random.random() < 0.7:
                    text = self.text(random.choice([0, 1, 7, 8, 20]))
                    begin = self.block(8, len(text) + 1)
                    self.out[begin : begin + len(text)] = text
                    self.number(place, self.machine.pointer, begin)
            elif element.kind == d.BOOLEAN:
                self.number(place, element.size, random.randrange(2))
            elif element.symbols:
                self.number(place, element.size, random.choice(element.symbols)[1])
            else:
                self.out[place : place + element.size] = random.randbytes(element.size)


def damaged(random, data):
    """The same bytes, some of them changed, cut off, added."""
    data = bytearray(data)
    for _ in range(random.choice([1, 1, 1, 2])):
        at = random.randrange(len(data)) if data else 0
        how = random.random()
        if how < 0.1:
            del data[at:]
        elif how < 0.2:
            data[at:at] = random.randbytes(random.randint(1, 3))
        elif data:
            flipped = data[at] ^ 1 << random.randrange(8)
            data[at] = random.choice([0, 1, 2, 8, 16, 24, 255, flipped, random.randrange(256)])
    return bytes(data)
