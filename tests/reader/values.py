"""spec/text.md: a body that was verified, as what JSON makes of it, with a number.Number for each float."""

import base64

import number
from body import dimensions_of, product
import description as d


def record(format, body):
    return Values(format.machine, body).structure(format.root, 0)


class Values:
    def __init__(self, machine, body):
        self.machine, self.body = machine, body

    def structure(self, structure, at):
        return {field.name: self.field(structure, field, at) for field in structure.fields}

    def field(self, structure, field, at):
        lengths = dimensions_of(self.machine, self.body, structure, field, at)
        begin = at + field.offset
        if field.indirect:
            begin = self.machine.number(self.body[begin : begin + self.machine.pointer])
            if begin == 0 and not field.dynamic:
                return None
        if field.element.kind == d.CHAR and lengths:
            return self.texts(begin, lengths, fixed=field.dimensions[-1][0] == "fixed")
        return self.array(field.element, begin, lengths)

    def array(self, element, at, lengths):
        if not lengths:
            return self.element(element, at)
        if product(lengths) == 0:
            return []
        stride = element.size * product(lengths[1:])
        return [self.array(element, at + index * stride, lengths[1:]) for index in range(lengths[0])]

    def texts(self, at, lengths, fixed):
        """An array of char: its last dimension is a text."""
        if len(lengths) == 1:
            data = self.body[at : at + lengths[0]]
            return text(data.rstrip(b"\0") if fixed else data)
        if product(lengths) == 0:
            return []
        stride = product(lengths[1:])
        return [self.texts(at + index * stride, lengths[1:], fixed) for index in range(lengths[0])]

    def element(self, element, at):
        data = self.body[at : at + element.size]
        kind = element.kind
        if kind == d.STRUCTURE:
            return self.structure(element.structure, at)
        if kind == d.STRING:
            begin = self.machine.number(data)
            return text(self.body[begin : self.body.index(b"\0", begin)]) if begin else None
        if kind in (d.SIGNED, d.UNSIGNED):
            value = self.machine.number(data, kind == d.SIGNED)
            return value if element.size <= 8 else str(value)
        if kind == d.BOOLEAN:
            return self.machine.number(data) == 1
        if kind == d.CHAR:
            return text(data.rstrip(b"\0"))
        if kind in (d.SIGNED_ENUMERATION, d.UNSIGNED_ENUMERATION):
            value = self.machine.number(data, kind == d.SIGNED_ENUMERATION)
            return next(name for name, symbol in element.symbols if symbol == value)
        if kind in d.COMPLEX:
            return [self.real(element, data[: element.part]), self.real(element, data[element.part :])]
        return self.real(element, data)

    def real(self, element, data):
        return number.decode(element.float_kind, data, self.machine.order)


def text(data):
    try:
        return bytes(data).decode()
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(data).decode()}
