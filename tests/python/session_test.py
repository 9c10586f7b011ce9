# SPDX-License-Identifier: MIT
import ctypes
import gc
import inspect
import os
import pathlib
import re
import threading
import unittest
import warnings

import support

import rangefinder
from rangefinder import Error, Status


class Sessions(support.TestCase):
    def test_summary_health_and_device(self):
        with rangefinder.Session(self.capture, cuda=False, metadata={"model": "größe"}) as session:
            for _ in range(4):
                with rangefinder.range("step"):
                    with rangefinder.range("forward"):
                        pass
                session.step(32)
            summary = session.summary()
            self.assertTrue(session.running)
            self.assertEqual(session.step_number, 4)
            self.assertEqual(session.output, str(self.capture))
            self.assertFalse(session.device.full)
            self.assertNotEqual(session.device.reason, "")
        self.assertFalse(session.running)
        self.assertEqual((summary.steps, summary.items), (4, 128))
        self.assertGreater(summary.step_ns, 0)
        self.assertLessEqual(summary.step_p50_ns, summary.step_p99_ns)
        self.assertAlmostEqual(summary.items_per_second, 128e9 / summary.items_ns)
        row = summary.find("step/forward")
        self.assertEqual((row.name, row.count, row.depth, row.gpu_ops), ("forward", 4, 1, 0))
        self.assertGreater(row.host_ns, 0)
        self.assertIsNone(summary.find("step/backward"))
        self.assertRegex(str(summary), r"(?m)^step +4 .*\n  forward +4 .*\n4 steps, ")
        health = session.health()
        self.assertTrue(health.complete)
        self.assertEqual(health["dropped_ranges"], 0)
        self.assertGreater(len(health.entries), 5)
        with self.assertRaises(KeyError):
            health["nothing of the kind"]
        self.assertIn(b"model", self.capture.read_bytes())

    def test_release_leaves_the_ranges(self):
        with rangefinder.Session(self.capture) as session:
            before = session.device
            session.release_cupti()
            self.assertEqual(session.device.full, False)
            if not before.full:  # without a device there is nothing to give up
                self.assertEqual(session.device, before)
            with rangefinder.range("after"):
                pass
        session.release_cupti()
        self.assertEqual(self.counts(), {"after": 1})

    def test_options_reach_the_library(self):
        with rangefinder.Session(self.capture, active=1, wait=1, repeat=1) as session:
            for _ in range(6):
                with rangefinder.range("step"):
                    pass
                session.step()
        self.assertEqual(self.counts(), {"step": 1})

    def test_the_flight_recorder_is_dumped(self):
        with rangefinder.Session(self.capture, mode="ring", overflow="wait", graph_tracing="automatic",
                                 graph_node_replays=3) as session:
            with rangefinder.range("seen"):
                pass
            written = session.dump()
            named = session.dump(self.folder / "named.rfcap")
        self.assertEqual(named, str(self.folder / "named.rfcap"))
        for dump in (written, named):
            self.assertEqual(self.counts(dump), {"seen": 1})

    def test_a_callback_for_each_capture(self):
        ready, threads = [], set()

        def note(capture):
            ready.append(capture)
            threads.add(threading.get_ident())

        output = self.folder / "cycle-%c.rfcap"
        with rangefinder.Session(output, wait=1, active=1, repeat=2, on_capture_ready=note) as session:
            for _ in range(5):
                session.step()
            gc.collect()
        self.assertEqual([capture.number for capture in ready], [1, 2])
        self.assertEqual([capture.path for capture in ready],
                         [str(self.folder / f"cycle-{cycle}.rfcap") for cycle in (1, 2)])
        self.assertEqual({capture.status for capture in ready}, {Status.OK})
        self.assertNotIn(threading.get_ident(), threads)

    def test_a_callback_may_hold_its_session(self):
        told = []

        class Trainer:
            def __init__(self, capture):
                self.session = rangefinder.Session(capture, on_capture_ready=self.ready)

            def ready(self, capture):
                told.append(capture.path)

        Trainer(self.capture)
        gc.collect()
        self.assertEqual(told, [str(self.capture)])
        rangefinder.Session(self.capture).stop()  # not busy

    def test_errors_have_a_code_and_a_message(self):
        with rangefinder.Session(self.capture):
            with self.assertRaises(Error) as busy:
                rangefinder.Session(self.folder / "second.rfcap")
        self.assertEqual(busy.exception.code, Status.BUSY)
        self.assertEqual(str(busy.exception), busy.exception.message)
        with self.assertRaises(Error) as exists:
            rangefinder.Session(self.capture, replace=False)
        self.assertEqual(exists.exception.code, Status.EXISTS)
        self.assertIn(str(self.capture), str(exists.exception))
        with self.assertRaises(Error) as refused:
            rangefinder.Session(self.capture, config="modee=ring")
        self.assertEqual(refused.exception.code, Status.INVALID_ARGUMENT)
        with self.assertRaisesRegex(ValueError, "mapped, ring, buffered"):
            rangefinder.Session(self.capture, mode="rings")
        with self.assertRaisesRegex(ValueError, "nodes, whole, automatic"):
            rangefinder.Session(self.capture, graph_tracing="graphs")
        for wrong in ({"active": -1}, {"active": 1 << 32}, {"memory_bytes": -1}):
            with self.assertRaises(OverflowError):
                rangefinder.Session(self.capture, **wrong)
        for wrong in ({"active": "3"}, {"actives": 3}, {"memory_bytes": 0.5}):
            with self.assertRaises(TypeError):
                rangefinder.Session(self.capture, **wrong)
        with self.assertRaises(ValueError):
            rangefinder.Session("a\0b")

    def test_a_session_that_nobody_holds_is_stopped(self):
        session = rangefinder.Session(self.capture)
        with rangefinder.range("seen"):
            pass
        del session
        gc.collect()
        self.assertEqual(self.counts(), {"seen": 1})
        rangefinder.Session(self.capture).stop()  # not busy

    def test_the_programs_exception_is_not_hidden(self):
        with self.assertRaises(KeyError):
            with rangefinder.Session(self.capture):
                with rangefinder.range("step"):
                    raise KeyError
        self.assertEqual(self.counts(), {"step": 1})

    def test_stopping_twice_and_late_calls(self):
        session = rangefinder.Session(self.capture)
        session.stop()
        session.stop()
        session.step()
        self.assertTrue(session.health().complete)
        self.assertEqual(repr(session), f"<rangefinder.Session {str(self.capture)!r}, stopped>")
        for wrong in (-1, 1 << 64):
            with self.assertRaises(OverflowError):
                session.step(wrong)
        with self.assertRaises(TypeError):
            session.step(1.5)

    def test_other_threads_run_meanwhile(self):
        with rangefinder.Session(self.capture) as session:
            stop = threading.Event()

            def ranges():
                while not stop.is_set():
                    with rangefinder.range("beside"):
                        pass

            threads = [threading.Thread(target=ranges) for _ in range(2)]
            for thread in threads:
                thread.start()
            for _ in range(20):
                with rangefinder.range("step"):
                    pass
                session.step()
                session.summary()
                session.flush()
            stop.set()
            for thread in threads:
                thread.join()
        self.assertEqual(self.counts()["step"], 20)

    def test_other_threads_run_inside_of_one_call(self):
        """While the library holds a call up, until another thread has come to run."""
        self.assertNotIsInstance(rangefinder._abi.library, ctypes.PyDLL)
        ran = threading.Event()
        with rangefinder.Session(self.capture, stop_timeout_ms=10_000, on_capture_ready=lambda _: ran.set()) as session:
            session.stop()  # waits for the callback
            self.assertTrue(ran.is_set())

    def test_every_option_has_an_argument(self):
        page = pathlib.Path(os.environ["RANGEFINDER_TEST_SOURCE"], "docs/reference/configuration.md").read_text()
        members = re.findall(r"^\| `[\w.]+` \| `([\w.]+)` \|", page, re.M)
        self.assertGreater(len(members), 30)
        arguments = inspect.signature(rangefinder.Session.__init__).parameters
        for member in members:
            name = member.split(".")[-1]
            self.assertTrue({name, name + "_ms", name + "_ns"} & set(arguments), member)

    def test_options_of_counters_and_limits_reach_the_library(self):
        with rangefinder.Session(self.capture, until_step=2, counters="memory", counter_depth=0, pm_sampling="") as session:
            self.assertIn("counters=memory", session.device.reason)
            for _ in range(4):
                with rangefinder.range("step"):
                    pass
                session.step()
        self.assertEqual(self.counts(), {"step": 2})
        with self.assertRaises(Error) as refused:
            rangefinder.Session(self.capture, delay_ms=-1)
        self.assertIn("delay_ms: -1", refused.exception.message)

    def test_a_range_that_is_left_open_shows(self):
        with rangefinder.Session(self.capture):
            open_range = rangefinder.range("open")
            open_range.__enter__()
        open_range.__exit__(None, None, None)
        self.assertEqual(self.counts(), {"open": 1})
        unfinished = [event for event in self.trace() if event["name"] == "open"]
        self.assertEqual(unfinished[0]["args"]["finished"], "false")


if __name__ == "__main__":
    warnings.simplefilter("error")
    unittest.main()
