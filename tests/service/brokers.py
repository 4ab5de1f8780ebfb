"""Records through brokers, to a receiver that has nothing but the address of a format service: examples/python/mqtt.py with
mosquitto, and examples/python/zeromq.py.

brokers.py ISOFORM [MOSQUITTO]
"""

import contextlib
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile
import time

import server

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples/python"
EXPECTED = ["Sample {'step': %d, 'station': 'Old Mill', 'depth': %s}" % (step, 0.5 + step) for step in range(3)]


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


@contextlib.contextmanager
def broker(mosquitto):
    """A broker at a port of the loopback interface."""
    port = free_port()
    with tempfile.TemporaryDirectory() as folder:
        configuration = pathlib.Path(folder, "mosquitto.conf")
        configuration.write_text(f"listener {port} 127.0.0.1\nallow_anonymous true\npersistence false\n")
        process = subprocess.Popen([shutil.which(mosquitto, path="/usr/sbin:/usr/bin:/usr/local/sbin"), "-c", configuration],
                                   stderr=subprocess.DEVNULL)
        try:
            while True:
                assert process.poll() is None, "mosquitto ended"
                with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)):
                    break
                time.sleep(0.02)
            yield "127.0.0.1", str(port)
        finally:
            process.terminate()
            process.wait()


def through(example, *where):
    """Runs the receiver, then the sender, and compares what is shown."""
    command = [sys.executable, EXAMPLES / example]
    alone = subprocess.run(command, capture_output=True, text=True)
    assert alone.returncode == 1 and f"python {example} send" in alone.stderr, alone.stderr
    receiver = subprocess.Popen([*command, "show", *where], stdout=subprocess.PIPE, text=True)
    try:
        assert receiver.stdout.readline() == "listening\n"
        subprocess.run([*command, "send", *where], check=True)
        shown = receiver.communicate(timeout=120)[0].splitlines()
    finally:
        receiver.kill()
        receiver.wait()
    assert shown == EXPECTED, shown
    print(f"brokers: {example}: {len(shown)} records: passed")


def main(isoform, mosquitto=None):
    with server.running(isoform) as url:
        through("zeromq.py", f"tcp://127.0.0.1:{free_port()}", url)
    if mosquitto:
        with server.running(isoform) as url, broker(mosquitto) as where:
            through("mqtt.py", *where, url)


if __name__ == "__main__":
    main(*sys.argv[1:])
