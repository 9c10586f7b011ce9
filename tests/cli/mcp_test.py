#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`rangefinder mcp`: a transcript, hostile input, and a session of the protocol's own client where that is installed.

mcp_test.py --command PATH --inputs PATH [TOPIC ...]. The client: pip install mcp, in the Python that runs this.
"""
import asyncio
import json
import pathlib
import shutil
import subprocess

from verb_case import VerbCase, run_tests

TRANSCRIPT = pathlib.Path(__file__).parent / "mcp_transcript.jsonl"


def differences(expected, got, where=""):
    """What of `expected` is not in `got`; members that it does not name may be anything."""
    if isinstance(expected, dict) and set(expected) == {"contains"}:
        if not isinstance(got, str) or expected["contains"] not in got:
            yield f"{where}: no {expected['contains']!r} in {got!r}"
    elif isinstance(expected, dict):
        for key, value in expected.items():
            if not isinstance(got, dict) or key not in got:
                yield f"{where}.{key} is missing in {got!r}"
            else:
                yield from differences(value, got[key], f"{where}.{key}")
    elif isinstance(expected, list):
        if not isinstance(got, list) or len(got) != len(expected):
            yield f"{where}: {len(expected)} items expected, got {got!r}"
        else:
            for index, (a, b) in enumerate(zip(expected, got)):
                yield from differences(a, b, f"{where}[{index}]")
    elif expected != got:
        yield f"{where}: {got!r} is not {expected!r}"


class ServerTest(VerbCase):
    def setUp(self):
        super().setUp()
        self.served = self.folder / "served"
        self.served.mkdir()
        self.make_inputs(self.served)

    def run_server(self, text, *more):
        return subprocess.run([self.command, "mcp", "--folder", self.served, *more], input=text, capture_output=True, timeout=120)

    def answers(self, messages, *more):
        """What comes back for these lines, parsed."""
        text = "".join((each if isinstance(each, str) else json.dumps(each)) + "\n" for each in messages)
        process = self.run_server(text.encode(), *more)
        self.assertEqual((process.returncode, process.stderr), (0, b""))
        return [json.loads(line) for line in process.stdout.decode().splitlines()]


def call(tool, identifier=1, **arguments):
    return {"jsonrpc": "2.0", "id": identifier, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}


class Transcript(ServerTest):
    def test_the_transcript(self):
        steps = [json.loads(line) for line in TRANSCRIPT.read_text().splitlines()]
        got = self.answers([step["send"] for step in steps])
        expected = [step["expect"] for step in steps if step["expect"] is not None]
        self.assertEqual(len(got), len(expected), got)
        for step, answer in zip(expected, got):
            self.assertEqual(list(differences(step, answer)), [], answer)


class Hostile(ServerTest):
    def test_lines_that_are_too_long_are_refused_and_the_next_is_answered(self):
        process = self.run_server(b"[" * (5 << 20) + b"\n" + json.dumps(call("list_views")).encode() + b"\n")
        first, second = [json.loads(line) for line in process.stdout.decode().splitlines()]
        self.assertEqual(first["error"]["code"], -32600)
        self.assertFalse(second["result"]["isError"])

    def test_bytes_that_are_no_text(self):
        process = self.run_server(b"\xff\xfe\n\n\0\n")
        codes = [json.loads(line)["error"]["code"] for line in process.stdout.decode().splitlines()]
        self.assertEqual((process.returncode, codes), (0, [-32700, -32700]))

    def test_names_in_captures_stay_data(self):
        process = self.run_server(json.dumps(call("report", path="hostile.rfcap")).encode() + b"\n")
        self.assertEqual(process.stdout.count(b"\n"), 1)
        self.assertNotIn(b"\x1b", process.stdout)
        self.assertFalse(json.loads(process.stdout)["result"]["isError"])

    def test_paths_outside_are_refused(self):
        outside = self.folder / "outside.rfcap"
        shutil.copy(self.served / "whole.rfcap", outside)
        (self.served / "link.rfcap").symlink_to(outside)
        (self.served / "linked").symlink_to(self.folder)
        paths = [str(outside), "../outside.rfcap", "link.rfcap", "linked/outside.rfcap", "/proc/self/root/etc/passwd"]
        for path in paths:
            for message in (call("info", path=path), call("report", path=path), call("query", path=path, sql="SELECT 1")):
                result = self.answers([message])[0]["result"]
                self.assertTrue(result["isError"], (path, result))
                self.assertIn("refused", result["content"][0]["text"])

    def test_nothing_is_written(self):
        before = sorted(self.folder.rglob("*"))
        self.answers([call("query", path="whole.rfcap", sql=sql) for sql in
                      ("ATTACH 'x.db' AS x", "VACUUM INTO 'x.db'", "SELECT writefile('x', 'y')", "CREATE TABLE t(a)")]
                     + [call("check", path="cut.rfcap"), call("info", path="unfinished.rfcap")])
        self.assertEqual(sorted(self.folder.rglob("*")), before)

    def test_a_query_without_end_is_ended(self):
        sql = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"
        result = self.answers([call("query", path="whole.rfcap", sql=sql)], "--timeout", "0.2")[0]["result"]
        self.assertTrue(result["isError"])
        self.assertIn("200 ms", result["content"][0]["text"])

    def test_a_folder_that_is_none(self):
        process = subprocess.run([self.command, "mcp", "--folder", self.folder / "nothing"], capture_output=True, timeout=60,
                                 stdin=subprocess.DEVNULL)
        self.assertEqual((process.returncode, process.stdout), (2, b""))
        self.assertIn(b"nothing", process.stderr)


class OfficialClient(ServerTest):
    """The client library that the makers of the protocol publish."""

    def setUp(self):
        try:
            import mcp  # noqa: F401
            from mcp.client.client import Client  # noqa: F401
        except ImportError:
            self.skipTest("no client of the protocol here: pip install mcp (2.x)")
        super().setUp()

    async def session(self, mode):
        from mcp.client.client import Client
        from mcp.client.stdio import StdioServerParameters

        elsewhere = self.folder / "elsewhere.rfcap"
        shutil.copy(self.served / "whole.rfcap", elsewhere)
        (self.served / "link.rfcap").symlink_to(elsewhere)
        server = StdioServerParameters(command=self.command, args=["mcp", "--folder", str(self.served), "--max-rows", "2"])
        async with Client(server, mode=mode) as client:
            tools = [tool.name for tool in (await client.list_tools()).tools]
            files = await client.call_tool("list_files", {})
            rows = await client.call_tool("query", {"path": "whole.rfcap", "sql": "SELECT count(*) FROM ranges"})
            more = await client.call_tool("query", {"path": "whole.rfcap", "sql": "SELECT id FROM ranges"})
            outside = [await client.call_tool("info", {"path": path})
                       for path in ("../elsewhere.rfcap", str(elsewhere), "link.rfcap")]
            return client.protocol_version, client.server_info, tools, files, rows, more, outside

    def check(self, mode, version):
        got_version, info, tools, files, rows, more, outside = asyncio.run(self.session(mode))
        self.assertEqual(got_version, version)
        self.assertEqual(info.name, "rangefinder")
        self.assertEqual(tools, ["list_files", "info", "check", "list_views", "report", "schema", "query"])
        self.assertFalse(files.is_error)
        self.assertIn("whole.rfcap", files.content[0].text)
        self.assertEqual(json.loads(rows.content[0].text)["rows"], [[3]])
        more = json.loads(more.content[0].text)
        self.assertEqual((more["rows"], more["truncated"]), ([[1], [2]], True))
        for answer in outside:
            self.assertTrue(answer.is_error)
            self.assertIn("refused", answer.content[0].text)

    def test_a_session_by_discovery(self):
        self.check("auto", "2026-07-28")

    def test_a_session_by_handshake(self):
        self.check("legacy", "2025-11-25")


if __name__ == "__main__":
    run_tests()
