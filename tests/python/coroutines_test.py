# SPDX-License-Identifier: MIT
"""Ranges of coroutines: what belongs to which task, on event loops that tell when tasks switch and on others."""
import asyncio
import contextvars
import ctypes
import json
import os
import sys
import threading
import types
import unittest
import warnings

import support

import rangefinder

CUPTI = os.environ.get("RANGEFINDER_CUPTI_LIBRARY")


class Device:
    """Launches on the stand-in for CUPTI."""

    class Kernel(ctypes.Structure):  # FakeKernel of tests/support/fake_cupti
        _fields_ = [("duration_ns", ctypes.c_uint64), ("begin_ns", ctypes.c_uint64), ("end_ns", ctypes.c_uint64),
                    ("untimed", ctypes.c_bool), ("open", ctypes.c_bool), ("device", ctypes.c_uint32),
                    ("context", ctypes.c_uint32), ("stream", ctypes.c_uint32), ("name", ctypes.c_char_p),
                    ("grid", ctypes.c_uint32 * 3), ("block", ctypes.c_uint32 * 3), ("cluster", ctypes.c_uint32 * 3),
                    ("more", ctypes.c_uint32 * 7), ("queued_ns", ctypes.c_uint64), ("submitted_ns", ctypes.c_uint64)]

    def __init__(self):
        self.library = ctypes.CDLL(CUPTI)

    def launch(self, duration_ns):
        one = (ctypes.c_uint32 * 3)(1, 1, 1)
        kernel = self.Kernel(duration_ns=duration_ns, context=1, stream=7, name=b"kernel", grid=one, block=one)
        self.library.fakecupti_launch(b"cudaLaunchKernel_v7000", ctypes.byref(kernel))


async def turns(count=1):
    """Others run, and this task waits."""
    for _ in range(count):
        await asyncio.sleep(0)


class TestCase(support.TestCase):
    def record(self, work, run=asyncio.run):
        """What the view tree has of each path, of a recording in which the coroutine runs."""
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            with rangefinder.Session(self.capture) as session:
                run(work)
        self.warnings = [str(warning.message) for warning in seen]
        self.assertTrue(session.health().complete, session.health())
        return {row["path"]: row for row in self.rows("tree")}

    def rows(self, view, **options):
        return support.rows_of(rangefinder.report(self.capture, view, format="json", **options))

    def counts(self, work, run=asyncio.run):
        return {path: row["count"] for path, row in self.record(work, run).items()}

    def row(self, name):
        (row,) = [row for row in self.rows("ranges") if row["range"] == name]
        return row


