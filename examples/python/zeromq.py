"""Sends records through ZeroMQ, and shows them. The receiver knows no format: it finds each at a format service.

    python zeromq.py send tcp://HOST:PORT SERVICE     sends three records, and registers their format
    python zeromq.py show tcp://HOST:PORT SERVICE     listens there, and shows three records

Each record has two frames: the token of its format in hexadecimal, and the message as it is, which begins with the token.
"""

import sys
import urllib.request
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


def learn(registry: isoform.Registry, service: str, token: str) -> None:
    """Gets a format from the service. An answer that is not the description of this token is not used for it."""
    with urllib.request.urlopen(f"{service}/formats/{token}") as answer:
        registry.learn(answer.read())


def send(address: str, service: str) -> None:
    encoder = isoform.Encoder(Sample)
    description = encoder.format.description
    request = urllib.request.Request(f"{service}/formats", description, method="PUT")
    request.add_header("Content-Type", "application/octet-stream")
    urllib.request.urlopen(request).close()
    with zmq.Context() as context, context.socket(zmq.PUSH) as socket:
        socket.connect(address)
        for step in range(3):
            message = encoder.encode(Sample(step, "Old Mill", 0.5 + step))
            socket.send_multipart([encoder.format.token.encode(), bytes(message)])


def show(address: str, service: str) -> None:
    registry = isoform.Registry()
    with zmq.Context() as context, context.socket(zmq.PULL) as socket:
        socket.bind(address)
        print("listening", flush=True)
        for _ in range(3):
            token, payload = socket.recv_multipart()
            if registry.known(token.decode()) is None:
                learn(registry, service, token.decode())
            message = isoform.Message.parse(payload, registry)
            fields = message.view()
            print(message.format.name, {field.name: fields[field.name] for field in message.format.fields}, flush=True)


{"send": send, "show": show}[sys.argv[1]](*sys.argv[2:])
