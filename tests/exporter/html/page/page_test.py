#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The page in a real Chromium: it shows all sections, asks no network, runs nothing that a name says, works with keys
alone, on a phone, on a large screen and on paper, and draws fast.

page_test.py --node NODE --parts FOLDER_OF_bundle_page [--command RANGEFINDER --recordings FILE...]
             [--page REPORT.html...] [--slices 20000] [--least-fps 0] [--screenshots FOLDER]

--recordings: exported by the command, and opened like --page. --screenshots: pictures of the first --page, else of the
sample. RANGEFINDER_UPDATE_GOLDEN=1 takes the looks of the sample as they are.
"""
import argparse
import base64
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

from hostile_trace import write_hostile_trace

SECTIONS = ["steps", "ranges", "flame", "timeline", "roofline", "memory", "ranks", "advice", "lost"]
HERE = pathlib.Path(__file__).resolve().parent
#: A grid of mean colors is kept and compared, not pixels: fonts differ from machine to machine.
GRID_JS = """async (png) => {
  const image = new Image();
  image.src = 'data:image/png;base64,' + png;
  await image.decode();
  const canvas = document.createElement('canvas');
  [canvas.width, canvas.height] = [24, 80];
  const context = canvas.getContext('2d', {willReadFrequently: true});
  context.imageSmoothingQuality = 'high';
  context.drawImage(image, 0, 0, 24, 80);
  return [...context.getImageData(0, 0, 24, 80).data].filter((_, at) => at % 4 < 3);
}"""
MOST_DIFFERENT = 6.0  # of 255, mean; another theme is 200, a section that is missing above 10
FRAMES_JS = """async (seconds) => {
  const gaps = [];
  let last = await new Promise(requestAnimationFrame);
  for (const end = last + seconds * 1000; last < end;) {
    const now = await new Promise(requestAnimationFrame);
    gaps.push(now - last);
    last = now;
  }
  return gaps;
}"""
#: ms since the page was asked for: when something was first painted, and when all tracks in sight had been.
PICTURE_JS = """async () => {
  const canvas = document.querySelector('#timeline .scroll canvas');
  while (canvas.dataset.waiting !== '0') await new Promise(requestAnimationFrame);
  await new Promise(requestAnimationFrame);
  return [performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? NaN, performance.now()];
}"""


class Wrong(Exception):
    pass


def check(true, what):
    if not true:
        raise Wrong(what)


def skip(why):
    print(f"SKIPPED: {why}")
    sys.exit(0)


def write_sample(options, folder, name, slices, *words):
    page = folder / f"{name}.html"
    subprocess.run([options.node, HERE / "write_sample_page.mjs", options.parts, page, str(slices), *words], check=True,
                   stdout=subprocess.DEVNULL, timeout=300)
    return page


class Opened:
    """A page in a browser context of its own, with what went wrong in it."""

    def __init__(self, browser, file, width=1400, height=900, scheme="light"):
        self.context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme,
                                           reduced_motion="reduce")
        self.page = self.context.new_page()
        self.requests = []
        self.errors = []
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("console", lambda message: message.type == "error" and self.errors.append(message.text))
        self.url = file.as_uri()
        self.page.goto(self.url)
        self.page.wait_for_selector("main[data-state]", state="attached", timeout=120_000)

    def __enter__(self):
        return self

    def __exit__(self, *failure):
        self.context.close()

    def text(self, selector):
        return self.page.text_content(selector) or ""

    def wait(self, condition):
        """Not wait_for_function: what it does later than at once is refused by the page's policy."""
        end = time.monotonic() + 120
        while not self.page.evaluate(condition):
            check(time.monotonic() < end, f"never: {condition}")
            self.page.wait_for_timeout(20)

    def settle(self):
        self.page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def check_clean(self):
        check(self.requests == [self.url], f"requests: {self.requests}")
        check(not self.errors, f"errors: {self.errors}")
        check(self.page.get_attribute("main", "data-state") == "ready", self.text("main")[:500])
        check(self.page.locator(".failure").count() == 0, f"a section failed: {self.text('main')[:2000]}")


def check_sections(browser, file):
    with Opened(browser, file) as opened:
        opened.check_clean()
        found = opened.page.eval_on_selector_all("section", "(sections) => sections.map((section) => section.id)")
        check(found == SECTIONS, f"sections: {found}")
        check("host wait" in opened.text("h1"), opened.text("h1"))
        check("17 records were lost" in opened.text(".state"), opened.text(".state"))
        check(opened.page.locator("#ranges tbody tr").count() > 5, "the tree of ranges is empty")
        unnamed = opened.page.eval_on_selector_all(
            "button, a, input, select, [tabindex='0']",
            "(nodes) => nodes.filter((node) => !(node.getAttribute('aria-label') || node.textContent.trim() ||"
            " node.closest('[aria-label]'))).map((node) => node.outerHTML.slice(0, 120))")
        check(not unnamed, f"controls without a name: {unnamed}")


