# SPDX-License-Identifier: MIT
"""Views of a job of several ranks: collectives, their calls, breakdown and hang."""
import json
import unittest

import support

import rangefinder
from rangefinder import Error, Status


def slice_(category, name, tid, begin_us, end_us, **arguments):
    return {"ph": "X", "cat": category, "name": name, "pid": 1, "tid": tid, "ts": begin_us, "dur": end_us - begin_us,
            "args": arguments}


def opened(category, name, tid, begin_us):
    """A slice without an end."""
    return {"ph": "B", "cat": category, "name": name, "pid": 1, "tid": tid, "ts": begin_us, "args": {}}


def all_reduce(number, begin_us, end_us):
    """A call of c10d."""
    facts = {"Collective name": "allreduce", "In msg nelems": 1000, "Out msg nelems": 1000, "dtype": "Float", "Group size": 2,
             "Process Group Name": "0", "Process Group Description": "default_pg", "Process Group Ranks": "[0, 1]", "Seq": number}
    return slice_("cpu_op", "record_param_comms", 10, begin_us, end_us, **facts)


def gloo(begin_us, end_us):
    return slice_("cpu_op", "gloo:all_reduce", 20, begin_us, end_us)


def device(name, correlation, launch_us, begin_us, end_us):
    """A kernel and the call that launched it."""
    return [slice_("cuda_runtime", "cudaLaunchKernel", 10, launch_us, launch_us + 1, correlation=correlation),
            {"ph": "X", "cat": "kernel", "name": name, "pid": 0, "tid": 7, "ts": begin_us, "dur": end_us - begin_us,
             "args": {"device": 0, "context": 1, "stream": 7, "correlation": correlation}}]


class Job(support.TestCase):
    def write(self, rank, events, host="one"):
        """The trace of a rank."""
        self.traces = self.folder / "traces"
        self.traces.mkdir(exist_ok=True)
        path = self.traces / f"rank{rank}.json"
        facts = {"schemaVersion": 1, "host_name": host, "baseTimeNanoseconds": 1_700_000_000_000_000_000,
                 "distributedInfo": {"backend": "gloo", "rank": rank, "world_size": 2}}
        path.write_text(json.dumps({**facts, "traceEvents": events}))
        return path

    def rows(self, view, **options):
        return support.rows_of(rangefinder.report(self.traces, view, format="json", **options))

    def reduce_on_host(self, hosts=("one", "one")):
        """Rank 1 comes 200 us after rank 0, in a range of its own."""
        self.write(0, [all_reduce(5, 100, 110), gloo(120, 420)], hosts[0])
        self.write(1, [slice_("user_annotation", "late", 10, 0, 400), all_reduce(5, 300, 310), gloo(320, 420)], hosts[1])

    def test_collectives_are_matched_over_ranks(self):
        self.reduce_on_host()
        (row,) = self.rows("collectives", instances=True)
        self.assertEqual({key: row[key] for key in ("collective", "group", "number", "recorded", "ranks", "bytes_b", "latency_ns",
                                                    "longest_ns", "skew_ns", "waited_ns", "last_rank", "its_range")},
                         {"collective": "all_reduce", "group": "0 (default_pg)", "number": 5, "recorded": 2, "ranks": 2,
                          "bytes_b": 4000, "latency_ns": 100_000, "longest_ns": 300_000, "skew_ns": 200_000, "waited_ns": 200_000,
                          "last_rank": "1", "its_range": "late"})
        # 4,000 bytes in 100 us; of two ranks a link carries 2 (2 - 1) / 2 of them.
        self.assertEqual((row["algorithm_bandwidth_gb_s"], row["bus_bandwidth_gb_s"]), (0.04, 0.04))
        (group,) = self.rows("collectives")
        self.assertEqual((group["count"], group["mostly_last"]), (1, "1 (1 of 1)"))

    def test_hosts_without_a_common_clock_have_what_needs_none(self):
        self.reduce_on_host(hosts=("one", "two"))
        (row,) = self.rows("collectives", instances=True)
        self.assertEqual((row["latency_ns"], row["skew_ns"], row["last_rank"]), (100_000, None, ""))

    def test_calls_of_collectives_are_a_row_each(self):
        self.reduce_on_host()
        rows = self.rows("collective_calls", sort="+rank")
        self.assertEqual([(row["rank"], row["name"], row["source"], row["elements_in"], row["type"], row["call_ns"], row["work_ns"],
                           row["range"]) for row in rows],
                         [(0, "allreduce", "c10d", 1000, "Float", 10_000, 300_000, None),
                          (1, "allreduce", "c10d", 1000, "Float", 10_000, 100_000, "late")])
        self.assertEqual([row["group_ranks"] for row in rows], ["[0, 1]"] * 2)
        self.assertEqual(rows[1]["call_begin_ns"] - rows[0]["call_begin_ns"], 200_000)
        self.assertEqual(self.rows("collective_calls", filter="broadcast"), [])

    def test_breakdown_by_device_step_and_range(self):
        for rank in (0, 1):
            self.write(rank, [slice_("user_annotation", "ProfilerStep#3", 10, 0, 500), slice_("user_annotation", "forward", 10, 5, 30),
                              *device("gemm", 1, 10, 100, 200), *device("ncclDevKernel_AllReduce_Sum_f32_RING_LL", 2, 40, 150, 300)])
        rows = self.rows("breakdown")
        self.assertEqual([row["process"] for row in rows], ["rank 0", "rank 1"])
        for row in rows:
            self.assertEqual((row["computation_ns"], row["communication_ns"], row["exposed_communication_ns"]), (100_000, 150_000, 100_000))
        self.assertEqual([(row["step"], row["total_ns"]) for row in self.rows("breakdown", by="step")], [(3, 500_000)] * 2)
        forward = [row for row in self.rows("breakdown", by="range") if row["range"] == "forward"]
        self.assertEqual([(row["computation_ns"], row["communication_ns"]) for row in forward], [(100_000, 0)] * 2)

    def test_a_hang_names_the_rank_that_never_came(self):
        self.write(0, [all_reduce(0, 100, 110), gloo(120, 200), all_reduce(1, 300, 310)])
        self.write(1, [all_reduce(0, 150, 160), gloo(165, 200), opened("user_annotation", "loading", 10, 250)])
        rows = self.rows("hang")
        self.assertEqual([(row["rank"], row["number"], row["collective"], row["state"], row["range"]) for row in rows],
                         [(0, 1, "all_reduce of 1000 Float", "waits", None), (1, 1, "all_reduce of 1000 Float", "never came", "loading")])
        self.assertIn("rank 1 never came", rangefinder.report(self.traces, "hang"))

    def test_a_job_of_traces_is_a_folder_or_a_list(self):
        self.reduce_on_host()
        paths = [self.traces / f"rank{rank}.json" for rank in (0, 1)]
        self.assertEqual(rangefinder.report(paths, "collective_calls", format="csv"),
                         rangefinder.report(self.traces, "collective_calls", format="csv"))
        with rangefinder.Session(self.capture), rangefinder.range("step"):
            pass
        for call, message in ((lambda: rangefinder.export_chrome_trace(self.traces, self.folder / "all.json"), "one at a time"),
                              (lambda: rangefinder.report([self.capture, paths[0]]), "not read together")):
            with self.assertRaises(Error) as raised:
                call()
            self.assertEqual(raised.exception.code, Status.UNSUPPORTED)
            self.assertIn(message, raised.exception.message)


if __name__ == "__main__":
    unittest.main()
