"""``python -m isoform``: the package as a command."""

from __future__ import annotations

import argparse
import sys
from importlib.util import find_spec

from . import Error

EPILOG = """\
A field is a path, as in `grid[3].rho`. Numbers are plotted against time, arrays of numbers as curves, and tables as images.
Without fields, all numbers are plotted. Sources skip events that the plot is too slow for, and do not wait."""


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="isoform", description="Commands of the Python package isoform.")
    commands = parser.add_subparsers(dest="command", required=True)
    plot = commands.add_parser("plot", help="plot fields of a channel's events", epilog=EPILOG)
    plot.add_argument("channel", help="its id, such as iso://127.0.0.1:7000/river")
    plot.add_argument("field", nargs="*", help="a field to plot")
    plot.add_argument("--x", metavar="FIELD", help="plot against this field instead of time, or of the number of the element")
    plot.add_argument("--png", metavar="FILE", help="write this file at the end instead of showing a window")
    plot.add_argument("--seconds", type=float, metavar="N", help="end N seconds after the first event (with --png: 5 by default)")
    plot.add_argument("--last", type=float, default=30.0, metavar="N", help="plot the last N seconds (30 by default)")
    plot.add_argument("--query", metavar="QUERY", help="what the sources send: 'where any(p > 2) | every 10 | select p'")
    plot.add_argument("--insecure", action="store_true", help="allow addresses beyond this machine without TLS")
    plot.add_argument("--identity", metavar="FILE", help="the certificate, key and authority for TLS")
    plot.add_argument("--identity-key", metavar="FILE", help="the private key, if it is in another file")
    plot.add_argument("--trust", metavar="FILE", help="certificates of authorities to trust, if they are in another file")
    plot.add_argument("--trust-platform", action="store_true", help="trust the authorities that this machine trusts")
    plot.add_argument("--trust-name", metavar="NAME", dest="trust_names", action="append", help="accept only such certificates")
    plot.add_argument("--revoked", metavar="FILE", help="revocation lists of the authorities")
    plot.add_argument("--tls-on-loopback", action="store_true", help="speak TLS also within this machine")
    plot.add_argument("--admit-anyone", action="store_true", help="ask for no shared key")
    plot.add_argument("--rules", metavar="FILE", help="the rules for other nodes")
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
