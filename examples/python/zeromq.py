"""Sends records through ZeroMQ, and shows them. The receiver knows no format: it finds each at a format service.

    python zeromq.py send tcp://HOST:PORT SERVICE     sends three records, and registers their format
    python zeromq.py show tcp://HOST:PORT SERVICE     listens there, and shows three records

Each record has two frames: the token of its format in hexadecimal, and the message as it is, which begins with the token.
"""

import sys
from dataclasses import dataclass
from typing import Annotated

import isoform
import zmq


@dataclass
class Sample:
    """What is sent."""

    step: Annotated[int, isoform.i32]
    station: str
    depth: Annotated[float, isoform.f32, isoform.unit("m")]


def send(address: str, service: str) -> None:
    encoder = isoform.Encoder(Sample)
    isoform.Servers(service).put(encoder.format)
    with zmq.Context() as context, context.socket(zmq.PUSH) as socket:
        socket.connect(address)
        for step in range(3):
            message = encoder.encode(Sample(step, "Old Mill", 0.5 + step))
            socket.send_multipart([encoder.format.token.encode(), bytes(message)])


def show(address: str, service: str) -> None:
    registry = isoform.Registry(servers=service)
    with zmq.Context() as context, context.socket(zmq.PULL) as socket:
        socket.bind(address)
        print("listening", flush=True)
        for _ in range(3):
            _, payload = socket.recv_multipart()
            message = isoform.Message.parse(payload, registry)
            fields = message.view()
            print(message.format.name, {field.name: fields[field.name] for field in message.format.fields}, flush=True)


COMMANDS = {"send": send, "show": show}

if len(sys.argv) != 4 or sys.argv[1] not in COMMANDS:
    sys.exit(__doc__)
COMMANDS[sys.argv[1]](*sys.argv[2:])
