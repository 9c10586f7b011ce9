# SPDX-License-Identifier: MIT
import gzip
import json
import unittest

import support

import rangefinder
from rangefinder import Error, Status


class Advising(support.TestCase):
    def loop_that_waits(self):
        """A trace of 20 steps of 1 ms, 600 us of which are spent in getting the batch."""
        events = []
        for step in range(20):
            begin = 1000 * step

            def slice_of(category, name, at, duration, **event):
                events.append({"ph": "X", "cat": category, "name": name, "pid": 1, "tid": 1, "ts": begin + at,
                               "dur": duration, **event})

            slice_of("user_annotation", f"ProfilerStep#{step}", 0, 1000)
            slice_of("user_annotation", "data", 10, 600)
            slice_of("user_annotation", "forward", 620, 370)
            slice_of("cuda_runtime", "cudaLaunchKernel", 630, 5, args={"correlation": step + 1})
            slice_of("kernel", "gemm", 640, 300, pid=0, tid=7,
                     args={"device": 0, "stream": 7, "correlation": step + 1})
            slice_of("cuda_runtime", "cudaDeviceSynchronize", 650, 300, args={"correlation": 1000 + step})
        path = self.folder / "waits.json.gz"
        path.write_bytes(gzip.compress(json.dumps({"schemaVersion": 1, "traceEvents": events}).encode()))
        return path

    def test_a_loop_that_waits_for_its_input(self):
        advice = rangefinder.advise(self.loop_that_waits())
        self.assertTrue(advice.verdict)
        finding = advice.findings[0]
        self.assertEqual((finding.rule, finding.range.split("/")[-1]), ("data_wait", "data"))
        self.assertTrue(finding.headline and finding.evidence and finding.change and finding.check)
        # No more than the range takes, and most of it.
        self.assertLessEqual(finding.gain_ns, 610_000)
        self.assertGreaterEqual(finding.gain_ns, 500_000)
        self.assertAlmostEqual(finding.gain_percent, finding.gain_ns / 10_000, delta=0.2)
        gains = [one.gain_ns for one in advice.findings]
        self.assertEqual(gains, sorted(gains, reverse=True))
        self.assertIn("allocator_retries", [one.rule for one in advice.abstentions])
        self.assertTrue(all(one.missing for one in advice.abstentions))
        self.assertEqual(str(advice).splitlines()[0], advice.verdict)
        self.assertIn(advice.verdict, " ".join(rangefinder.report(self.loop_that_waits(), "advice").split()))

    def test_refusals(self):
        with self.assertRaises(ValueError):
            rangefinder.advise(self.loop_that_waits(), attribution="by magic")
        with self.assertRaises(Error) as raised:
            rangefinder.advise(self.folder / "absent.json")
        self.assertEqual(raised.exception.code, Status.NOT_FOUND)


if __name__ == "__main__":
    unittest.main()
