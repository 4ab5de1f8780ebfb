"""Uses the page of `isoform watch` as people do, in a real browser: Chromium.

page.py ISOFORM CHROMIUM [FOLDER, where it puts pictures of what it sees]
"""

import contextlib
import csv
import io
import json
import math
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.parse

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect, sync_playwright

SHAPE = """\
record Reach
  step   long
  stage  enum { Low, Flood }
  depth  double unit="m"
  in     double unit="m/s"
  grid   float[8][16]
  row    double[n]
  n      int
  name   string
"""
BIG = 2**53 + 1


@contextlib.contextmanager
def river(isoform, folder):
    """A channel whose records this test writes, as lines of JSON, and the address of the page that watches it."""
    with published(isoform, folder, "0") as source, served([isoform, "watch", channel(folder)]) as (_, url):
        yield source, url


def channel(folder):
    return f"iso+unix://{pathlib.Path(folder, 'river.sock')}/river"


@contextlib.contextmanager
def published(isoform, folder, wait, shape=SHAPE):
    """The source of a channel."""
    pathlib.Path(folder, "reach.shape").write_text(shape)
    listen = f"unix:{pathlib.Path(folder, 'river.sock')}"
    publish = [isoform, "pub", "river", "--listen", listen, "--shape", "reach.shape", "--wait", wait]
    source = subprocess.Popen(publish, cwd=folder, stdin=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        yield source
    finally:
        source.stdin.close()
        source.send_signal(signal.SIGINT)
        source.wait()


@contextlib.contextmanager
def served(command):
    """A command that serves a page, and its address."""
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    try:
        said = iter(server.stderr.readline, "")
        yield server, next(found.group() for found in (re.search(r"http://\S+", line) for line in said) if found)
    finally:
        server.send_signal(signal.SIGINT)
        server.communicate()


def write(source, step):
    source.stdin.write(json.dumps(reach(step)) + "\n")
    source.stdin.flush()


def reach(step):
    return {
        "step": BIG + step, "stage": ["Low", "Flood"][step // 20 % 2], "depth": step / 10, "in": -step,
        "grid": [[x * y + step for x in range(16)] for y in range(8)], "row": [x + step + 0.1 for x in range(5)], "name": "Old Mill",
    }


def clean(page):
    """Whether people who do not see the page, or use no mouse, can use it, as far as a program can tell."""
    found = Axe().run(page)
    assert found.violations_count == 0, found.generate_report()


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


def uses(page, source, width, keep):
    # Records go on for as long as the test looks, so that the page has something to follow.
    step = 0
    while field(page, "depth").count() == 0:
        write(source, step)
        page.wait_for_timeout(50)
    expect(page.locator("#hint")).to_be_visible()
    expect(page.locator("#transport")).to_be_hidden()
    expect(value(page, "name")).to_have_text("Old Mill")
    expect(value(page, "step")).to_have_text(str(BIG))  # not as a double has it
    field(page, "depth").press("Enter")
    plot = page.locator(".panel").nth(0)
    expect(plot.locator("h3")).to_have_text("depth [m]")
    rows, step = until(page, plot, source, step, lambda rows: len(rows) > 4)
    assert rows[0] == ["field", "unit", "source", "time", "least", "greatest"]
    assert all(row[:2] == ["depth", "m"] and float(row[4]) == float(row[5]) <= step / 10 for row in rows[1:]), rows
    expect(plot.locator("canvas").first).to_be_visible()
    name, text = saved(page, plot, "CSV")
    assert name == "depth.csv" and text.startswith(b"field,unit,source,time,least,greatest\ndepth,m,"), (name, text)
    name, picture = saved(page, plot, "PNG")
    assert name == "depth.png" and picture.startswith(b"\x89PNG"), name

    # A second field in the same plot, whose name queries reserve.
    field(page, "in").click(modifiers=["Shift"])
    expect(plot.locator("h3")).to_have_text("depth [m], in [m/s]")
    rows, step = until(page, plot, source, step, lambda rows: {row[0] for row in rows[1:]} == {"depth", "in"})
    assert page.locator(".panel").count() == 1
    expect(plot.locator(".legend")).to_contain_text("in [m/s]")
    # As numbers, each field has its value once.
    plot.get_by_label("How to show it").select_option("number")
    rows, step = until(page, plot, source, step, lambda rows: len(rows) > 1 and rows[0] == ["field", "unit", "source", "time", "value"])
    assert sorted(row[0] for row in rows[1:]) == ["depth", "in"], rows
    assert all(float(value) * (10 if path == "depth" else -1) <= step for path, _, _, _, value in rows[1:]), rows
    plot.get_by_label("How to show it").select_option("line")

    for path, way, shown in [("stage", "line", 1), ("row", "profile", 2), ("grid", "image", 3), ("name", None, 4)]:
        field(page, path).click()
        panel = page.locator(".panel").nth(shown)
        if way:
            expect(panel.get_by_label("How to show it")).to_have_value(way)
    grid = page.locator(".panel").nth(3)
    rows, step = until(page, grid, source, step, lambda rows: len(rows) == 1 + 128)
    assert rows[0] == ["field", "unit", "source", "row", "column", "value"]
    first = float(rows[1][5])
    assert [float(row[5]) - first for row in rows[1:]] == [x * y for y in range(8) for x in range(16)], rows
    assert [tuple(map(int, row[3:5])) for row in rows[1:]] == [(y, x) for y in range(8) for x in range(16)], rows
    expect(grid.locator(".image .left")).to_have_text("0246")
    expect(grid.locator(".image .below")).to_have_text("02468101214")
    grid.get_by_label("How to show it").select_option("heat")
    rows, step = until(page, grid, source, step, lambda rows: len(rows) > 3)
    assert rows[0][:3] == ["source", "time", "grid[0][0]"] and rows[0][-1] == "grid[7][15]" and len(rows[1]) == 2 + 128
    expect(grid.locator(".legend")).to_contain_text("8 × 16 elements, row by row, with the numbers of rows")
    expect(grid.locator(".image .left")).to_have_text("0246")
    assert re.search(r"\d\d:\d\d:\d\d", grid.locator(".image .below").inner_text())
    # A double has all its digits, also over time.
    row = page.locator(".panel").nth(2)
    row.get_by_label("How to show it").select_option("heat")
    rows, step = until(page, row, source, step, lambda rows: len(rows) > 3)
    assert rows[0] == ["source", "time", *(f"row[{x}]" for x in range(5))], rows[0]
    exact = lambda line: [x + round(float(line[2]) - 0.1) + 0.1 for x in range(5)]
    assert all([float(cell) for cell in line[2:]] == exact(line) for line in rows[1:]), rows
    text = page.locator(".panel").nth(4)
    expect(text.locator(".number")).to_contain_text("Old Mill")
    expect(text.locator(".legend")).to_contain_text(re.compile(r"\d\d:\d\d:\d\d"))

    clean(page)
    keep(page, "plots")

    # The page stops, and what has come since is there when it goes on.
    page.keyboard.press("p")
    expect(page.get_by_role("button", name="Follow")).to_be_visible()
    still = numbers(page, plot)
    step += 1
    write(source, step)
    assert numbers(page, plot) == still
    page.keyboard.press("p")
    until(page, plot, source, step, lambda rows: step / 10 in [float(row[4]) for row in rows[1:] if row[0] == "depth"])

    # The address shows the same again.
    assert page.locator(".panel").count() == 5
    page.reload()
    while page.locator(".panel").count() < 5:
        write(source, step)
        page.wait_for_timeout(50)
    expect(page.locator(".panel")).to_have_count(5)
    expect(page.locator(".panel h3").first).to_have_text(re.compile("."))
    titles = page.locator(".panel h3").all_inner_texts()
    assert titles == ["depth [m], in [m/s]", "stage", "row", "grid", "name"], titles
    for _ in range(5):
        page.get_by_role("button", name="Close this plot").first.click()
    expect(page.locator("#hint")).to_be_visible()
    wide = page.evaluate("document.documentElement.scrollWidth")
    assert wide <= width, f"{wide} pixels wide at {width}"
    return step


RECORDS = 400


def record(isoform, folder):
    """A recording of some seconds."""
    run = pathlib.Path(folder, "run.mcap")
    with published(isoform, folder, "1") as source:
        recorder = subprocess.Popen(
            [isoform, "record", channel(folder), "-o", run, "--count", str(RECORDS)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        for step in range(RECORDS):
            write(source, step)
            time.sleep(0.01)
        assert recorder.wait() == 0
    return run


def seek(page, share):
    """Sets the bar to a share of the time, as the keys of a slider do."""
    bar = "(bar, share) => { bar.value = bar.max * share; for (const kind of ['input', 'change']) bar.dispatchEvent(new Event(kind)); }"
    page.locator("#seek").evaluate(bar, share)


def shown_step(page):
    text = value(page, "step").inner_text()
    return int(text) - BIG if text.isdigit() else -1


def wait_for(page, what, holds):
    end = time.monotonic() + 120
    while not holds():
        assert time.monotonic() < end, what
        page.wait_for_timeout(10)


def searches(page, width):
    """A recording: all of it at first, then any time of it."""
    for path in ["depth", "grid", "name"]:
        field(page, path).click()
    plot, grid = page.locator(".panel").nth(0), page.locator(".panel").nth(1)
    depths = lambda: [float(row[4]) for row in numbers(page, plot)[1:]]
    wait_for(page, "all of it", lambda: depths()[-1:] == [(RECORDS - 1) / 10] and min(depths()) == 0)
    wait_for(page, "the newest", lambda: shown_step(page) == RECORDS - 1)
    corner = lambda: float(rows[1][5]) if len(rows := numbers(page, grid)) == 1 + 128 else None
    wait_for(page, "the newest image", lambda: corner() == RECORDS - 1)
    # There are no plots that follow anything: P does nothing.
    page.keyboard.press("p")
    expect(page.get_by_role("button", name="Play")).to_be_visible()
    # The same time in the list, in the image, and at the end of the line.
    seek(page, 0.5)
    wait_for(page, "the middle", lambda: 0 < shown_step(page) < RECORDS - 1 and corner() == shown_step(page))
    middle = shown_step(page)
    page.locator("#span").select_option("1")
    # The line has the times of submission, and the bar those of recording, which are a little later.
    near = lambda: depths() and middle <= round(max(depths()) * 10) <= middle + 20 and min(depths()) > 0
    wait_for(page, "one second", near)
    # A part of a plot that is drawn with the pointer: the bar follows.
    moment = page.locator("#moment").inner_text()
    lines = plot.locator(".u-over")
    lines.hover(position={"x": 20, "y": 30})
    page.mouse.down()
    lines.hover(position={"x": 120, "y": 30})
    page.mouse.up()
    wait_for(page, "the bar follows", lambda: page.locator("#moment").inner_text() != moment and 0 < shown_step(page) < middle)
    assert page.locator("#span option:checked").inner_text() != "1 s"
    # Before anything was recorded, and back.
    seek(page, 0)
    wait_for(page, "nothing", lambda: shown_step(page) <= 0)
    page.locator("#speed").select_option("10")
    page.get_by_role("button", name="Play").click()
    expect(page.get_by_role("button", name="Play")).to_be_visible()
    wait_for(page, "the end", lambda: shown_step(page) == RECORDS - 1)
    seek(page, 0.5)
    wait_for(page, "the middle again", lambda: shown_step(page) == middle)
    clean(page)
    # The address keeps the time.
    page.reload()
    wait_for(page, "the same time", lambda: page.locator(".panel").count() == 3 and shown_step(page) == middle)
    wide = page.evaluate("document.documentElement.scrollWidth")
    assert wide <= width, f"{wide} pixels wide at {width}"


def leads(page):
    """A replay is published, and its page leads it. The page alone does not start it."""
    expect(page.locator("#moment")).to_contain_text("recorded ")
    expect(page.locator("#places")).to_contain_text("nothing has been replayed yet")
    page.get_by_role("button", name="Play replay").click()
    wait_for(page, "it plays", lambda: field(page, "step").count() > 0 and shown_step(page) > 0)
    page.get_by_role("button", name="Stop replay").click()
    expect(page.get_by_role("button", name="Play replay")).to_be_visible()
    expect(page.locator("#moment")).to_contain_text("recorded ")
    field(page, "depth").click()
    field(page, "in").click(modifiers=["Shift"])
    expect(page.get_by_role("button", name="Stop plots")).to_be_visible()
    plot = page.locator(".panel").nth(0)
    seek(page, 0.1)
    wait_for(page, "a value", lambda: len(numbers(page, plot)) > 2)
    seek(page, 0.99)
    page.get_by_role("button", name="Play replay").click()
    wait_for(page, "the end", lambda: shown_step(page) == RECORDS - 1)
    # No line leads from one time of the recording to another, and nothing is lost.
    depths = [float(row[4]) for row in numbers(page, plot)[1:] if row[0] == "depth"]
    jumps = [(one, next) for one, next in zip(depths, depths[1:]) if abs(next - one) > 1]
    assert any(math.isnan(depth) for depth in depths) and not jumps, depths
    expect(plot.locator(".lost")).to_have_count(0)
    expect(page.get_by_role("button", name="Play replay")).to_be_visible()
    page.get_by_role("button", name="Play replay").click()
    wait_for(page, "it begins again", lambda: 0 <= shown_step(page) < RECORDS / 2)


def waits(isoform, page, address):
    """A replay waits for a program, and not for its page: the program gets all events."""
    expect(page.locator("#places")).to_contain_text("nothing has been replayed yet")
    echo = [isoform, "echo", address, "--json", "--count", str(RECORDS)]
    steps = [json.loads(line)["step"] for line in subprocess.run(echo, check=True, capture_output=True, text=True, timeout=120).stdout.splitlines()]
    assert steps == list(range(BIG, BIG + RECORDS)), steps[:5]
    wait_for(page, "the end", lambda: shown_step(page) == RECORDS - 1)


def thins(isoform, folder, page, source):
    """A fast source sends the least and the greatest numbers of each 10 ms. No peak is hidden, unless a number is none: then the page asks for all."""

    def burst(count, least, peak):
        for index in range(count):
            source.stdin.write('{"x": %s}\n' % (peak if index == count // 2 else least))
        source.stdin.flush()

    def asked():
        told = subprocess.run([isoform, "info", channel(folder), "--json"], check=True, capture_output=True, text=True).stdout
        return "window 10 ms | select c0 = min(x), d0 = max(x)" in told

    while field(page, "x").count() == 0:
        burst(1, 1, 1)
        page.wait_for_timeout(50)
    field(page, "x").click()
    plot = page.locator(".panel").nth(0)
    assert not asked()

    def thin():
        burst(3000, 1, 1)
        return asked()

    wait_for(page, "the window", thin)
    page.locator("#span").select_option("60")

    def peak():
        burst(1000, 2, 777)
        page.wait_for_timeout(50)
        spans = {tuple(map(float, row[4:])) for row in numbers(page, plot)[1:]}
        return (2.0, 777.0) in spans

    wait_for(page, "a peak", peak)
    expect(plot.locator(".lost")).to_have_count(0)

    def all():
        burst(1000, 3, '"NaN"')
        page.wait_for_timeout(50)
        return not asked()

    wait_for(page, "all numbers", all)


def shares(isoform, page, channel):
    """Lines of a record that are opened together are one query, as long as nothing of it is refused."""

    def queries():
        told = json.loads(subprocess.run([isoform, "info", channel, "--json"], check=True, capture_output=True, text=True).stdout)
        found = re.findall(r'"(select c0 = [^"]*)"', json.dumps(told))
        return sorted(set(found))

    plots = page.locator(".panel")
    last = lambda plot: {row[0]: float(row[4]) for row in numbers(page, plots.nth(plot))[1:]}
    expect(plots).to_have_count(3)
    wait_for(page, "one query", lambda: queries() == ["select c0 = rain, c1 = sum, c2 = residual"])
    # Each plot has its own fields, two of them the same one.
    expect(plots.locator("h3")).to_have_text(["rain [mm/h]", "sum, rain [mm/h]", "residual [m3]"])
    names = lambda: [set(last(plot)) for plot in range(plots.count())]
    wait_for(page, "all lines", lambda: names() == [{"rain"}, {"sum", "rain"}, {"residual"}])
    assert last(0)["rain"] < 300 < last(1)["sum"], (last(0), last(1))
    # A plot that is opened later leaves the others as they are.
    field(page, "time").click()
    wait_for(page, "another query", lambda: queries() == ["select c0 = rain, c1 = sum, c2 = residual", "select c0 = time"])
    page.get_by_role("button", name="Close this plot").nth(0).click()
    wait_for(page, "the others", lambda: names() == [{"sum", "rain"}, {"residual"}, {"time"}])
    expect(page.locator(".panel .lost")).to_have_count(0)
    for _ in range(2):
        page.get_by_role("button", name="Close this plot").nth(0).click()
    wait_for(page, "the last query", lambda: queries() == ["select c0 = time"])


def ticks(page):
    """Numbers beside an axis differ, and are short."""
    for least, step, words, offset in [
        (0, 0.5, ["0", "0.5", "1", "1.5"], ""),
        (99_998, 1, ["+8", "+9", "+10", "+11"], "99,990"),
        (5e15, 5e15, ["5e15", "1e16", "1.5e16", "2e16"], ""),
        (2**53 + 8, 10, ["+0", "+10", "+20", "+30"], "9,007,199,254,741,000"),
        (1_796_000_120, 5, ["+20", "+25", "+30", "+35"], "1,796,000,100"),
        (1_796_000_000 * 10**9, 10**9, ["+0", "+1e9", "+2e9", "+3e9"], "1,796,000,000,000,000,000"),
        (-1_796_000_120, 5, ["+80", "+85", "+90", "+95"], "-1,796,000,200"),
        (7.00001, 0.00001, ["+1e-5", "+2e-5", "+3e-5", "+4e-5"], "7"),
    ]:
        splits = [least + index * step for index in range(4)]
        told = page.evaluate("(splits) => import('./dom.js').then(({ ticked }) => ticked(splits))", splits)
        assert told == {"words": words, "offset": offset}, (splits, told)


def compares(page):
    """Two recordings of one channel: plots say which of them they show."""
    wait_for(page, "both", lambda: field(page, "depth").count() == 2)
    for number in range(2):
        field(page, "depth").nth(number).click()
    titles = page.locator(".panel h3")
    expect(titles).to_have_text([re.compile(r"run\.mcap.*/depth \[m\]"), re.compile(r"other\.mcap.*/depth \[m\]")])
    page.get_by_role("button", name="Close this plot").nth(1).click()
    expect(titles).to_have_text(["depth [m]"])


@contextlib.contextmanager
def visited(browser, url, scheme, width):
    """The page in a browser. It asks nobody else, and nothing fails."""
    context = browser.new_context(color_scheme=scheme, viewport={"width": width, "height": 800})
    context.set_default_timeout(60_000)
    page, foreign, errors = context.new_page(), [], []
    here = url.split("#")[0]
    page.on("request", lambda request: None if request.url.startswith(here) else foreign.append(request.url))
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.add_init_script(KEEP)
    page.on("console", lambda said: errors.append(said.text) if said.type == "error" else None)
    page.goto(url)
    yield page
    foreign = [url for url in foreign if not url.startswith(("blob:", here.replace("http", "ws")))]
    assert not foreign and not errors, (foreign, errors)
    context.close()


def main(isoform, chromium, pictures=None):
    isoform = str(pathlib.Path(isoform).resolve())
    expect.set_options(timeout=60_000)
    with sync_playwright() as playwright:
        arguments = ["--no-sandbox", "--disable-background-networking"]
        browser = playwright.chromium.launch(executable_path=shutil.which(chromium), args=arguments)
        for scheme, width in [("light", 1200), ("dark", 390)]:
            with tempfile.TemporaryDirectory() as folder:
                keep = lambda page, what: page.screenshot(path=pathlib.Path(pictures, f"{what}-{scheme}-{width}.png")) if pictures else None
                with river(isoform, folder) as (source, url), visited(browser, url, scheme, width) as page:
                    # The id is the one by which the channel was opened.
                    expect(page.locator(".id")).to_have_text(channel(folder))
                    uses(page, source, width, keep)
                    keep(page, "watch")
                    # Without the key, the page says what to do.
                    stranger = page.context.new_page()
                    stranger.goto(url.split("#")[0])
                    expect(stranger.locator("#state")).to_contain_text("open the address that isoform watch has printed")
                with published(isoform, folder, "0", "record Tick\n  x double\n") as source, served([isoform, "watch", channel(folder)]) as (_, url):
                    with visited(browser, url, scheme, width) as page:
                        thins(isoform, folder, page, source)
                simulation = subprocess.Popen([isoform, "demo", "--publish", "--seconds", "600"], stdout=subprocess.PIPE, text=True)
                try:
                    address = simulation.stdout.readline().strip()
                    with served([isoform, "watch", address]) as (_, url):
                        lines = [["rain"], ["sum", "rain"], ["residual"]]
                        panels = [{"way": "line", "fields": [["river", "Reach", path] for path in paths]} for paths in lines]
                        show = urllib.parse.quote(json.dumps({"span": 15, "panels": panels}))
                        with visited(browser, f"{url}&show={show}", scheme, width) as page:
                            shares(isoform, page, address)
                finally:
                    simulation.kill()
                    simulation.wait()
                run = record(isoform, folder)
                with served([isoform, "watch", run]) as (_, url), visited(browser, url, scheme, width) as page:
                    searches(page, width)
                    keep(page, "recording")
                other = shutil.copy(run, pathlib.Path(folder, "other.mcap"))
                with served([isoform, "watch", run, other]) as (_, url), visited(browser, url, scheme, width) as page:
                    compares(page)
                    ticks(page)
                with served([isoform, "replay", run, "--watch"]) as (_, url), visited(browser, url, scheme, width) as page:
                    leads(page)
                    keep(page, "replay")
                socket = pathlib.Path(folder, "replay.sock")
                replay = [isoform, "replay", run, "--watch", "--listen", f"unix:{socket}"]
                with served(replay) as (_, url), visited(browser, url, scheme, width) as page:
                    waits(isoform, page, f"iso+unix://{socket}/river")
                print(f"watch: {scheme}, {width} pixels wide: passed")
        browser.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
