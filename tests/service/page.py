"""Uses the web page of formats as people do, in a real browser: Chromium, without a mouse.

page.py ISOFORM CHROMIUM [FOLDER, where it puts pictures of what it sees]
"""

import pathlib
import shutil
import sys
import tempfile

import sample
import server
from playwright.sync_api import expect, sync_playwright


def visible(page, text):
    expect(page.locator("main")).to_contain_text(text)


def heading(page, text):
    expect(page.locator("main h1")).to_have_text(text)


def names_and_versions(page, url):
    page.goto(f"{url}/")
    heading(page, "Names")
    page.locator("main").get_by_role("link", name="river gauge").press("Enter")
    heading(page, "river gauge")
    visible(page, "Seconds since the gauge was switched on.")
    # Whoever reads by ear is told that the page is another one.
    assert page.evaluate("document.activeElement.tagName") == "H1"
    page.get_by_role("link", name="1", exact=True).press("Enter")
    row = page.locator("tr[data-path='depth']")
    expect(row).to_contain_text("float32")
    assert row.locator("td").all_inner_texts() == ["24", "4", "float32", "m", "Depth of water above the gauge's foot."]
    nested = page.locator("tr[data-path='where.longitude']")
    assert nested.locator("td").all_inner_texts()[:4] == ["40", "8", "float64", "deg"]
    page.get_by_role("link", name="big-endian, 32-bit").press("Enter")
    visible(page, "Gauge: 144 bytes")


def drawn_to_scale(page, url):
    page.goto(f"{url}/#/name/river%20gauge/1")
    visible(page, "Layout")
    drawing = page.locator("figure").first
    expect(drawing).to_contain_text("17 bytes of gaps")
    width = drawing.locator(".bytes").first.bounding_box()["width"] / 16
    for title, place, size in [
        ("step: int32, 4 bytes at 0", 0, 4), ("gap: 4 bytes at 4", 4, 4), ("station: string, 8 bytes at 8", 8, 8),
        ("wet: bool8, 1 byte at 20", 4, 1), ("gap: 3 bytes at 21", 5, 3),
    ]:
        box, line = drawing.get_by_title(title).bounding_box(), drawing.locator(".bytes").first.bounding_box()
        assert abs(box["width"] - size * width) < 1 and abs(box["x"] - line["x"] - place * width) < 1, (title, box)
    visible(page, "64 bytes more of samples, not drawn")


def differences(page, url):
    page.goto(f"{url}/#/name/river%20gauge")
    # The page of another version has the same form. If that is removed only now, it loses the focus.
    expect(page.locator("main h2.version")).to_have_text("Version 3")
    page.get_by_label("Compare version").select_option("2")
    page.get_by_label("with version").select_option("3")
    page.get_by_role("button", name="Compare").press("Enter")
    heading(page, "Version 2 and version 3")
    visible(page, "Version 3 reads version 2")
    refused = page.locator(".verdict.no")
    expect(refused).to_contain_text("Version 2 cannot read version 3")
    assert refused.locator("tbody td").all_inner_texts()[:2] == ["depth", "Required"]
    assert page.locator("tr.removed > *").all_inner_texts() == ["depth", "removed", "float32 m at 24", "–"]
    # Narrow pages have both versions too, below each other if need be.
    box = page.locator("tr.removed td").last.bounding_box()
    assert box["x"] + box["width"] <= page.viewport_size["width"], box
    refused.get_by_text("Plan, field by field").press("Enter")
    expect(refused.locator("pre")).to_be_visible()
    page.goto(f"{url}/#/compare/river%20gauge/1/2")
    expect(page.locator("tr.changed")).to_contain_text("type changed")
    expect(page.locator("tr.added")).to_contain_text("level")


