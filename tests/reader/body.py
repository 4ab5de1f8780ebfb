"""spec/message.md, "Body": where blocks are, and the verification of a whole body. Values are in values.py."""

from description import BOOLEAN, SIGNED, SIGNED_ENUMERATION, STRING, STRUCTURE
from refused import Refused


def round_up(value, multiple):
    return -(-value // multiple) * multiple


class Verifier:
    """The walk of the specification, with its cursor."""

    def __init__(self, format, body):
        self.machine, self.root, self.body = format.machine, format.root, body
        self.cursor = self.root.size

    def run(self):
        if len(self.body) < self.root.size:
            raise Refused("BodyLength", why=f"{len(self.body)} of {self.root.size} bytes of the record")
        self.structure(self.root, 0)
        if self.cursor != len(self.body):
            raise Refused("BodyLength", why=f"{len(self.body)} bytes, of which {self.cursor} are used")

    def slot(self, at):
        return self.machine.number(self.body[at : at + self.machine.pointer])

    def structure(self, structure, at):
        for field in structure.fields:
            try:
                if field.indirect:
                    self.indirect(structure, field, at)
                else:
                    self.elements(field.element, at + field.offset, [length for _, length in field.dimensions])
            except Refused as refused:
                raise refused.within(field.name) from None

    def indirect(self, structure, field, at):
        lengths = dimensions_of(self.machine, self.body, structure, field, at)
        if any(length < 0 for length in lengths):
            raise Refused("ArrayLength", why=f"lengths {lengths}")
        count = product(lengths)
        slot = self.slot(at + field.offset)
        if field.dynamic and count == 0:
            if slot != 0:
                raise Refused("Slot", why="no elements, but not null")
            return
        if slot == 0:
            if field.dynamic:
                raise Refused("NullArray", why=f"{count} elements")
            return
        begin = self.place(slot, alignment_of(field.element))
        size = count * field.element.size
        if size > len(self.body) - begin:
            raise Refused("ArrayLength", why=f"{count} elements")
        self.cursor = begin + size
        self.elements(field.element, begin, lengths)

    def place(self, slot, alignment):
        expected = round_up(self.cursor, alignment)
        if slot != expected:
            raise Refused("Slot", why=f"expected {expected}, found {slot}")
        return expected

    def elements(self, element, at, lengths):
        check = {STRING: self.string, STRUCTURE: self.nested, BOOLEAN: self.boolean}.get(element.kind)
        if element.symbols:
            check = self.enumeration
        for index in range(product(lengths)) if check else ():
            try:
                check(element, at + index * element.size)
            except Refused as refused:
                raise refused.within(indices(index, lengths)) if lengths else refused

    def nested(self, element, at):
        self.structure(element.structure, at)

    def string(self, element, at):
        slot = self.slot(at)
        if slot == 0:
            return
        begin = self.place(slot, 8)
        if begin >= len(self.body):
            raise Refused("Slot", why="beyond the body")
        end = self.body.find(b"\0", begin)
        if end < 0:
            raise Refused("Unterminated")
        self.cursor = end + 1

    def boolean(self, element, at):
        value = self.machine.number(self.body[at : at + element.size])
        if value > 1:
            raise Refused("Boolean", why=str(value))

    def enumeration(self, element, at):
        value = self.machine.number(self.body[at : at + element.size], element.kind == SIGNED_ENUMERATION)
        if all(value != symbol for _, symbol in element.symbols):
            raise Refused("Symbol", why=str(value))


def alignment_of(element):
    if element.kind == STRUCTURE:
        return 16 if element.structure.alignment >= 16 else 8
    return 16 if element.part == 16 else 8


def product(numbers):
    result = 1
    for value in numbers:
        result *= value
    return result


def indices(index, lengths):
    """Where the element of this number is in an array, such as [3][0]; nothing if there are no dimensions."""
    path = ""
    for length in reversed(lengths):
        index, last = divmod(index, length)
        path = f"[{last}]{path}"
    return path


def dimensions_of(machine, body, structure, field, at):
    """The length of every dimension of a field, in the record that begins at `at`."""

    def length(how, value):
        if how == "fixed":
            return value
        source = structure.fields[value]
        begin = at + source.offset
        return machine.number(body[begin : begin + source.element.size], source.element.kind == SIGNED)

    return [length(how, value) for how, value in field.dimensions]
