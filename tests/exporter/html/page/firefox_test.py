#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The page in a second browser: a Firefox shows every section, asks for nothing else and reports no error.

firefox_test.py --parts FOLDER_OF_bundle_page [--node NODE] [--page REPORT.html...]

Speaks WebDriver BiDi (https://www.w3.org/TR/webdriver-bidi/), which Firefox has built in; nothing is installed for it.
"""
import argparse
import base64
import json
import os
import pathlib
import re
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
SECTIONS = ["steps", "ranges", "flame", "timeline", "roofline", "memory", "ranks", "advice", "lost"]
PATIENCE_S = 120


def skip(why):
    print(f"SKIPPED: {why}")
    sys.exit(0)


class WebSocket:
    """As much of RFC 6455 as a client of a server on this machine needs."""

    def __init__(self, port, path):
        self.stream = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_S)
        key = base64.b64encode(os.urandom(16)).decode()
        self.stream.sendall(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n"
                            "Upgrade: websocket\r\nConnection: Upgrade\r\n"
                            f"Sec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n\r\n".encode())
        self.file = self.stream.makefile("rb")
        answer = self.file.readline()
        assert b"101" in answer, answer
        while self.file.readline().strip():
            pass

    def send(self, text):
        data, mask = text.encode(), os.urandom(4)
        size = bytes([0x80 | len(data)]) if len(data) < 126 else b"\xfe" + struct.pack(">H", len(data))
        assert len(data) < 1 << 16
        self.stream.sendall(b"\x81" + size + mask + bytes(byte ^ mask[at % 4] for at, byte in enumerate(data)))

    def receive(self):
        text = b""
        while True:
            first, size = self.file.read(2)
            if size >= 126:
                size = int.from_bytes(self.file.read(2 if size == 126 else 8), "big")
            data = self.file.read(size)
            if first & 15 in (0, 1):  # a text, or its next part; anything else is of the connection itself
                text += data
                if first & 0x80:
                    return text.decode()


class Firefox:
    def __init__(self, command, folder):
        self.process = subprocess.Popen(
            [command, "--headless", "--no-remote", "--profile", folder, "--remote-debugging-port", "0"],
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
            env={**os.environ, "HOME": str(folder), "MOZ_HEADLESS_WIDTH": "1400"})
        for line in self.process.stderr:
            found = re.search(r"ws://127\.0\.0\.1:([0-9]+)", line)
            if found:
                break
        else:
            raise RuntimeError("Firefox ended without a word of its port")
        self.socket = WebSocket(int(found[1]), "/session")
        self.events = []
        self.number = 0
        self.ask("session.new", {"capabilities": {}})
        self.ask("session.subscribe", {"events": ["log.entryAdded", "network.beforeRequestSent"]})
        self.tab = self.ask("browsingContext.getTree", {})["contexts"][0]["context"]

    def ask(self, method, parameters):
        self.number += 1
        self.socket.send(json.dumps({"id": self.number, "method": method, "params": parameters}))
        while True:
            answer = json.loads(self.socket.receive())
            if answer.get("id") == self.number:
                assert answer["type"] == "success", answer
                return answer["result"]
            self.events.append(answer)

    def evaluate(self, expression):
        answer = self.ask("script.evaluate", {"expression": f"JSON.stringify({expression})", "awaitPromise": True,
                                              "target": {"context": self.tab}})
        return json.loads(answer["result"].get("value", "null"))  # of undefined there is no value

    def open(self, page):
        self.events.clear()
        self.ask("browsingContext.navigate", {"context": self.tab, "url": page.as_uri(), "wait": "complete"})
        end = time.monotonic() + PATIENCE_S
        while self.evaluate("document.querySelector('main').dataset.state ?? ''") == "":
            assert time.monotonic() < end, f"{page}: never ready"
            time.sleep(0.05)

    def check_clean(self, page):
        state, failures = self.evaluate("[document.querySelector('main').dataset.state,"
                                        " [...document.querySelectorAll('.failure')].map((node) => node.textContent)]")
        asked = [event["params"]["request"]["url"] for event in self.events
                 if event["method"] == "network.beforeRequestSent"]
        errors = [event["params"]["text"] for event in self.events
                  if event["method"] == "log.entryAdded" and event["params"]["level"] == "error"]
        assert (state, failures, errors) == ("ready", [], []), (page, state, failures, errors)
        # A font of Firefox itself comes as data: in it, from no network.
        assert all(url == page.as_uri() or url.startswith("data:") for url in asked), asked

    def press(self, keys):
        actions = [{"type": what, "value": key} for key in keys for what in ("keyDown", "keyUp")]
        keyboard = {"type": "key", "id": "keys", "actions": actions}
        self.ask("input.performActions", {"context": self.tab, "actions": [keyboard]})

    def end(self):
        self.process.terminate()
        self.process.communicate(timeout=PATIENCE_S)


def check_sample(firefox, page, hostile):
    firefox.open(page)
    found = firefox.evaluate("[...document.querySelectorAll('section')].map((section) => section.id)")
    assert found == SECTIONS, found
    firefox.evaluate("document.querySelector('#timeline canvas[tabindex]').focus()")
    right, down = "\ue014", "\ue015"
    firefox.press([right, "w", down, down, right, "m"])
    end = time.monotonic() + PATIENCE_S
    while not firefox.evaluate("document.querySelector('.selected h3')?.textContent.startsWith('Measured') ?? false"):
        assert time.monotonic() < end, "keys select and measure nothing"
        time.sleep(0.05)
    if hostile:
        assert firefox.evaluate("window.broken ?? null") is None, "a name ran as a script"
    firefox.check_clean(page)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--node", default=shutil.which("node") or "")
    parser.add_argument("--parts", required=True)
    parser.add_argument("--page", type=pathlib.Path, nargs="*", default=[])
    options = parser.parse_args()
    command = os.environ.get("FIREFOX") or shutil.which("firefox-esr") or shutil.which("firefox")
    if not command:
        skip("firefox is missing")
    if not options.node:
        skip("node is missing")
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        firefox = Firefox(command, folder)
        try:
            for name in ("sample", "hostile"):
                page = folder / f"{name}.html"
                subprocess.run([options.node, HERE / "write_sample_page.mjs", options.parts, page, "4000", name],
                               check=True, stdout=subprocess.DEVNULL, timeout=300)
                check_sample(firefox, page, name == "hostile")
            for page in options.page:
                firefox.open(page.resolve())
                firefox.check_clean(page.resolve())
        finally:
            firefox.end()
    print(f"firefox: all checks passed, {len(options.page)} further pages")


if __name__ == "__main__":
    main()