def check_hostile(browser, file):
    with Opened(browser, file) as opened:
        page = opened.page
        page.evaluate(PICTURE_JS)
        page.focus("#timeline canvas[tabindex]")
        for key in ["ArrowRight", *["ArrowDown", "ArrowRight", "m"] * 20, "Enter"]:
            page.keyboard.press(key)
            opened.settle()
        page.focus("#flame .flame button[tabindex='0']")
        for key in ["ArrowDown", *["ArrowRight"] * 20, "Enter"]:
            page.keyboard.press(key)
        for summary in page.locator(".as-table summary").all():
            summary.click()
        page.locator("#flame .flame button").last.hover()
        opened.settle()
        opened.check_clean()
        check(opened.page.evaluate("window.broken") is None, "a name ran as a script")
        check(opened.page.locator("main img, main iframe, main script").count() == 0, "a name became an element")
        # The policy holds even against code that gets in by another way.
        blocked = opened.page.evaluate("""() => {
          try { document.body.innerHTML = '<b>x</b>'; return false; } catch (error) { return true; }
        }""")
        check(blocked, "innerHTML is not refused: trusted types are off")


def in_sight(opened):
    """What the ruler shows, from the page's own hint for screen readers: the canvas's pixels stand for it."""
    return opened.page.evaluate("document.querySelector('#timeline .scroll canvas').toDataURL()")


def check_keys(browser, file):
    with Opened(browser, file) as opened:
        page = opened.page
        page.focus("#timeline canvas[tabindex]")
        opened.settle()
        page.evaluate(PICTURE_JS)
        for key in ["w", "d", "a", "s"]:  # moves need room: zoomed in first, out last
            before = in_sight(opened)
            page.keyboard.press(key, delay=120)
            opened.settle()
            check(in_sight(opened) != before, f"key {key} moves nothing")
        page.keyboard.press("ArrowRight")
        opened.wait("document.querySelector('.selected h3')?.textContent === 'step'")
        page.keyboard.press("ArrowDown")
        page.keyboard.press("ArrowDown")
        opened.wait("document.querySelector('.selected')?.textContent.includes('Launched')")
        page.keyboard.press("]")
        opened.wait("document.querySelector('.selected')?.textContent.includes('Launched by')")
        check("Launch delay" in opened.text(".selected"), opened.text(".selected"))
        page.keyboard.press("m")
        opened.wait("document.querySelector('.selected h3')?.textContent.startsWith('Measured')")
        page.keyboard.press("/")
        page.keyboard.type("AllReduce")
        opened.wait("/^[\\d,]+ matches/.test(document.querySelector('.search-state').textContent)")
        matches = int(re.match(r"[\d,]+", opened.text(".search-state"))[0].replace(",", ""))
        check(matches > 0, "the search finds nothing")
        page.keyboard.press("Enter")
        opened.wait("document.querySelector('.selected h3')?.textContent.includes('AllReduce')")
        page.keyboard.press("Escape")
        page.keyboard.press("Escape")
        opened.wait("document.querySelector('.selected h3') === null")
        page.focus("#ranges tbody tr[tabindex='0']")
        rows = page.locator("#ranges tbody tr").count()
        page.keyboard.press("ArrowLeft")
        check(page.locator("#ranges tbody tr").count() < rows, "the left key folds no row of the tree")
        page.keyboard.press("ArrowRight")
        check(page.locator("#ranges tbody tr").count() == rows, "the right key unfolds no row of the tree")
        opened.check_clean()


LOOKS = [("phone", 400, 800, "light"), ("light", 1400, 900, "light"), ("dark", 1400, 900, "dark"),
         ("large", 3840, 2160, "dark")]


def check_looks(browser, file):
    grids = {}
    for name, width, height, scheme in LOOKS:
        with Opened(browser, file, width, height, scheme) as opened:
            page = opened.page
            page.evaluate(PICTURE_JS)
            check(page.evaluate("document.documentElement.scrollWidth <= innerWidth"), f"{name}: wider than the screen")
            check(page.evaluate("document.documentElement.dataset.theme") == scheme, f"{name}: not {scheme}")
            grids[name] = page.screenshot(full_page=True)
            page.click(".bar > button")
            check(page.evaluate("document.documentElement.dataset.theme") != scheme, f"{name}: the theme stays")
            opened.check_clean()
    compare(browser, grids)


