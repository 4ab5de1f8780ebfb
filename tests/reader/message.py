"""spec/message.md, "Header" and "Streams": where messages begin and end."""

from blake3 import derive_key
from refused import Refused

MAGIC = b"\x89ISO"
HEADER, ALIGNMENT = 32, 16
ZERO = bytes(16)
LOCATORS, SEAL = bytes(15) + b"\1", bytes(15) + b"\2"
SEAL_CONTEXT, MARK = "isoform 2026 message seal v1", 8
MAX_DESCRIPTION = 65536


def messages(data, limit=1 << 32):
    """Of every message of a stream but the seals, in order: token, body, and whether the stream vouches for its length. It does if the
    message is sealed, and as long as none was."""
    at, seal, is_sealed = 0, None, False
    while at < len(data):
        head = data[at : at + HEADER]
        token, length = header(head)
        begin = at + HEADER
        if seal and (token == SEAL or checksum(seal[:MARK], head) != seal[8:12]):
            raise Refused("Damaged", why=f"the header at byte {at} differs from its seal")
        is_vouched = bool(seal) or not is_sealed
        admit(token, length, limit, is_vouched)
        if len(data) - begin < length:
            raise Refused("Cut", why=f"{len(data) - begin} of {length} bytes of a body")
        body = data[begin : begin + length]
        if seal:
            if checksum(seal[:MARK], head, body) != seal[12:]:
                raise Refused("Damaged", why=f"the message at byte {at} differs from its seal")
            is_sealed = True
        if token != SEAL:
            yield token, body, is_vouched
        seal = body if token == SEAL else None
        at = -(-(begin + length) // ALIGNMENT) * ALIGNMENT
    if seal:
        raise Refused("Cut", why="no message behind a seal")


def checksum(*parts):
    return derive_key(SEAL_CONTEXT, b"".join(parts))[:4]


def header(data):
    if data[:4] != MAGIC[: len(data)]:
        raise Refused("NotAMessage")
    if len(data) > 4 and data[4] != 1:
        raise Refused("Version", why=str(data[4]))
    if len(data) < HEADER:
        raise Refused("Cut", why=f"{len(data)} bytes of a header")
    if data[5] or data[7]:
        raise Refused("Flags", why=f"{data[5]:#04x}, {data[7]:#04x}")
    return bytes(data[8:24]), int.from_bytes(data[24:], "little")


def admit(token, length, limit, is_vouched):
    why = f"{length} bytes"
    if token == SEAL and length != 16:
        raise Refused("Damaged", why=f"a seal of {why}")
    if token == ZERO and length > MAX_DESCRIPTION:
        raise Refused("DescriptionSize" if is_vouched else "Damaged", why=why)
    if length > limit:
        raise Refused("MessageSize" if is_vouched else "Damaged", why=why)
