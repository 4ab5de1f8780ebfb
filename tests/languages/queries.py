"""Types what the guide to queries says, and runs it: the commands about a file, and its viewer in four languages, which must all
show the same, on the channel of one program:

    python queries.py COMMAND PREFIX RUST

COMMAND is the command `isoform`, PREFIX is where the C library is installed, and RUST is the viewer in Rust as it was built.
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).parents[2]
GUIDE = ROOT / "docs/book/guides/queries.md"
SOURCE = ROOT / "examples/rust/deepest.rs"
PATIENCE = 120


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", GUIDE.read_text(), re.M | re.S)


def only(language: str, beginning: str) -> str:
    """The block that begins so."""
    (block,) = [block for block in blocks(language) if block.startswith(beginning)]
    return block


def commands(folder: pathlib.Path, environment: dict[str, str]) -> int:
    """Runs every command that needs nothing but the file of the first one. Returns how many there are."""
    lines = [line for block in blocks("sh") for line in block.splitlines() if line.startswith("isoform ")]
    lines = [line for line in lines if not re.search(r"iso://| ID\b|\.mcap|&$", line)]
    for line in lines:
        done = subprocess.run(line, shell=True, cwd=folder, env=environment, capture_output=True, text=True, timeout=PATIENCE)
        assert done.returncode == 0, f"{line}: {done.stderr}"
        assert done.stdout or ">" in line, f"{line} shows nothing"
    return len(lines)


def viewers(folder: pathlib.Path, environment: dict[str, str], prefix: pathlib.Path, rust: pathlib.Path) -> dict[str, list[str]]:
    """The viewer of each language that is here."""
    assert SOURCE.read_text().endswith("\n" + only("rust,no_run", "use isoform::Record")), f"{SOURCE} and the guide differ"
    found = {"rust": [str(rust)]}
    library = [f"-I{prefix}/include", f"-L{prefix}/lib", "-lisoform", f"-Wl,-rpath,{prefix}/lib"]
    for language, compiler, beginning in [("c", ["cc", "-std=c99"], "#include <inttypes"), ("cpp", ["c++", "-std=c++20"], "#include <cint")]:
        if not shutil.which(compiler[0]):
            print(f"*** SKIPPED: the viewer in {language}. It needs {compiler[0]} ***")
            continue
        program, text = folder / f"deepest-{language}", folder / f"deepest.{language}"
        text.write_text(only(language, beginning))
        subprocess.run([*compiler, "-Wall", "-Wextra", "-Werror", str(text), *library, "-o", str(program)], check=True)
        found[language] = [str(program)]
    text = folder / "deepest.py"
    text.write_text(only("python", "import sys"))
    found["python"] = [sys.executable, str(text)]
    return found


def main() -> None:
    command, prefix, rust = (pathlib.Path(argument).resolve() for argument in sys.argv[1:])
    environment = {key: value for key, value in os.environ.items() if not key.startswith("ISOFORM_")}
    environment["PATH"] = os.pathsep.join([str(command.parent), os.environ["PATH"]])
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        count = commands(folder, environment)
        programs = viewers(folder, environment, prefix, rust)
        query = re.findall(r'WANTED = "(.*)"', (folder / "deepest.py").read_text())[0]
        shown = subprocess.run([command, "query", "--json", "river.iso#Reach", query], cwd=folder, capture_output=True, text=True, check=True)
        expected = [json.loads(line) for line in shown.stdout.splitlines()]
        expected = [f"{record['step']} {record['deep']:.3f}" for record in expected]
        assert len(expected) > 3, expected
        # As fast as a simulation. Faster, the queries would take more than the 2% of a core that they may, and lose events.
        publish = [command, "pub", "river", "--rate", "1000", "--wait", str(len(programs)), "river.iso"]
        with subprocess.Popen(publish, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as publisher:
            assert publisher.stderr is not None
            channel = publisher.stderr.readline().removeprefix("-- ").strip()
            running = {
                language: subprocess.Popen([*program, channel], stdout=subprocess.PIPE, text=True, env=environment)
                for language, program in programs.items()
            }
            for language, viewer in running.items():
                output, _ = viewer.communicate(timeout=PATIENCE)
                assert viewer.returncode == 0 and output.splitlines() == expected, f"{language}: {output}, not {expected}"
            publisher.communicate(timeout=PATIENCE)
            assert publisher.returncode == 0
        print(f"guide to queries: passed, {count} commands, and {len(expected)} results each in {', '.join(programs)}")


main()
