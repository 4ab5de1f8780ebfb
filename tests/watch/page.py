"""Uses the page of `isoform watch` as people do, in a real browser: Chromium.

page.py ISOFORM CHROMIUM [FOLDER, where it puts pictures of what it sees]
"""

import contextlib
import csv
import io
import json
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile

from playwright.sync_api import expect, sync_playwright

SHAPE = """\
record Reach
  step   long
  stage  enum { Low, Flood }
  depth  double unit="m"
  in     double unit="m/s"
  grid   float[8][16]
  row    float[n]
  n      int
  name   string
"""
BIG = 2**53 + 1


@contextlib.contextmanager
def river(isoform, folder):
    """A channel whose records this test writes, as lines of JSON, and the address of the page that watches it."""
    pathlib.Path(folder, "reach.shape").write_text(SHAPE)
    socket = pathlib.Path(folder, "river.sock")
    publish = [isoform, "pub", "river", "--listen", f"unix:{socket}", "--shape", "reach.shape", "--wait", "0"]
    source = subprocess.Popen(publish, cwd=folder, stdin=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    watch = [isoform, "watch", f"iso+unix://{socket}/river"]
    server = subprocess.Popen(watch, cwd=folder, stderr=subprocess.PIPE, text=True)
    try:
        said = server.stderr.readline()
        found = re.search(r"http://\S+", said)
        assert found, said
        yield source, found.group()
    finally:
        source.stdin.close()
        server.send_signal(signal.SIGINT)
        server.communicate()
        source.send_signal(signal.SIGINT)
        source.wait()


def write(source, step):
    record = {
        "step": BIG + step, "stage": ["Low", "Flood"][step // 20 % 2], "depth": step / 10, "in": -step,
        "grid": [[x * y + step for x in range(16)] for y in range(8)], "row": [x + step for x in range(5)], "name": "Old Mill",
    }
    source.stdin.write(json.dumps(record) + "\n")
    source.stdin.flush()


def field(page, path):
    return page.locator(".fields button").filter(has_text=re.compile(rf"^{re.escape(path)}\b"))


def value(page, path):
    named = page.locator("button").filter(has_text=re.compile(rf"^{re.escape(path)}\b"))
    return page.locator(".fields tr").filter(has=named).locator("td").nth(1)


# What the page saves is kept here. A browser holds downloads back if there are many.
KEEP = """
window.saved = [];
const make = URL.createObjectURL;
URL.createObjectURL = (blob) => (blob.text().then((text) => saved.push(text)), make.call(URL, blob));
HTMLAnchorElement.prototype.click = () => {};
"""


def numbers(page, panel):
    """What CSV has of a plot."""
    before = page.evaluate("saved.length")
    panel.get_by_role("button", name="CSV").click()
    page.wait_for_function("(before) => saved.length > before", arg=before)
    return list(csv.reader(io.StringIO(page.evaluate("saved.at(-1)"))))


def saved(page, panel, name):
    """A file that the browser really saves."""
    page.evaluate("delete HTMLAnchorElement.prototype.click")
    with page.expect_download() as download:
        panel.get_by_role("button", name=name).click()
    page.evaluate("HTMLAnchorElement.prototype.click = () => {}")
    return download.value.suggested_filename, download.value.path().read_bytes()


def until(page, panel, source, step, enough):
    """Writes records until the numbers of a plot are enough. Returns them, and the next step."""
    while True:
        step += 1
        write(source, step)
        rows = numbers(page, panel)
        if enough(rows):
            return rows, step


def uses(page, source, width):
    # Records go on for as long as the test looks, so that the page has something to follow.
    step = 0
    while field(page, "depth").count() == 0:
        write(source, step)
        page.wait_for_timeout(50)
    expect(page.locator("#hint")).to_be_visible()
    expect(value(page, "name")).to_have_text("Old Mill")
    expect(value(page, "step")).to_have_text(str(BIG))  # not as a double has it
    field(page, "depth").press("Enter")
    plot = page.locator(".panel").nth(0)
    expect(plot.locator("h3")).to_have_text("depth [m]")
    rows, step = until(page, plot, source, step, lambda rows: len(rows) > 4)
    assert rows[0] == ["field", "source", "time", "least", "greatest"]
    assert all(row[0] == "depth" and float(row[3]) == float(row[4]) <= step / 10 for row in rows[1:]), rows
    expect(plot.locator("canvas").first).to_be_visible()
    name, text = saved(page, plot, "CSV")
    assert name == "depth.csv" and text.startswith(b"field,source,time,least,greatest\ndepth,"), (name, text)
    name, picture = saved(page, plot, "PNG")
    assert name == "depth.png" and picture.startswith(b"\x89PNG"), name

    # A second field in the same plot, whose name queries reserve.
    field(page, "in").click(modifiers=["Shift"])
    expect(plot.locator("h3")).to_have_text("depth [m], in [m/s]")
    rows, step = until(page, plot, source, step, lambda rows: {row[0] for row in rows[1:]} == {"depth", "in"})
    assert page.locator(".panel").count() == 1
    # As numbers, each field has its value once.
    plot.get_by_label("How to show it").select_option("number")
    rows, step = until(page, plot, source, step, lambda rows: len(rows) > 1 and rows[0] == ["field", "source", "value"])
    assert sorted(row[0] for row in rows[1:]) == ["depth", "in"], rows
    assert all(float(value) * (10 if path == "depth" else -1) <= step for path, _, value in rows[1:]), rows
    plot.get_by_label("How to show it").select_option("line")

    for path, way, shown in [("stage", "line", 1), ("row", "profile", 2), ("grid", "image", 3), ("name", None, 4)]:
        field(page, path).click()
        panel = page.locator(".panel").nth(shown)
        if way:
            expect(panel.get_by_label("How to show it")).to_have_value(way)
    grid = page.locator(".panel").nth(3)
    rows, step = until(page, grid, source, step, lambda rows: len(rows) == 1 + 128)
    first = float(rows[1][3])
    assert [float(row[3]) - first for row in rows[1:]] == [x * y for y in range(8) for x in range(16)], rows
    grid.get_by_label("How to show it").select_option("heat")
    rows, step = until(page, grid, source, step, lambda rows: len(rows) > 3)
    assert len(rows[1]) == 3 + 128
    expect(page.locator(".panel").nth(4).locator(".number")).to_contain_text("Old Mill")

    # The page stops, and what has come since is there when it goes on.
    page.keyboard.press("p")
    expect(page.get_by_role("button", name="Follow")).to_be_visible()
    still = numbers(page, plot)
    step += 1
    write(source, step)
    assert numbers(page, plot) == still
    page.keyboard.press("p")
    until(page, plot, source, step, lambda rows: step / 10 in [float(row[3]) for row in rows[1:] if row[0] == "depth"])

    # The address shows the same again.
    assert page.locator(".panel").count() == 5
    page.reload()
    while page.locator(".panel").count() < 5:
        write(source, step)
        page.wait_for_timeout(50)
    expect(page.locator(".panel")).to_have_count(5)
    expect(page.locator(".panel h3").first).to_have_text(re.compile("."))
    titles = set(page.locator(".panel h3").all_inner_texts())
    assert titles == {"depth [m], in [m/s]", "stage", "row", "grid", "name"}, titles
    for _ in range(5):
        page.get_by_role("button", name="Close this plot").first.click()
    expect(page.locator("#hint")).to_be_visible()
    wide = page.evaluate("document.documentElement.scrollWidth")
    assert wide <= width, f"{wide} pixels wide at {width}"
    return step


def main(isoform, chromium, pictures=None):
    isoform = str(pathlib.Path(isoform).resolve())
    expect.set_options(timeout=60_000)
    with sync_playwright() as playwright:
        arguments = ["--no-sandbox", "--disable-background-networking"]
        browser = playwright.chromium.launch(executable_path=shutil.which(chromium), args=arguments)
        for scheme, width in [("light", 1200), ("dark", 390)]:
            with tempfile.TemporaryDirectory() as folder, river(isoform, folder) as (source, url):
                context = browser.new_context(color_scheme=scheme, viewport={"width": width, "height": 800})
                context.set_default_timeout(60_000)
                page, foreign, errors = context.new_page(), [], []
                here = url.split("#")[0]
                page.on("request", lambda request: None if request.url.startswith(here) else foreign.append(request.url))
                page.on("pageerror", lambda error: errors.append(str(error)))
                page.add_init_script(KEEP)
                page.on("console", lambda said: errors.append(said.text) if said.type == "error" else None)
                page.goto(url)
                uses(page, source, width)
                foreign = [url for url in foreign if not url.startswith(("blob:", here.replace("http", "ws")))]
                assert not foreign and not errors, (foreign, errors)
                if pictures:
                    page.screenshot(path=pathlib.Path(pictures, f"watch-{scheme}-{width}.png"))
                # Without the key, the page says what to do.
                stranger = context.new_page()
                stranger.goto(here)
                expect(stranger.locator("#state")).to_contain_text("open the address that isoform watch has printed")
                context.close()
                print(f"watch: {scheme}, {width} pixels wide: passed")
        browser.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