class HostTime(TestCase):
    def test_each_instance_counts_once_with_the_time_in_which_it_waits(self):
        async def request(pause):
            async with rangefinder.range("request"):
                await turns(pause)

        async def work():
            await asyncio.gather(*(request(pause) for pause in range(9, 0, -1)))  # each within the one before

        self.assertEqual(self.counts(work()), {"request": 9})
        row = self.row("request")
        self.assertEqual(row["count"], 9)
        self.assertEqual(row["host_avg_ns"], (row["host_ns"] + 4) // 9)
        parts = self.rows("ranges", instances=True)
        instances = [part["host_ns"] for part in parts if part["host_ns"] is not None]
        self.assertEqual((len(instances), sum(instances)), (9, row["host_ns"]))
        self.assertGreater(row["host_ns"], sum(self.length(part) for part in self.slices("request")))
        self.assertGreater(len(parts), 9)
        self.assertFalse(self.warnings)

    def slices(self, name):
        return [event for event in self.trace() if event["ph"] == "X" and event["name"] == name]

    def length(self, event):
        return round(event["dur"] * 1000)

    def test_one_inside_another_of_its_name_is_in_that_ones_time(self):
        async def work():
            async with rangefinder.range("again"):
                async with rangefinder.range("again"):
                    await turns()

        paths = self.record(work())
        row = self.row("again")
        self.assertEqual((row["count"], row["host_ns"], row["host_avg_ns"]),
                         (2, paths["again"]["host_ns"], paths["again"]["host_ns"]))

    def test_a_value_and_a_category_travel_with_it(self):
        async def work():
            for number in range(3):
                async with rangefinder.range("request", "serving", number):
                    await turns()

        self.assertEqual(self.counts(work()), {"request": 3})
        arguments = [event.get("args", {}) for event in self.slices("request")]
        self.assertEqual([seen["payload"] for seen in arguments if "payload" in seen], [0, 1, 2])
        self.assertEqual({seen["category"] for seen in arguments}, {"serving"})

    def test_what_fails_or_is_cancelled_is_closed(self):
        async def fails(error):
            async with rangefinder.range("fails"):
                await turns()
                raise error

        async def waits():
            async with rangefinder.range("waits"):
                await asyncio.sleep(3600)

        async def work():
            with self.assertRaises(KeyError):
                await fails(KeyError())
            waiting = asyncio.ensure_future(waits())
            await turns(3)
            waiting.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await waiting
            with rangefinder.range("after"):
                pass

        self.assertEqual(self.counts(work()), {"fails": 1, "waits": 1, "after": 1})

    def test_one_that_waits_when_the_recording_stops_is_unfinished(self):
        async def waits():
            async with rangefinder.range("waits"):
                await turns(2)

        async def work():
            session = rangefinder.Session(self.capture)
            waiting = asyncio.ensure_future(waits())
            await turns(2)
            session.stop()
            with rangefinder.Session(self.folder / "next.rfcap"):
                await waiting
                with rangefinder.range("after"):
                    pass

        asyncio.run(work())
        (row,) = self.rows("ranges")
        self.assertEqual((row["range"], row["count"]), ("waits", 1))
        self.assertIn("note  1 ranges still open", rangefinder.report(self.capture))
        self.assertEqual(support.TestCase.counts(self, self.folder / "next.rfcap"), {"after": 1})

    def test_it_may_be_left_in_another_context(self):
        shared = rangefinder.range("fixture")

        async def work():
            await asyncio.create_task(shared.__aenter__())
            await turns()
            await asyncio.create_task(shared.__aexit__(None, None, None))
            with rangefinder.range("after"):
                pass

        self.assertEqual(self.counts(work()), {"fixture": 1, "after": 1})


@unittest.skipUnless(CUPTI, "no stand-in for CUPTI in this build")
class DeviceTime(TestCase):
    def setUp(self):
        super().setUp()
        self.launch = Device().launch

    def sums(self, work, run=asyncio.run):
        """Device time of each path, and what no range owns."""
        paths = self.record(work, run)
        self.account = json.loads(rangefinder.report(self.capture, format="json"))["account"]
        self.assertEqual(self.account["unknown"]["gpu_ops"], 0)
        return {path: row["gpu_sum_ns"] for path, row in paths.items()}

    def outside(self):
        return self.account["outside"]["gpu_sum_ns"]

    def test_work_belongs_to_the_task_that_ran(self):
        async def a():
            async with rangefinder.range("a"):
                self.launch(1)
                await turns(4)
                self.launch(2)

        async def b():
            await turns(2)
            self.launch(10)  # while a waits
            async with rangefinder.range("b"):
                self.launch(20)
                with rangefinder.range("inside b"):
                    self.launch(40)
                await turns()

        async def c():
            for _ in range(6):
                with rangefinder.range("c"):
                    self.launch(100)
                self.launch(1000)
                await turns()

        async def work():
            await asyncio.gather(a(), b(), c())

        self.assertEqual(self.sums(work()), {"a": 3, "b": 60, "b/inside b": 40, "c": 600})
        self.assertEqual(self.outside(), 6010)
        self.assertFalse(self.warnings)

    def test_ranges_around_the_loop_and_around_each_other(self):
        async def request(number):
            async with rangefinder.range("request"):
                await turns(number)
                async with rangefinder.range("model"):
                    self.launch(10)
                    await turns()
                    self.launch(1)
                self.launch(100)

        async def work():
            await asyncio.gather(*(request(number) for number in range(4)))

        def run(work):
            with rangefinder.range("serve"):
                asyncio.run(work)
                self.launch(1000)

        self.assertEqual(self.sums(work(), run),
                         {"serve": 1444, "serve/request": 444, "serve/request/model": 44})

    def test_a_task_that_was_started_inside_belongs_to_it_while_it_is_open(self):
        async def part():
            for _ in range(4):
                self.launch(1)
                await turns()

        async def work():
            async with rangefinder.range("request"):
                left = asyncio.ensure_future(part())
                await asyncio.gather(part(), part())
                longer = asyncio.ensure_future(part())
                await turns(2)
            await longer
            await left

        paths = self.sums(work())
        self.assertEqual(set(paths), {"request"})
        self.assertEqual(paths["request"] + self.outside(), 16)
        self.assertEqual(self.outside(), 2)

    def test_decorated_coroutines_own_what_they_run(self):
        @rangefinder.range("outer")
        async def outer(number):
            self.launch(1)
            await turns(number)
            await inner(number)

        @rangefinder.range("inner")
        async def inner(number):
            await turns(number)
            self.launch(10)

        async def other():
            for _ in range(8):
                self.launch(100)
                await turns()

        async def work():
            await asyncio.gather(outer(1), other(), outer(3))

        paths = self.record(work())
        self.assertEqual({path: (row["count"], row["gpu_sum_ns"]) for path, row in paths.items()},
                         {"outer": (2, 22), "outer/inner": (2, 20)})

    def test_a_with_over_an_await_leaves_with_its_task(self):
        async def a():
            async with rangefinder.range("a"):
                with rangefinder.range("over an await", value=7):
                    self.launch(1)
                    await turns(3)
                    self.launch(2)
                self.launch(4)
                await turns()

        async def b():
            for _ in range(6):
                self.launch(100)
                await turns()

        async def work():
            await asyncio.gather(a(), b())

        paths = self.record(work())
        self.assertEqual({path: (row["count"], row["gpu_sum_ns"]) for path, row in paths.items()},
                         {"a": (1, 7), "a/over an await": (1, 3)})
        self.assertFalse(self.warnings)

    def test_loops_that_do_not_tell_when_tasks_switch(self):
        class Loop(asyncio.SelectorEventLoop):
            """As one whose attributes are those of an extension."""

            def __setattr__(self, name, value):
                if name == "call_soon":
                    raise AttributeError("read-only")
                super().__setattr__(name, value)

        def run(work):
            loop = Loop()
            loop.run_until_complete(work)
            loop.close()

        @rangefinder.range("decorated")
        async def decorated():
            await turns()
            self.launch(1000)
            async with rangefinder.range("in it"):
                await turns()
                self.launch(10000)

        async def request(number):
            async with rangefinder.range("request"):
                self.launch(1)  # when this task waits is unknown
                with rangefinder.range("model"):
                    self.launch(10)
                await turns(number)

        async def work():
            await asyncio.gather(request(3), request(2), decorated())

        paths = self.sums(work(), run)
        self.assertEqual(paths, {"request": 0, "model": 20, "decorated": 11000, "decorated/in it": 10000})
        self.assertEqual(self.outside(), 2)
        self.assertEqual(self.row("request")["count"], 2)
        self.assertEqual(len(self.warnings), 1, self.warnings)
        self.assertIn("Loop", self.warnings[0])

    def test_coroutines_that_no_loop_drives(self):
        @types.coroutine
        def wait():
            yield

        @rangefinder.range("decorated")
        async def decorated():
            self.launch(1)
            await wait()
            self.launch(2)

        def run(work):
            coroutine = decorated()
            coroutine.send(None)
            self.launch(100)
            with self.assertRaises(StopIteration):
                coroutine.send(None)
            work.close()

        async def nothing():
            pass

        self.assertEqual(self.sums(nothing(), run), {"decorated": 3})
        self.assertEqual(self.outside(), 100)

    @unittest.skipIf(sys.version_info < (3, 12), "tasks are eager since Python 3.12")
    def test_eager_tasks(self):
        async def part():
            async with rangefinder.range("part"):
                self.launch(1)
                await turns(2)
                self.launch(2)

        async def work():
            asyncio.get_running_loop().set_task_factory(asyncio.eager_task_factory)
            async with rangefinder.range("request"):
                started = asyncio.create_task(part())
                self.launch(10)
                await turns()
                self.launch(20)
                await started

        self.assertEqual(self.sums(work()), {"request": 33, "request/part": 3})

    def test_each_thread_has_a_loop_of_its_own(self):
        async def work(size):
            async def request(number):
                async with rangefinder.range("request"):
                    self.launch(size)
                    await turns(number)
                    self.launch(size)

            await asyncio.gather(*(request(number) for number in range(3)))

        def run(first):
            thread = threading.Thread(target=lambda: asyncio.run(work(10)))
            thread.start()
            asyncio.run(first)
            thread.join()

        self.assertEqual(self.sums(work(1), run), {"request": 66})


class Plain(TestCase):
    """A `with` that reaches over an await where nothing tells when tasks switch."""

    def test_ends_that_cross_close_their_own_range_and_warn_once(self):
        async def waits(name, pause):
            for _ in range(2):
                with rangefinder.range(name):
                    await turns(pause)

        async def valued():
            with rangefinder.range("valued", value=1):
                await turns(4)

        async def work():
            await asyncio.gather(waits("first", 1), waits("second", 3), valued())

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            counts = self.counts(work())
        self.assertEqual(sum(counts.values()), 5)
        rows = {row["range"]: row["host_ns"] for row in self.rows("ranges")}
        self.assertEqual(set(rows), {"first", "second", "valued"})
        self.assertLess(rows["first"], rows["second"])
        self.assertEqual(len(self.warnings), 1, self.warnings)
        self.assertIn("async with", self.warnings[0])
        self.assertEqual(rangefinder.range_depth(), 0)


class Quiet(TestCase):
    def test_nothing_is_done_to_a_loop_while_nothing_records(self):
        async def work():
            loop = asyncio.get_running_loop()
            async with rangefinder.range("x"):
                await turns()
            self.assertNotIn("call_soon", vars(loop))
            with rangefinder.Session(self.capture):
                async with rangefinder.range("recorded"):
                    await turns()
            await turns(2)
            self.assertNotIn("call_soon", vars(loop))

        asyncio.run(work())
        self.assertEqual(support.TestCase.counts(self), {"recorded": 1})

    def test_a_session_that_starts_inside(self):
        async def work():
            async with rangefinder.range("before"):
                with rangefinder.Session(self.capture):
                    await turns()
                    async with rangefinder.range("in it"):
                        await turns()
                await turns()

        asyncio.run(work())
        self.assertEqual(support.TestCase.counts(self), {"in it": 1})

    def test_tasks_keep_their_context_and_their_results(self):
        variable = contextvars.ContextVar("variable", default=0)

        async def part(number):
            variable.set(number)
            async with rangefinder.range("part"):
                await turns(number)
                return variable.get()

        async def work():
            results = await asyncio.gather(*(part(number) for number in range(5)))
            return results, variable.get(), await asyncio.wait_for(part(2), 60)

        with rangefinder.Session(self.capture):
            self.assertEqual(asyncio.run(work()), ([0, 1, 2, 3, 4], 0, 2))


if __name__ == "__main__":
    unittest.main()
