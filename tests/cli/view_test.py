#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`rangefinder view` as a browser, and as somebody who should get nothing, meets it.

view_test.py --command PATH --inputs PATH
"""
import gzip
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import time

from verb_case import VerbCase, run_tests

PATIENCE_S = 60
PERFETTO = "https://ui.perfetto.dev"


class Answer:
    def __init__(self, received):
        head, _, self.body = received.partition(b"\r\n\r\n")
        lines = head.decode("latin-1").split("\r\n")
        self.code = int(lines[0].split()[1])
        self.headers = {}
        for line in lines[1:]:
            name, _, value = line.partition(":")
            self.headers[name.lower()] = value.strip()


class Viewer:
    """The command as it runs."""

    def __init__(self, command, folder, *words, **variables):
        keep = {key: value for key, value in os.environ.items()
                if key in ("PATH", "LD_LIBRARY_PATH", "ASAN_OPTIONS", "UBSAN_OPTIONS")}
        self.process = subprocess.Popen(
            [command, "view", *words], cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            bufsize=0,  # what is behind the first line stays for communicate()
            env={**keep, "LC_ALL": "C.UTF-8", "TMPDIR": str(folder / "tmp"), **variables})
        self.line = self.process.stdout.readline().decode()

    def host_and_path(self):
        found = re.search(r"http://(127\.0\.0\.1:[0-9]+)(/\S*)", self.line)
        assert found, (self.line, self.process.stderr.read() if self.process.poll() is not None else "")
        return found[1], found[2]

    def raw(self, request):
        host, _ = self.host_and_path()
        address, port = host.split(":")
        with socket.create_connection((address, int(port)), timeout=PATIENCE_S) as client:
            client.sendall(request)
            received = b""
            while piece := client.recv(1 << 16):
                received += piece
        return Answer(received)

    def get(self, path=None, method="GET", **headers):
        host, own = self.host_and_path()
        headers = {"Host": host, **headers}
        lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items() if value is not None)
        return self.raw(f"{method} {own if path is None else path} HTTP/1.1\r\n{lines}\r\n".encode())

    def end(self, sent=signal.SIGINT):
        if self.process.poll() is None:
            self.process.send_signal(sent)
        out, err = self.process.communicate(timeout=PATIENCE_S)
        return self.process.returncode, out.decode(), err.decode()


class View(VerbCase):
    def setUp(self):
        super().setUp()
        (self.folder / "tmp").mkdir()
        self.make_inputs(self.folder)

    def view(self, *words, **variables):
        viewer = Viewer(self.command, self.folder, *words, **variables)
        self.addCleanup(viewer.end)
        return viewer

    def test_the_page_is_the_one_that_export_writes(self):
        subprocess.run([self.command, "export", "whole.rfcap", "--format", "html", "-o", "page.html", "-q"], cwd=self.folder,
                       check=True)
        answer = self.view("whole.rfcap", "--no-open").get()
        self.assertEqual(answer.code, 200)
        self.assertEqual(answer.body, (self.folder / "page.html").read_bytes())
        self.assertEqual(int(answer.headers["content-length"]), len(answer.body))

    def test_headers_let_the_page_do_nothing_but_show_itself(self):
        answer = self.view("whole.rfcap", "--no-open").get()
        self.assertEqual(answer.headers["content-type"], "text/html; charset=utf-8")
        self.assertEqual(answer.headers["cache-control"], "no-store")
        self.assertEqual(answer.headers["x-content-type-options"], "nosniff")
        self.assertEqual(answer.headers["referrer-policy"], "no-referrer")
        self.assertEqual(answer.headers["x-frame-options"], "DENY")
        self.assertNotIn("access-control-allow-origin", answer.headers)
        policy = answer.headers["content-security-policy"]
        self.assertIn("default-src 'none'", policy)
        self.assertIn("frame-ancestors 'none'", policy)
        self.assertNotIn("unsafe", policy)
        stated = re.search(rb'http-equiv="Content-Security-Policy" content="([^"]*)"', answer.body)[1].decode()
        self.assertTrue(policy.startswith(stated), (policy, stated))

    def test_without_the_token_there_is_nothing(self):
        viewer = self.view("whole.rfcap", "--no-open")
        _, path = viewer.host_and_path()
        self.assertRegex(path, r"\A/[0-9a-f]{32}/\Z")
        for wrong in ("/", "/favicon.ico", "/" + "0" * 32 + "/", path[:-1], path + "x", path + "?a", path.upper(), "/." + path):
            with self.subTest(wrong):
                answer = viewer.get(wrong)
                self.assertEqual(answer.code, 404)
                self.assertLess(len(answer.body), 100)
                self.assertNotIn(path.encode(), answer.body)
        _, other = self.view("whole.rfcap", "--no-open").host_and_path()
        self.assertNotEqual(path, other)

    def test_another_host_gets_nothing(self):
        viewer = self.view("whole.rfcap", "--no-open")
        host, _ = viewer.host_and_path()
        port = host.split(":")[1]
        self.assertEqual(viewer.get(Host=f"localhost:{port}").code, 200)
        for wrong in ("evil.example", f"evil.example:{port}", "127.0.0.1", f"127.0.0.1:{int(port) ^ 1}", f"127.0.0.1:{port}.evil.example", ""):
            with self.subTest(wrong):
                self.assertEqual(viewer.get(Host=wrong).code, 403)
        self.assertEqual(viewer.get(Host=None).code, 400)
        _, path = viewer.host_and_path()
        twice = f"GET {path} HTTP/1.1\r\nHost: {host}\r\nHost: evil.example\r\n\r\n"
        self.assertEqual(viewer.raw(twice.encode()).code, 400)

    def test_pages_of_others_get_nothing(self):
        viewer = self.view("whole.rfcap", "--no-open")
        host, _ = viewer.host_and_path()
        self.assertEqual(viewer.get(Origin="https://evil.example").code, 403)
        self.assertEqual(viewer.get(Origin="null").code, 403)
        self.assertEqual(viewer.get(Origin=PERFETTO).code, 403)
        self.assertEqual(viewer.get(Origin=f"http://{host}").code, 200)

    def test_there_is_nothing_but_get(self):
        viewer = self.view("whole.rfcap", "--no-open")
        for method in ("POST", "PUT", "DELETE", "HEAD", "OPTIONS", "get"):
            with self.subTest(method):
                answer = viewer.get(method=method)
                self.assertEqual(answer.code, 405)
                self.assertEqual(answer.headers["allow"], "GET")

    def test_what_is_no_request_is_refused(self):
        viewer = self.view("whole.rfcap", "--no-open")
        host, path = viewer.host_and_path()
        for request in ("nonsense\r\n\r\n", f"GET {path}\r\nHost: {host}\r\n\r\n", f"GET {path} HTTP/2.0\r\nHost: {host}\r\n\r\n",
                        f"GET http://{host}{path} HTTP/1.1\r\nHost: {host}\r\n\r\n", f"GET {path} HTTP/1.1\r\n Host: {host}\r\n\r\n",
                        f"GET {path} HTTP/1.1\r\nHost: {host}\r\nno colon\r\n\r\n", f"GET {path} HTTP/1.1\r\nX: " + "a" * 20000):
            with self.subTest(request[:60]):
                self.assertEqual(viewer.raw(request.encode()).code, 400)
        self.assertEqual(viewer.get().code, 200)

    def test_a_client_that_says_nothing_keeps_nobody_waiting(self):
        viewer = self.view("whole.rfcap", "--no-open")
        address, port = viewer.host_and_path()[0].split(":")
        silent = [socket.create_connection((address, int(port))) for _ in range(20)]
        try:
            silent[0].sendall(b"GET / HT")
            begin = time.monotonic()
            self.assertEqual(viewer.get().code, 200)
            self.assertLess(time.monotonic() - begin, 5)
        finally:
            for client in silent:
                client.close()

    def test_it_listens_on_this_machine_alone(self):
        port = int(self.view("whole.rfcap", "--no-open").host_and_path()[0].split(":")[1])
        listening = []
        for table in ("tcp", "tcp6"):
            lines = pathlib.Path(f"/proc/self/net/{table}").read_text().splitlines()[1:]
            listening += [line.split()[1] for line in lines if line.split()[3] == "0A" and line.split()[1].endswith(f":{port:04X}")]
        self.assertEqual(listening, [f"0100007F:{port:04X}"])

    def test_ctrl_c_ends_it_and_leaves_nothing(self):
        for sent in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            with self.subTest(sent):
                viewer = Viewer(self.command, self.folder, "whole.rfcap", "--no-open")
                host, _ = viewer.host_and_path()
                code, _, err = viewer.end(sent)
                self.assertEqual((code, err), (0, ""))
                self.assertEqual(list((self.folder / "tmp").iterdir()), [])
                with self.assertRaises(OSError):
                    socket.create_connection((host.split(":")[0], int(host.split(":")[1])), timeout=5)

    def test_it_opens_the_browser_that_is_asked_for(self):
        browser = self.folder / "browser"
        browser.write_text('#!/bin/sh\nprintf "%s\\n" "$@" > opened.new; mv opened.new opened\n')
        browser.chmod(0o755)
        viewer = self.view("whole.rfcap", BROWSER=f"{browser} --new-window %s:other")
        opened, end = self.folder / "opened", time.monotonic() + PATIENCE_S
        while not opened.exists() and time.monotonic() < end:
            time.sleep(0.01)  # for a process that nobody can wait for
        host, path = viewer.host_and_path()
        self.assertEqual(opened.read_text().split("\n")[:2], ["--new-window", f"http://{host}{path}"])

    def test_without_a_display_it_prints_the_link(self):
        viewer = self.view("whole.rfcap")
        self.assertEqual(viewer.get().code, 200)
        _, out, _ = viewer.end()
        self.assertIn("open the link in a browser", out)

    def test_json_has_the_link(self):
        said = json.loads(self.view("whole.rfcap", "--no-open", "--json").line)
        self.assertEqual((said["schema_version"], said["opened"]), (1, False))
        self.assertRegex(said["url"], r"\Ahttp://127\.0\.0\.1:[0-9]+/[0-9a-f]{32}/\Z")

    def test_what_cannot_be_read_is_not_served(self):
        for words in (["missing.rfcap"], ["whole.rfcap", "--port", "70000"], ["whole.rfcap", "--perfetto", "--port", "8000"],
                      ["whole.rfcap", "--perfetto", "--peaks", "x.json"]):
            with self.subTest(words):
                done = subprocess.run([self.command, "view", "--no-open", *words], cwd=self.folder, stdin=subprocess.DEVNULL,
                                      stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=PATIENCE_S)
                self.assertEqual((done.returncode, done.stdout), (2, b""))
                self.assertRegex(done.stderr.decode(), r"\Arangefinder: [^\n]+\n\Z")

    def test_a_port_that_is_taken_is_said(self):
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = str(taken.getsockname()[1])
            done = subprocess.run([self.command, "view", "whole.rfcap", "--no-open", "--port", port], cwd=self.folder,
                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=PATIENCE_S)
        self.assertEqual(done.returncode, 2)
        self.assertIn(f"127.0.0.1:{port}", done.stderr.decode())

    def test_perfetto_may_fetch_the_trace_and_nobody_else(self):
        try:
            socket.create_server(("127.0.0.1", 9001)).close()
        except OSError as error:
            self.skipTest(f"port 9001: {error}")
        viewer = self.view("whole.rfcap", "--perfetto", "--no-open")
        self.assertRegex(viewer.line, rf"\A{PERFETTO}/#!/\?url=http://127\.0\.0\.1:9001/[0-9a-f]{{32}}/trace\.pftrace\.gz\n\Z")
        answer = viewer.get(Origin=PERFETTO)
        self.assertEqual(answer.code, 200)
        self.assertEqual(answer.headers["access-control-allow-origin"], PERFETTO)
        subprocess.run([self.command, "export", "whole.rfcap", "--format", "perfetto", "--gpu", "linked", "-o", "x.pftrace", "-q"],
                       cwd=self.folder, check=True)
        self.assertEqual(gzip.decompress(answer.body), (self.folder / "x.pftrace").read_bytes())
        self.assertEqual(viewer.get(Origin="https://evil.example").code, 403)
        self.assertEqual(viewer.get("/trace.pftrace.gz", Origin=PERFETTO).code, 404)


if __name__ == "__main__":
    run_tests()