def check_print(browser, file):
    with Opened(browser, file, width=1400, scheme="dark") as opened:
        page = opened.page
        page.evaluate(PICTURE_JS)
        page.evaluate("addEventListener('beforeprint', () => document.body.dataset.printed = "
                      "document.documentElement.dataset.theme)")
        page.pdf(format="A4", print_background=True)
        check(page.get_attribute("body", "data-printed") == "light", "the dark theme is printed")
        page.emulate_media(media="print")
        page.set_viewport_size({"width": 760, "height": 1000})  # A4 without its margins
        opened.settle()
        check(not page.is_visible(".bar") and not page.is_visible(".tools"), "the print view has controls")
        check(page.is_visible("#timeline canvas"), "the print view has no timeline")
        check(page.evaluate("document.documentElement.scrollWidth <= innerWidth"), "the print view is too wide")
        cut = page.eval_on_selector(".tree", "(tree) => tree.scrollHeight > tree.clientHeight")
        check(not cut, "the print view cuts the tree of ranges")


def take_pictures(browser, file, folder):
    folder.mkdir(parents=True, exist_ok=True)
    for name, width, height, scheme in LOOKS:
        with Opened(browser, file, width, height, scheme) as opened:
            opened.page.evaluate(PICTURE_JS)
            opened.page.screenshot(path=folder / f"page-{name}.png")
    with Opened(browser, file, 1400, 1300, "dark") as opened:
        page = opened.page
        page.focus("#timeline canvas[tabindex]")
        for key in ["ArrowRight", "ArrowRight", "f", "ArrowDown", "ArrowDown", "ArrowRight"]:  # the second step
            page.keyboard.press(key)
            opened.settle()
        opened.wait("document.querySelector('.selected h3') !== null")
        page.locator("#timeline").screenshot(path=folder / "page-timeline.png")


def compare(browser, pictures):
    golden = HERE / "looks.json"
    context = browser.new_context()
    page = context.new_page()
    grids = {name: page.evaluate(GRID_JS, base64.b64encode(picture).decode()) for name, picture in pictures.items()}
    context.close()
    if os.environ.get("RANGEFINDER_UPDATE_GOLDEN") == "1":
        packed = {name: base64.b64encode(bytes(grid)).decode() for name, grid in grids.items()}
        golden.write_text(json.dumps(packed, indent=1) + "\n")
    for name, packed in json.loads(golden.read_text()).items():
        known, grid = base64.b64decode(packed), grids[name]
        far = sum(abs(a - b) for a, b in zip(known, grid, strict=True)) / len(grid)
        check(far <= MOST_DIFFERENT,
              f"{name}: {far:.1f} of 255 from {golden.name} in the mean, allowed are {MOST_DIFFERENT}")


