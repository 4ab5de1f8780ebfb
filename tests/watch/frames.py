"""Measures the page of `isoform watch` with twelve plots of a source that has ten thousand events a second.

frames.py ISOFORM PACED CHROMIUM [SECONDS]

Prints one object of JSON: the times between two pictures of the page in milliseconds, those that the page's own work took, and what a step of
the source cost its thread without the page and with it, in nanoseconds.
"""

import json
import shutil
import subprocess
import sys
import urllib.parse

from page import served
from playwright.sync_api import sync_playwright

PLOTS = 12
# The times between two frames of the browser.
KEEP = """
window.frames_ = [];
let before;
const each = (now) => { if (before) frames_.push(now - before); before = now; requestAnimationFrame(each); };
requestAnimationFrame(each);
"""


def share(times, part):
    return round(sorted(times)[int(len(times) * part)], 2)


def main(isoform, paced, chromium, seconds="20"):
    seconds = float(seconds)
    source = subprocess.Popen([paced], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    channel = source.stdout.readline().strip()

    def step():
        source.stdin.write("\n")
        source.stdin.flush()
        steps, nanoseconds = map(int, source.stdout.readline().split())
        return steps, nanoseconds / steps

    with sync_playwright() as playwright:
        pause = playwright.chromium.launch(executable_path=shutil.which(chromium), args=["--no-sandbox"])
        alone, watched, rates = [], [], []
        panels = [{"way": "line", "fields": [["steps", "Step", f"m{number}"]]} for number in range(PLOTS)]
        show = urllib.parse.quote(json.dumps({"span": 5, "panels": panels}))
        frames, paints = [], []
        # In turns, so that whatever else the machine does meets both.
        for _ in range(4):
            page = pause.new_page()
            step()
            page.wait_for_timeout(seconds * 125)
            alone.append(step()[1])
            page.close()
            with served([isoform, "watch", channel]) as (_, url):
                page = pause.new_page(viewport={"width": 1920, "height": 1200})
                page.add_init_script(KEEP)
                page.goto(f"{url}&show={show}")
                # A function, since the page's policy lets no text be evaluated.
                page.wait_for_function("(plots) => document.querySelectorAll('.panel canvas').length >= plots", arg=PLOTS)
                page.wait_for_timeout(2000)
                page.evaluate("frames_.length = times.length = 0")
                step()
                page.wait_for_timeout(seconds * 125)
                steps, cost = step()
                watched.append(cost)
                rates.append(steps / (seconds * 0.125))
                frames += page.evaluate("frames_")
                paints += page.evaluate("times")
                visible = page.evaluate("[...document.querySelectorAll('.panel')].filter((one) => one.getBoundingClientRect().top < innerHeight).length")
                lost = page.locator(".panel .lost").all_inner_texts()
                page.close()
        pause.close()
    source.stdin.close()
    source.wait()
    median = lambda numbers: sorted(numbers)[len(numbers) // 2]
    print(json.dumps({
        "plots": PLOTS, "visible": visible, "events_per_s": round(median(rates)), "frames": len(frames), "frame_ms_median": share(frames, 0.5), "frame_ms_p95": share(frames, 0.95),
        "paint_ms_p95": share(paints, 0.95), "step_ns": round(median(alone)), "watched_step_ns": round(median(watched)),
        "ratio": round(median(watched) / median(alone), 3), "lost": lost,
    }))


if __name__ == "__main__":
    main(*sys.argv[1:])
