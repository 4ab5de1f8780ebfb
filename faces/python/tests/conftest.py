"""What holds for all tests."""

from __future__ import annotations

import signal

# Shells let what they start in the background ignore Ctrl-C, and so Python does not listen to it; some tests are about it.
signal.signal(signal.SIGINT, signal.default_int_handler)
