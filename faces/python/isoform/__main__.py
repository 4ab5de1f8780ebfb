"""``python -m isoform``: what the package does as a command."""

from __future__ import annotations

import argparse
import sys
from importlib.util import find_spec

from . import Error

EPILOG = """\
A field is a path, as in `grid[3].rho`. Numbers are drawn against time, rows of numbers as they are now, and tables as images.
Without fields, all numbers are drawn. What is too much for the plot is skipped, and nobody waits for it."""


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="isoform", description="What the Python package isoform does as a command.")
    commands = parser.add_subparsers(dest="command", required=True)
    plot = commands.add_parser("plot", help="draw fields of a channel's events", epilog=EPILOG)
    plot.add_argument("channel", help="its id, such as iso://127.0.0.1:7000/river")
    plot.add_argument("field", nargs="*", help="what to draw")
    plot.add_argument("--png", metavar="FILE", help="draw no window, but this file, at the end")
    plot.add_argument("--seconds", type=float, metavar="N", help="end so long after the first event (with --png: 5, if not said)")
    plot.add_argument("--last", type=float, default=30.0, metavar="N", help="how many seconds are drawn (usually 30)")
    plot.add_argument("--insecure", action="store_true", help="beyond this machine, where nothing is encrypted")
    given = parser.parse_args(arguments)
    if find_spec("matplotlib") is None:
        print("isoform plot: matplotlib is missing: pip install matplotlib", file=sys.stderr)
        return 1
    from ._plot import run

    try:
        return run(given)
    except Error as error:
        print(f"isoform plot: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