def check_frames(browser, file, slices, least_fps):
    with Opened(browser, file) as opened:
        page = opened.page
        first, whole = page.evaluate(PICTURE_JS)
        print(f"{slices} slices, {file.stat().st_size / 1e6:.1f} MB: first picture after {first:.0f} ms, "
              f"all tracks after {whole:.0f} ms")
        page.focus("#timeline canvas[tabindex]")
        page.keyboard.press("ArrowRight")  # selecting decodes all tracks
        opened.wait("document.querySelector('.selected h3') !== null")
        gaps, draws = [], []
        for key in ["w", "d", "s", "a"]:
            page.keyboard.down(key)
            gaps += page.evaluate(FRAMES_JS, 1.5)
            page.keyboard.up(key)
            draws.append(float(page.get_attribute("#timeline .scroll canvas", "data-draw-ms")))
        gaps.sort()
        median, late, worst = gaps[len(gaps) // 2], gaps[len(gaps) * 99 // 100], gaps[-1]
        print(f"frames at {slices} slices: median {1000 / median:.0f}/s, of a hundred one takes {late:.1f} ms, "
              f"worst {worst:.1f} ms, draw {max(draws):.1f} ms")
        began = time.monotonic()
        page.focus("#timeline .search")
        page.keyboard.insert_text("e")
        opened.wait("/match/.test(document.querySelector('.search-state').textContent)")
        print(f"search: {opened.text('.search-state')} in {time.monotonic() - began:.2f} s")
        opened.check_clean()
        check(1000 / median >= least_fps, f"{1000 / median:.1f} frames/s in the median, wanted are {least_fps}")


def check_exported(browser, file):
    size = file.stat().st_size
    with Opened(browser, file) as opened:
        page = opened.page
        opened.check_clean()
        blocks = page.eval_on_selector_all(
            "#index, [id^=block-]", "(blocks) => blocks.reduce((sum, block) => sum + block.textContent.length, 0)")
        check(size - blocks <= 1_000_000, f"{file}: {size - blocks} bytes are page, not data")
        if page.locator("#timeline").count() == 1:
            page.evaluate(PICTURE_JS)
            page.focus("#timeline canvas[tabindex]")
            for key in ["ArrowRight", "ArrowDown", "ArrowDown", "ArrowRight", "Enter", *"mwd?0", "ArrowRight", "]"]:
                page.keyboard.press(key)
        for button in page.locator(".choice button, .as-table summary").all():
            button.click()
        page.wait_for_timeout(100)
        for width in (400, 1400):
            page.set_viewport_size({"width": width, "height": 900})
            opened.settle()
            check(page.evaluate("document.documentElement.scrollWidth <= innerWidth"),
                  f"{file.name}: wider than {width} pixels")
        opened.check_clean()
    print(f"{file.name}: {size} bytes, of them {size - blocks} page")


def export(options, recording, page):
    done = subprocess.run([options.command, "export", recording, "--format", "html", "-o", page, "-q"],
                          stderr=subprocess.PIPE, text=True, timeout=600)
    check(done.returncode == 0, f"{recording}: {done.stderr}")
    return page


PLANTED = "http://planted.example/"


def plant_request(browser, folder):
    """So that a record which records nothing is noticed."""
    page = folder / "planted.html"
    page.write_text(f"<img src='{PLANTED}'>")
    context = browser.new_context()
    context.new_page().goto(page.as_uri())
    context.close()


def check_no_network(log):
    """Chromium's own record of what pages asked for; what it asks for itself has no origin."""
    asked = re.findall(r'"initiator":"(?!not an origin)[^"]*"[^\n]*"url":"((?!file:|data:|blob:)[^"]*)"',
                       log.read_text(errors="replace"))
    check(set(asked) == {PLANTED}, f"requests: {sorted(set(asked))[:5]}")
    print("network: no page asked for anything")


def find_browser(options):
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        skip("the Python package playwright is missing")
    chromium = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
    if not chromium:
        skip("chromium is missing")
    if not options.node:
        skip("node is missing")
    return sync_playwright, chromium


def check_all(browser, options, folder):
    sample = write_sample(options, folder, "sample", 20_000)
    check_sections(browser, sample)
    check_hostile(browser, write_sample(options, folder, "hostile", 2_000, "hostile"))
    if options.command:
        trace = folder / "<img src=x onerror=window.broken=1>.json.gz"
        write_hostile_trace(trace)
        options.recordings.append(trace)
        check_hostile(browser, export(options, trace, folder / "hostile-trace.html"))
    check_keys(browser, sample)
    check_looks(browser, sample)
    check_print(browser, sample)
    check_frames(browser, write_sample(options, folder, "frames", options.slices), options.slices, options.least_fps)
    plant_request(browser, folder)
    exported = [export(options, recording, folder / f"{at}.html") for at, recording in enumerate(options.recordings)]
    pages = [*options.page, *exported]
    for page in pages:
        check_exported(browser, page.resolve())
    if options.screenshots:
        take_pictures(browser, pages[0].resolve() if pages else sample, options.screenshots)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--node", default=shutil.which("node") or "")
    parser.add_argument("--parts", required=True)
    parser.add_argument("--command", type=pathlib.Path)
    parser.add_argument("--recordings", type=pathlib.Path, nargs="*", default=[])
    parser.add_argument("--page", type=pathlib.Path, nargs="*", default=[])
    parser.add_argument("--slices", type=int, default=20_000)
    parser.add_argument("--least-fps", type=float, default=0)
    parser.add_argument("--screenshots", type=pathlib.Path)
    options = parser.parse_args()
    sync_playwright, chromium = find_browser(options)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        folder = pathlib.Path(folder)
        log = folder / "net.json"
        # Without the sandbox: containers run as root. No name but loopback has an address.
        browser = playwright.chromium.launch(
            executable_path=chromium, headless=True,
            args=["--no-sandbox", "--host-resolver-rules=MAP * ~NOTFOUND", f"--log-net-log={log}"])
        try:
            check_all(browser, options, folder)
        finally:
            browser.close()
        check_no_network(log)
    print("page: all checks passed")


if __name__ == "__main__":
    try:
        main()
    except Wrong as wrong:
        print(f"WRONG: {wrong}", file=sys.stderr)
        sys.exit(1)
