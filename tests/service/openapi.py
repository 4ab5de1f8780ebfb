"""Asks a server all that its OpenAPI document allows, and much that it does not, and compares the answers with the document.

openapi.py ISOFORM [SEED [EXAMPLES]]

Two rounds: one with random tokens, names and numbers, which the server mostly does not know; one with those that it has.
"""

import json
import pathlib
import re
import subprocess
import sys
import tempfile

import sample
import server

# Few documents that fit the schema of a format are formats: offsets and sizes must agree, which no schema says.
# What is retired can still be read.
LEFT_OUT = ["positive_data_acceptance", "use_after_free"]
# To the narrowed document, another name is wrong; to the server, it is a new name.
LEFT_OUT_OF_KNOWN = [*LEFT_OUT, "negative_data_rejection"]


def narrowed(document, url):
    """The document of a server that knows no other tokens, names and numbers than those it has."""
    tokens = {"enum": [format["token"] for format in sample.ask(url, "GET", "formats")["formats"]]}
    numbers = {"enum": [1, 2, 3]}
    parameters, paths = document["components"]["parameters"], document["paths"]
    parameters["token"]["schema"] = tokens
    parameters["name"]["schema"] = {"enum": ["river gauge"]}
    parameters["number"]["schema"] = numbers
    for parameter in paths["/names/{name}/compare"]["parameters"][1:]:
        parameter["schema"] = numbers
    paths["/schemas/guids/{guid}"]["parameters"][0]["schema"] = tokens
    declaration = document["components"]["schemas"]["Declaration"]["properties"]
    declaration["formats"]["items"] = tokens
    rule = document["components"]["schemas"]["Rules"]["additionalProperties"]["additionalProperties"]
    declaration["rules"] = {"type": "object", "properties": {"Gauge": {"type": "object", "properties": {"step": rule}}}}
    return document


def attempt(url, document, left_out, seed, examples):
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder, "openapi.json")
        file.write_text(json.dumps(document))
        program = pathlib.Path(sys.executable).with_name("schemathesis")
        command = [program, "--no-color", "run", file, "--url", url, "--checks", "all"]
        command += ["--exclude-checks", ",".join(left_out), "--max-examples", examples, "--seed", seed]
        done = subprocess.run(command, capture_output=True, text=True, cwd=folder)
    said = done.stdout + done.stderr
    assert done.returncode == 0, said
    return re.search(r"\d+ generated.*", said).group()


def main(isoform, seed="1", examples="30"):
    for known in (False, True):
        with server.running(isoform) as url:
            token = sample.fill(url)
            document = sample.ask(url, "GET", "openapi.json")
            if known:
                document, left_out = narrowed(document, url), LEFT_OUT_OF_KNOWN
            else:
                left_out = LEFT_OUT
            count = attempt(url, document, left_out, seed, examples)
            # Nothing that is stored is lost.
            assert sample.ask(url, "GET", f"formats/{token}.json")["token"] == token
            print(f"openapi: {'known' if known else 'random'} tokens and names: {count}")


if __name__ == "__main__":
    main(*sys.argv[1:])
