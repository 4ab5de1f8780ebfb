"""spec/message.md, "Header" and "Streams": where messages begin and end."""

from refused import Refused

MAGIC = b"\x89ISO"
HEADER, ALIGNMENT = 32, 16
ZERO = bytes(16)
LOCATORS = bytes(15) + b"\1"
MAX_DESCRIPTION = 65536


def messages(data, limit=1 << 32):
    """Token and body of every message of a stream, in order."""
    at = 0
    while at < len(data):
        token, length = header(data[at : at + HEADER], limit)
        begin = at + HEADER
        if len(data) - begin < length:
            raise Refused("Cut", why=f"{len(data) - begin} of {length} bytes of a body")
        yield token, data[begin : begin + length]
        at = -(-(begin + length) // ALIGNMENT) * ALIGNMENT


def header(data, limit):
    if data[:4] != MAGIC[: len(data)]:
        raise Refused("NotAMessage")
    if len(data) > 4 and data[4] != 1:
        raise Refused("Version", why=str(data[4]))
    if len(data) < HEADER:
        raise Refused("Cut", why=f"{len(data)} bytes of a header")
    if data[5] or data[7]:
        raise Refused("Flags", why=f"{data[5]:#04x}, {data[7]:#04x}")
    token, length = bytes(data[8:24]), int.from_bytes(data[24:], "little")
    if token == ZERO and length > MAX_DESCRIPTION:
        raise Refused("DescriptionSize", why=f"{length} bytes")
    if length > limit:
        raise Refused("MessageSize", why=f"{length} bytes")
    return token, length