def search(page, url):
    page.goto(f"{url}/")
    heading(page, "Names")
    for text, found in [("IVER", "Names with IVER"), ("ram", "Records with ram in their name or in that of a field"),
                        ("tation", "Records with tation in their name or in that of a field"),
                        ("where.latitude", "Records with a field where.latitude"), ("nowhere", "Nothing was found.")]:
        page.keyboard.press("/")
        page.keyboard.type(text)
        page.keyboard.press("Enter")
        visible(page, found)
        page.locator("h1").press("Escape")
    token = sample.ask(url, "GET", "formats?name=Frame")["formats"][0]["token"]
    page.keyboard.press("/")
    page.keyboard.type(token.upper())
    page.keyboard.press("Enter")
    heading(page, "Frame")
    visible(page, "4,104 bytes")


def nothing_from_names_is_run(page, url):
    # Texts that people register are shown as texts.
    sign = "<img src=x onerror=\"document.title='run'\"><script>document.title='run'</script>"
    token = sample.register(url, sample.of(sample.LITTLE, sample.structure(sample.LITTLE, "Sign", ("a", "integer", 4, {"unit": sign}))))
    sample.ask(url, "POST", "names/%3Cb%3Esign/versions", {"formats": [token]})
    sample.ask(url, "PUT", "names/%3Cb%3Esign/prose", {"about": sign, "owner": sign, "fields": {"a": sign}})
    page.goto(f"{url}/#/name/%3Cb%3Esign")
    heading(page, "<b>sign")
    assert page.locator(".about").inner_text() == sign
    assert page.locator("main img, main script, main b").filter(has_text="sign").count() == 0
    assert "run" not in page.title()


def unknown(page, url):
    page.goto(f"{url}/#/format/00000000000000000000000000000009")
    heading(page, "unknown format")
    page.goto(f"{url}/#/name/nobody")
    heading(page, "no such name")


def secret(page, isoform):
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder, "secret")
        file.write_text("0123456789abcdef")
        with server.running(isoform, "--read-secret", file) as url:
            page.goto(f"{url}/")
            heading(page, "This server asks readers for a secret")
            for text, next_heading in [("another one", "This server asks readers for a secret"), ("0123456789abcdef", "Names")]:
                page.get_by_label("Secret").fill(text)
                # The heading may be the same one, so the answer is waited for.
                with page.expect_response("**/names?*"):
                    page.get_by_label("Secret").press("Enter")
                page.wait_for_selector("main:not([aria-busy])")
                heading(page, next_heading)
                said = page.get_by_role("alert")
                expect(said).to_have_text(["The server does not accept this secret."] if text == "another one" else [])


def main(isoform, chromium, pictures=None):
    with server.running(isoform) as url, sync_playwright() as playwright:
        sample.fill(url)
        browser = playwright.chromium.launch(executable_path=shutil.which(chromium), args=["--no-sandbox"])
        for scheme, width in [("light", 1200), ("dark", 1200), ("light", 390)]:
            context = browser.new_context(color_scheme=scheme, viewport={"width": width, "height": 800})
            context.set_default_timeout(60_000)
            expect.set_options(timeout=60_000)
            page, foreign, errors = context.new_page(), [], []
            page.on("request", lambda request: None if request.url.startswith(url) else foreign.append(request.url))
            page.on("pageerror", lambda error: errors.append(str(error)))
            page.on("console", lambda said: errors.append(said.text) if "404" not in said.text and said.type == "error" else None)
            steps = [names_and_versions, differences, search, nothing_from_names_is_run, unknown]
            for step in steps + ([drawn_to_scale] if width > 1000 else []):
                step(page, url)
                wide = page.evaluate("document.documentElement.scrollWidth")
                assert wide <= width, f"{step.__name__}: {wide} pixels wide at {width}"
            ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
            assert (ground == "rgb(20, 25, 26)") == (scheme == "dark"), ground
            assert not foreign and not errors, (foreign, errors)
            if pictures:
                for name, place in [("names", ""), ("name", "name/river%20gauge/1"), ("compare", "compare/river%20gauge/2/3")]:
                    page.goto(f"{url}/#/{place}")
                    page.wait_for_selector("main:not([aria-busy]) h1")
                    page.screenshot(path=pathlib.Path(pictures, f"{name}-{scheme}-{width}.png"), full_page=True)
            page.close()
            secret(context.new_page(), isoform)
            context.close()
            print(f"page: {scheme}, {width} pixels wide: passed")
        browser.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
