"""Sends records through a broker for MQTT 5, and shows them. The receiver knows no format: it finds each at a format service.

    python mqtt.py send HOST PORT SERVICE     sends three records, and registers their format
    python mqtt.py show HOST PORT SERVICE     shows three records

A message is sent as it is. It begins with the token of its format, and the user property `isoform-format` says the same in
hexadecimal, for those who look at properties only.
"""

import sys
from dataclasses import dataclass
from typing import Annotated, Any

import isoform
import paho.mqtt.client as mqtt
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties

TOPIC = "river/old-mill"


@dataclass
class Sample:
    """What is sent."""

    step: Annotated[int, isoform.i32]
    station: str
    depth: Annotated[float, isoform.f32, isoform.unit("m")]


def connected(host: str, port: str) -> mqtt.Client:
    client = mqtt.Client(mqtt.CallbackAPIVersion.VERSION2, protocol=mqtt.MQTTv5)
    client.connect(host, int(port))
    return client


def send(host: str, port: str, service: str) -> None:
    encoder = isoform.Encoder(Sample)
    isoform.Servers(service).put(encoder.format)
    properties = Properties(PacketTypes.PUBLISH)
    properties.UserProperty = [("isoform-format", encoder.format.token)]
    client = connected(host, port)
    client.loop_start()
    for step in range(3):
        message = encoder.encode(Sample(step, "Old Mill", 0.5 + step))
        client.publish(TOPIC, bytes(message), qos=1, properties=properties).wait_for_publish()
    client.disconnect()


def show(host: str, port: str, service: str) -> None:
    registry = isoform.Registry(servers=service)
    left = 3

    def received(client: mqtt.Client, _: Any, publication: mqtt.MQTTMessage) -> None:
        nonlocal left
        message = isoform.Message.parse(publication.payload, registry)
        fields = message.view()
        print(message.format.name, {field.name: fields[field.name] for field in message.format.fields}, flush=True)
        left -= 1
        if left == 0:
            client.disconnect()

    client = connected(host, port)
    client.on_message = received
    client.on_subscribe = lambda *_: print("listening", flush=True)
    client.on_connect = lambda *_: client.subscribe(TOPIC, qos=1)
    client.loop_forever()


COMMANDS = {"send": send, "show": show}

if len(sys.argv) != 5 or sys.argv[1] not in COMMANDS:
    sys.exit(__doc__)
COMMANDS[sys.argv[1]](*sys.argv[2:])
