"""Measures the page of `isoform watch` with twelve plots of a source that has ten thousand events a second.

frames.py ISOFORM PACED CHROMIUM [SECONDS]

Prints one object of JSON. Times of the page are in milliseconds: between two of its frames, between two pictures of the same plot, and what it
draws for in one frame. Times of the source are in nanoseconds: what a step costs its thread

- alone, while no page is open;
- `beside` a page that shows the same of another source. What it takes beyond `alone` is what a page takes from all programs of the machine: their
  caches, and for some processors their cores;
- `watched` by the page. What it takes beyond `beside` is what being watched costs.

The source computes for a part of each step, and sleeps for the rest. `ratio` compares what it computes. `of_step` is what watching adds, as a part of the
whole step: a tenth of a millisecond.
"""

import json
import shutil
import subprocess
import sys
import urllib.parse

from page import served
from playwright.sync_api import sync_playwright

PLOTS = 12
ROUNDS = 4
# The times between two frames of the browser, and those between two pictures of each plot: a chart clears its canvas before it draws.
KEEP = """
window.frames_ = [];
window.pictures_ = [];
let before;
const each = (now) => { if (before) frames_.push(now - before); before = now; requestAnimationFrame(each); };
requestAnimationFrame(each);
const drawn = new Map();
const clear = CanvasRenderingContext2D.prototype.clearRect;
CanvasRenderingContext2D.prototype.clearRect = function (...area) {
  const now = performance.now();
  if (drawn.has(this)) pictures_.push(now - drawn.get(this));
  drawn.set(this, now);
  return clear.apply(this, area);
};
"""


class Source:
    """A program that has ten thousand steps a second."""

    def __init__(self, paced):
        self.program = subprocess.Popen([paced], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.channel = self.program.stdout.readline().strip()

    def steps(self):
        """The steps since the last call, and what each has cost."""
        self.program.stdin.write("\n")
        self.program.stdin.flush()
        steps, nanoseconds = map(int, self.program.stdout.readline().split())
        return steps, nanoseconds / steps

    def end(self):
        self.program.stdin.close()
        self.program.wait()


class Page:
    """What was seen of the page."""

    def __init__(self):
        self.frames, self.pictures, self.paints, self.lost, self.visible, self.queries = [], [], [], [], 0, []

    def look(self, page):
        self.frames += page.evaluate("frames_")
        self.pictures += page.evaluate("pictures_")
        self.paints += page.evaluate("times")
        self.visible = page.evaluate("[...document.querySelectorAll('.panel')].filter((one) => one.getBoundingClientRect().bottom < innerHeight).length")
        self.lost += page.locator(".panel .lost").all_inner_texts()


def share(times, part):
    return round(sorted(times)[int(len(times) * part)], 2)


def median(numbers):
    return sorted(numbers)[len(numbers) // 2]


def main(isoform, paced, chromium, seconds="20"):
    seconds = float(seconds) / ROUNDS / 2
    source, other, seen = Source(paced), Source(paced), Page()
    panels = [{"way": "line", "fields": [["steps", "Step", f"m{number}"]]} for number in range(PLOTS)]
    show = urllib.parse.quote(json.dumps({"span": 5, "panels": panels}))
    steps = {"alone": [], "beside": [], "watched": []}
    rates, queries = [], 0

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which(chromium), args=["--no-sandbox"])

        def wait(page):
            source.steps()
            page.wait_for_timeout(seconds * 1000)
            return source.steps()

        # In turns, so that whatever else the machine does meets all.
        for _ in range(ROUNDS):
            page = browser.new_page()
            steps["alone"].append(wait(page)[1])
            page.close()
            for name, watched in [("beside", other), ("watched", source)]:
                with served([isoform, "watch", watched.channel]) as (_, url):
                    page = browser.new_page(viewport={"width": 1920, "height": 1200})
                    page.add_init_script(KEEP)
                    page.goto(f"{url}&show={show}")
                    # A function, since the page's policy lets no text be evaluated.
                    page.wait_for_function("(plots) => document.querySelectorAll('.panel canvas').length >= plots", arg=PLOTS)
                    page.wait_for_timeout(4000)
                    page.evaluate("frames_.length = pictures_.length = times.length = 0")
                    count, cost = wait(page)
                    steps[name].append(cost)
                    seen.look(page)
                    if watched is source:
                        rates.append(count / seconds)
                        told = json.loads(subprocess.run([isoform, "info", source.channel, "--json"], check=True, capture_output=True, text=True).stdout)
                        queries = json.dumps(told).count("window 10 ms")
                    page.close()
        browser.close()
    source.end()
    other.end()
    alone, beside, watched = (median(steps[name]) for name in ("alone", "beside", "watched"))
    print(json.dumps({
        "plots": PLOTS, "visible": seen.visible, "lost": seen.lost, "queries": queries, "events_per_s": round(median(rates)),
        "frames": len(seen.frames), "frame_ms_median": share(seen.frames, 0.5), "frame_ms_p95": share(seen.frames, 0.95),
        "picture_ms_median": share(seen.pictures, 0.5), "picture_ms_p95": share(seen.pictures, 0.95), "paint_ms_p95": share(seen.paints, 0.95),
        "step_ns": round(alone), "beside_step_ns": round(beside), "watched_step_ns": round(watched),
        "ratio": round(watched / alone, 3), "beside_ratio": round(beside / alone, 3), "watched_ratio": round(watched / beside, 3),
        "of_step": round((watched - alone) * median(rates) / 1e9, 4),
    }))


if __name__ == "__main__":
    main(*sys.argv[1:])
