# SPDX-License-Identifier: MIT
import gzip
import json
import pathlib
import pickle
import unittest

import support

import rangefinder
from rangefinder import Error, Status


class Reading(support.TestCase):
    def setUp(self):
        super().setUp()
        with rangefinder.Session(self.capture) as session:
            for _ in range(2):
                with rangefinder.range("step"), rangefinder.range("größe"):
                    pass
                session.step()

    def test_reports(self):
        self.assertRegex(rangefinder.report(self.capture), r"größe +2 ")
        rows = json.loads(rangefinder.report(str(self.capture), "tree", format="json", depth=1))["rows"]
        self.assertEqual([row["path"] for row in rows], ["step"])
        self.assertIn("größe,2,", rangefinder.report(self.capture, format="csv", filter="gr", top=1))
        self.assertNotIn("step,2", rangefinder.report(self.capture, format="csv", filter="gr"))

    def test_a_report_of_chosen_columns_and_payloads(self):
        with rangefinder.Session(self.capture):
            for value in (32, 64, 64):
                with rangefinder.range("batch", value=value):
                    pass
            with rangefinder.range("\x1b[2J"):
                pass

        def csv(**options):
            return rangefinder.report(self.capture, format="csv", **options)

        self.assertEqual(csv(columns="count,range", payload="batch>=64"), "Count,Range\n2,batch\n")
        self.assertEqual(csv(columns="payload,count", by_payload=True, payload=">0", sort="+payload"),
                         "Payload,Count\n32,1\n64,2\n")
        self.assertTrue(csv(view="breakdown", by="range").startswith("Device,Range,Instances,"))
        self.assertTrue(csv(view="critical_path", of="range:batch", by="range").startswith("Range,Time (ns),"))
        self.assertIn("host_p95_ns", rangefinder.report(self.capture, columns="help"))
        self.assertIn("\x1b[2J", csv(columns="range"))
        self.assertIn("\\x1b[2J", csv(columns="range", terminal=True))
        for overview in (True, False):
            self.assertEqual("overview" in json.loads(rangefinder.report(self.capture, format="json", overview=overview)),
                             overview)
        begins = [rangefinder.report(self.capture, instances=True, columns="begin", absolute_times=absolute)
                  for absolute in (None, False, True)]
        self.assertEqual(begins[0], begins[1])
        self.assertNotEqual(begins[1], begins[2])
        with self.assertRaises(Error) as raised:
            csv(columns="hots")
        self.assertEqual(raised.exception.code, Status.INVALID_ARGUMENT)

    def test_a_strict_report_refuses_what_is_damaged(self):
        with rangefinder.Session(self.capture):
            for _ in range(100):
                with rangefinder.range("batch"):
                    pass
        cut = self.folder / "cut.rfcap"
        cut.write_bytes(self.capture.read_bytes()[:-100])
        self.assertEqual(rangefinder.report(self.capture, strict=True), rangefinder.report(self.capture))
        self.assertIn("batch", rangefinder.report(cut))
        with self.assertRaises(Error) as raised:
            rangefinder.report(cut, strict=True)
        self.assertEqual(raised.exception.code, Status.INCOMPLETE)

    def test_a_report_of_several_captures(self):
        other = self.folder / "other.rfcap"
        with rangefinder.Session(other), rangefinder.range("step"):
            pass
        rows = json.loads(rangefinder.report([self.capture, str(other)], format="json"))["rows"]
        self.assertEqual({row["range"]: row["count"] for row in rows}, {"step": 3, "größe": 2})
        self.assertEqual(rangefinder.report((self.capture,)), rangefinder.report(self.capture))
        for inputs, code, message in (([self.capture, self.capture], Status.INVALID_ARGUMENT, "given twice"),
                                      ([], Status.INVALID_ARGUMENT, "no file to read"),
                                      ([self.capture, __file__], Status.UNSUPPORTED, "neither a capture (.rfcap) nor a torch.profiler trace")):
            with self.assertRaises(Error) as raised:
                rangefinder.report(inputs)
            self.assertEqual(raised.exception.code, code)
            self.assertIn(message, raised.exception.message)
            self.assertTrue(raised.exception.message.startswith("rangefinder.report: "), raised.exception.message)

    def test_a_folder_of_traces(self):
        traces = self.folder / "traces"
        traces.mkdir()
        rangefinder.export_chrome_trace(self.capture, traces / "rank0.json.gz")
        self.assertIn("größe", rangefinder.report(traces))
        rangefinder.export_chrome_trace(self.capture, traces / "rank1.json.gz")
        rows = json.loads(rangefinder.report(traces, format="json"))["rows"]
        self.assertEqual({row["range"]: row["count"] for row in rows if row["range"] in ("step", "größe")}, {"step": 4, "größe": 4})
        with self.assertRaises(Error) as raised:
            rangefinder.export_chrome_trace(traces, self.folder / "both.json")
        self.assertEqual(raised.exception.code, Status.UNSUPPORTED)
        self.assertIn("traces are exported one at a time", raised.exception.message)

    def test_facts_that_begin_like_those_of_the_recorder(self):
        facts = {"category:4294967297": "wide", "category:mine": "word"}  # cut to 32 bits, the first is category 1
        with rangefinder.Session(self.capture, metadata=facts), rangefinder.range("r", category="io"):
            pass
        metadata = rangefinder.inspect(self.capture).metadata
        self.assertEqual({key: metadata.get(key) for key in facts}, facts)

    def test_chrome_traces(self):
        output, told = self.folder / "trace.json.gz", []
        done = rangefinder.export_chrome_trace(self.capture, output, progress=lambda *now: told.append(now))
        self.assertGreater(done.events, 4)
        self.assertEqual(done.output_bytes, output.stat().st_size)
        self.assertGreater(done.json_bytes, done.output_bytes)
        self.assertTrue(told)
        self.assertTrue(all(0 < so_far <= total for so_far, total in told), told)
        with self.assertRaises(Error) as exists:
            rangefinder.export_chrome_trace(self.capture, output)
        self.assertEqual(exists.exception.code, Status.EXISTS)
        rangefinder.export_chrome_trace(self.capture, output, replace=True, compression="plain", attribution="forward")
        self.assertIn("größe", {event["name"] for event in json.loads(output.read_text())["traceEvents"]})

    def test_perfetto_traces(self):
        output, told = self.folder / "trace.pftrace.gz", []
        done = rangefinder.export_perfetto_trace(self.capture, output, progress=lambda *now: told.append(now))
        self.assertGreater(done.slices, 2)
        self.assertGreaterEqual(done.events, done.slices)
        self.assertEqual(done.output_bytes, output.stat().st_size)
        self.assertTrue(told)
        packets = gzip.decompress(output.read_bytes())
        self.assertEqual((len(packets), packets[0]), (done.trace_bytes, 0x0A))
        self.assertIn("größe".encode(), packets)
        with self.assertRaises(Error) as exists:
            rangefinder.export_perfetto_trace(self.capture, output)
        self.assertEqual(exists.exception.code, Status.EXISTS)
        slices = rangefinder.export_perfetto_trace(self.capture, output, replace=True, compression="plain", gpu="slices", end_ns=1)
        self.assertEqual((slices.slices, slices.output_bytes), (0, slices.trace_bytes))
        with self.assertRaises(ValueError):
            rangefinder.export_perfetto_trace(self.capture, output, replace=True, gpu="boxes")

    def test_an_export_may_be_ended(self):
        def interrupted(done, total):
            raise KeyboardInterrupt

        output = self.folder / "trace.json"
        with self.assertRaises(KeyboardInterrupt):
            rangefinder.export_chrome_trace(self.capture, output, progress=interrupted)
        with self.assertRaises(Error) as ended:
            rangefinder.export_chrome_trace(self.capture, output, progress=lambda done, total: False)
        self.assertEqual(ended.exception.code, Status.INCOMPLETE)
        self.assertEqual(list(self.folder.glob("trace*")), [])

    def test_views(self):
        views = {view.name: view for view in rangefinder.report_views()}
        self.assertTrue(views["nvtx_gpu_proj_sum"].nsight_compatible)
        self.assertFalse(views["tree"].nsight_compatible)
        self.assertNotEqual(views["tree"].description, "")
        for name in ("ranges", "steps"):
            rangefinder.report(self.capture, name)

    def test_key_averages(self):
        with rangefinder.Session(self.capture):
            for _ in range(2):
                with rangefinder.range("aten::linear", "operator"), rangefinder.range("aten::mm", "operator"):
                    pass
        averages = rangefinder.key_averages(self.capture, order="cpu_total", row_limit=1)
        self.assertEqual([group.name for group in averages.groups], ["aten::linear", "aten::mm"])
        self.assertEqual(averages["aten::linear"].calls, 2)
        self.assertLess(averages["aten::linear"].cpu_self_ns, averages["aten::linear"].cpu_total_ns)
        self.assertEqual((averages["aten::mm"].flops, averages["aten::mm"].calls_without_flops), (0, 2))
        self.assertGreater(averages.cpu_ns, 0)
        self.assertIn("aten::linear", averages.table)
        self.assertNotIn("aten::mm", averages.table)
        with self.assertRaises(KeyError):
            averages["nothing"]
        with self.assertRaises(ValueError):
            rangefinder.key_averages(self.capture, order="size")

    def test_flops_of_the_calls_that_have_shapes(self):
        trace = self.folder / "trace.json"
        calls = [{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": ts, "dur": 2, "args": args}
                 for ts, args in ((1, {"Input Dims": [[2, 3], [3, 4]]}), (10, {}), (20, {}))]
        trace.write_text(json.dumps({"schemaVersion": 1, "traceEvents": calls}))
        group = rangefinder.key_averages(trace)["aten::mm"]
        self.assertEqual((group.calls, group.flops, group.calls_without_flops), (3, 48, 2))

    def test_a_page_is_written(self):
        page = self.folder / "page.html"
        told = []
        done = rangefinder.export_html(self.capture, page, title="a </script> title", progress=lambda *at: told.append(at))
        self.assertEqual((done.output_bytes, done.left_out), (page.stat().st_size, 0))
        self.assertGreater(done.slices, 0)
        text = page.read_text()
        self.assertIn("a \\u003c/script\\u003e title", text)
        self.assertNotIn("a </script> title", text)
        with self.assertRaises(Error) as exists:
            rangefinder.export_html(self.capture, page)
        self.assertEqual(exists.exception.code, Status.EXISTS)
        with self.assertRaises(Error) as few:
            rangefinder.export_html(self.capture, page, replace=True, most_slices=10)
        self.assertEqual(few.exception.code, Status.INVALID_ARGUMENT)

    def test_captures_are_inspected_and_repaired(self):
        info = rangefinder.inspect(self.capture, deep=True)
        self.assertEqual((info.path, info.findings, info.ended_cleanly), (str(self.capture), [], True))
        self.assertEqual(info.file_bytes, self.capture.stat().st_size)
        self.assertIn("host events", {content.kind for content in info.content})
        self.assertIn("rangefinder_version", info.metadata)
        self.assertTrue(info.health.complete)
        damaged, repaired = self.folder / "damaged.rfcap", self.folder / "repaired.rfcap"
        damaged.write_bytes(self.capture.read_bytes()[:-100])
        self.assertTrue(rangefinder.inspect(damaged, deep=True).findings)
        self.assertGreater(rangefinder.repair(damaged, repaired), 0)
        self.assertEqual(rangefinder.inspect(repaired, deep=True).findings, [])
        with self.assertRaises(Error) as exists:
            rangefinder.repair(damaged, repaired)
        self.assertEqual(exists.exception.code, Status.EXISTS)

    def test_the_doctor_looks_at_the_machine(self):
        found = {finding.topic: finding for finding in rangefinder.doctor(self.folder)}
        self.assertIn(found["clock"].state, ("good", "note", "missing"))
        self.assertTrue(all(finding.detail for finding in found.values()))
        self.assertTrue(all(finding.fix for finding in found.values() if finding.state == "missing"))

    def test_errors(self):
        for call, code in (
            (lambda: rangefinder.report(self.folder / "none.rfcap"), Status.NOT_FOUND),
            (lambda: rangefinder.report(self.capture, "trees"), Status.NOT_FOUND),
            (lambda: rangefinder.report(self.capture, max_memory_bytes=1), Status.TOO_LARGE),
            (lambda: rangefinder.export_chrome_trace(self.folder, self.folder / "x.json", max_memory_bytes=1),
             Status.TOO_LARGE),
            (lambda: rangefinder.export_memory_snapshot(self.capture, self.folder / "x.pickle", max_memory_bytes=1),
             Status.TOO_LARGE),
            (lambda: rangefinder.inspect(self.folder / "none.rfcap"), Status.NOT_FOUND),
            (lambda: rangefinder.inspect(pathlib.Path(__file__)), Status.UNREADABLE),
            (lambda: rangefinder.key_averages(self.folder / "none.rfcap"), Status.NOT_FOUND),
            (lambda: rangefinder.repair(self.folder / "none.rfcap", self.folder / "x.rfcap"), Status.NOT_FOUND),
            (lambda: rangefinder.report(self.capture, filter="(", filter_is_regex=True), Status.INVALID_ARGUMENT),
            (lambda: rangefinder.report(pathlib.Path(__file__)), Status.UNREADABLE),
            (lambda: rangefinder.export_memory_snapshot(self.capture, self.folder / "x.pickle"), Status.NOT_FOUND),
            (lambda: rangefinder.export_chrome_trace(self.capture, self.folder / "none/x.json"), Status.NOT_FOUND),
        ):
            with self.assertRaises(Error) as raised:
                call()
            self.assertEqual(raised.exception.code, code, raised.exception)
            self.assertNotEqual(raised.exception.message, "")
        with self.assertRaisesRegex(ValueError, "text, csv, json"):
            rangefinder.report(self.capture, format="xml")
        with self.assertRaisesRegex(ValueError, "end, peak"):
            rangefinder.export_memory_snapshot(self.capture, self.folder / "x.pickle", moment="noon")
        with self.assertRaises(OverflowError):
            rangefinder.report(self.capture, top=-1)
        again = pickle.loads(pickle.dumps(Error(Status.BUSY, "held")))
        self.assertEqual((again.code, again.message), (Status.BUSY, "held"))


if __name__ == "__main__":
    unittest.main()
