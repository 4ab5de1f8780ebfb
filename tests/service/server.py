"""A format service for the tests: `isoform serve`."""

import contextlib
import pathlib
import re
import signal
import subprocess
import tempfile


@contextlib.contextmanager
def running(isoform, *options):
    """Runs a service with an empty store and these options, and gives its URL."""
    with tempfile.TemporaryDirectory() as folder:
        command = [isoform, "serve", "--store", pathlib.Path(folder, "formats.redb"), "--listen", "127.0.0.1:0", *options]
        process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        try:
            said = process.stderr.readline()
            found = re.search(r"http://\S+", said)
            assert found, said + process.stderr.read()
            yield found.group()
        finally:
            process.send_signal(signal.SIGINT)
            said = process.communicate()[1]
        assert process.returncode in (0, 130), f"the service ended with {process.returncode}: {said}"
