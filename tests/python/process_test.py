# SPDX-License-Identifier: MIT
"""How processes end, fork and find the library."""
import os
import shutil
import subprocess
import sys
import unittest

import support

import rangefinder

RECORD = """
import os, sys, threading, rangefinder
session = rangefinder.Session(sys.argv[1])
with rangefinder.range("seen"):
    pass
"""


class Ends(support.TestCase):
    def test_the_interpreter_ends_with_a_session_open(self):
        self.assertEqual(self.run_program(RECORD), "")
        self.assertEqual(self.counts(), {"seen": 1})

    def test_by_sys_exit_in_an_open_range(self):
        self.run_program(RECORD + "rangefinder.range('open').__enter__(); sys.exit(3)", status=3)
        self.assertEqual(self.counts(), {"seen": 1, "open": 1})

    def test_by_an_exception(self):
        self.assertIn("KeyError", self.run_program(RECORD + "raise KeyError('x')", status=1))
        self.assertEqual(self.counts(), {"seen": 1})

    def test_by_kill(self):
        self.run_program(RECORD + "os.kill(os.getpid(), 9)", status=-9)
        self.assertEqual(self.counts(), {"seen": 1})

    def test_while_other_threads_record(self):
        self.run_program(RECORD + """
def forever():
    while True:
        with rangefinder.range("beside"):
            pass
for _ in range(2):
    threading.Thread(target=forever, daemon=True).start()
while session.summary().find("beside") is None:
    pass
""")
        self.assertEqual(self.counts()["seen"], 1)

    def test_a_callback_comes_before_the_interpreter_is_gone(self):
        printed = self.run_program("""
import rangefinder, sys
session = rangefinder.Session(sys.argv[1], on_capture_ready=lambda ready: print("ready", ready.path, flush=True))
""")
        self.assertEqual(printed, f"ready {self.capture}\n")

    def test_a_callback_that_raises_is_told_of(self):
        printed = self.run_program("""
import rangefinder, sys
def ready(capture):
    raise KeyError("in the callback")
with rangefinder.Session(sys.argv[1], on_capture_ready=ready):
    pass
print("went on")
""")
        self.assertIn("in the callback", printed)
        self.assertIn("went on", printed)


    def test_a_callback_that_takes_longer_than_the_interpreter_waits(self):
        printed = self.run_program("""
import rangefinder, sys, threading
began, never = threading.Event(), threading.Event()
def upload(capture):
    began.set()
    while True:
        never.wait(0.001)  # to and fro, so that it comes back when the interpreter is gone
with rangefinder.Session(sys.argv[1], stop_timeout_ms=200, on_capture_ready=upload):
    pass
assert began.is_set()
print("done")
""")
        self.assertEqual(printed, "done\n")

    def test_no_callback_follows_one_that_outlasts_its_session(self):
        printed = self.run_program("""
import ctypes, gc, rangefinder, sys, threading
began, goes_on, returns = threading.Event(), threading.Event(), threading.Event()
def ready(capture):
    print("ready", capture.number, flush=True)
    began.set()
    goes_on.wait()
    returns.set()
session = rangefinder.Session(sys.argv[1] + "-%c", active=1, wait=1, repeat=2, stop_timeout_ms=1000,
                              flush_period_ms=60000, on_capture_ready=ready)  # each cycle is recorded, however slow
for _ in range(6):
    session.step()
began.wait()
try:
    session.stop()
except rangefinder.Error as error:
    print(error.code.name, flush=True)
del session
gc.collect()
wrong = [ctypes.CFUNCTYPE(None)(lambda: print("another function is called")) for _ in range(500)]
goes_on.set()
returns.wait()
""")
        self.assertEqual(printed, "ready 1\nTIMEOUT\n")

    def test_exit_functions_and_threads_may_use_a_session_until_the_end(self):
        printed = self.run_program("""
import atexit, sys
held = []
atexit.register(lambda: print(held[0].running, held[0].summary().steps, held[0].step()))
import rangefinder
held.append(rangefinder.Session(sys.argv[1]))
""")
        self.assertEqual(printed, "False 0 None\n")
        for _ in range(5):
            self.run_program(RECORD + """
asked = threading.Event()
def log():
    while True:
        session.summary(), session.health()
        asked.set()
for _ in range(2):
    threading.Thread(target=log, daemon=True).start()
asked.wait()
""")

    def test_an_export_of_a_thread_that_the_interpreter_ends(self):
        self.run_program(RECORD + """
session.stop()
asked = threading.Event()
def export():
    while True:
        rangefinder.export_chrome_trace(sys.argv[1], sys.argv[1] + ".json", replace=True, progress=lambda *_: asked.set())
threading.Thread(target=export, daemon=True).start()
asked.wait()
""")


class Forks(support.TestCase):
    def test_a_child_may_call_everything_whatever_other_threads_do(self):
        for options in ("", ", on_capture_ready=print"):
            printed = self.run_program(f"""
import os, rangefinder, signal, sys, threading
session = rangefinder.Session(sys.argv[1]{options})
ends, begun = threading.Event(), threading.Event()
def busy():
    while not ends.is_set():
        session.summary(), session.health(), session.step_number
        begun.set()
thread = threading.Thread(target=busy)
thread.start()
begun.wait()
failed = 0
for _ in range(30):
    child = os.fork()
    if child == 0:
        signal.alarm(20)
        for name in ("summary", "health", "flush", "release_cupti", "step", "stop"):
            getattr(session, name)()
        session.running, session.device, session.output, session.step_number
        os._exit(0)
    failed += os.waitpid(child, 0)[1] != 0
ends.set()
thread.join()
print(failed, flush=True)
""", PYTHONWARNINGS="ignore")
            self.assertEqual(printed.splitlines()[0], "0", options)

    def test_the_child_records_nothing_and_ends_in_every_way(self):
        printed = self.run_program(RECORD + """
for way in ("sys.exit(0)", "os._exit(0)", "session.stop(); sys.exit(0)", "del session; sys.exit(0)"):
    child = os.fork()
    if child == 0:
        with rangefinder.range("in the child"):
            rangefinder.counter("x", 1)
        session.step()
        exec(way)
    if os.waitpid(child, 0)[1] != 0:
        print("failed:", way)
with rangefinder.range("after"):
    pass
session.stop()
""", PYTHONWARNINGS="ignore")  # since 3.12 Python warns of forks beside threads
        self.assertEqual(printed, "")
        self.assertEqual(self.counts(), {"seen": 1, "after": 1})

    def test_a_child_may_record_into_a_file_of_its_own(self):
        for session in ("session", "None"):
            self.run_program(RECORD + f"""
session = {session}
child = os.fork()
if child == 0:
    with rangefinder.Session(sys.argv[1] + ".child"):
        with rangefinder.range("in the child"):
            pass
    sys.exit(0)
assert os.waitpid(child, 0)[1] == 0
""", PYTHONWARNINGS="ignore")
            self.assertEqual(self.counts(), {"seen": 1})
            self.assertEqual(self.counts(f"{self.capture}.child"), {"in the child": 1}, session)

    def test_multiprocessing(self):
        program = self.folder / "program.py"
        program.write_text("""
import multiprocessing, sys, rangefinder

@rangefinder.range("work")
def work(number):
    with rangefinder.range("inner"):
        return number * 2

if __name__ == "__main__":
    for way in ("fork", "spawn", "forkserver"):
        with rangefinder.Session(sys.argv[1] + "." + way) as session:
            work(1)
            with multiprocessing.get_context(way).Pool(2) as pool:
                assert pool.map(work, range(8)) == [2 * number for number in range(8)]
            work(1)
""")
        self.run_program("import subprocess, sys; sys.exit(subprocess.call([sys.executable, 'program.py', sys.argv[1]]))")
        for way in ("fork", "spawn", "forkserver"):
            self.assertEqual(self.counts(f"{self.capture}.{way}"), {"work": 2, "work/inner": 2}, way)


class UnderRecord(support.TestCase):
    def test_a_program_that_uses_neither_nvtx_nor_cuda_is_recorded(self):
        injection = os.path.join(os.path.dirname(os.environ["RANGEFINDER_LIBRARY"]), "librangefinder_injection.so")
        if not os.path.exists(injection):
            self.skipTest("built without the injection library")
        self.run_program("import rangefinder\nwith rangefinder.range('seen'): pass",
                         NVTX_INJECTION64_PATH=injection, RANGEFINDER_RECORD=str(self.capture))
        self.assertEqual(self.counts(), {"seen": 1})


class Finds(support.TestCase):
    def test_a_library_without_the_recording_half_reads(self):
        declared = [*rangefinder._abi.FUNCTIONS, *rangefinder.capture.FUNCTIONS, *rangefinder.parquet.FUNCTIONS]
        reading = [name for name in declared if not name.startswith(rangefinder._abi._RECORDING)]
        self.assertTrue({"rf_report", "rf_health_at", "rf_capture_inspect"} <= set(reading))
        for name, functions in (("reader", reading), ("other", reading[:-1])):
            source = "".join(f"long {function}(void) {{ return 1; }}\n" for function in functions)
            subprocess.run([os.environ["RANGEFINDER_TEST_CXX"], "-x", "c", "-shared", "-fPIC", "-", "-o", self.folder / name],
                           input=source, text=True, check=True)
        printed = self.run_program("""
import rangefinder
assert rangefinder._abi.library.rf_capture_content_count(None) == 1
for call in (lambda: rangefinder.range("x"), lambda: rangefinder.Session("x"), lambda: rangefinder.mark("x"),
             lambda: rangefinder.start_range("x"), rangefinder.prepare, rangefinder.range_depth):
    try:
        call()
        print("went on")
    except ImportError as error:
        assert "reads files only" in str(error), error
""", RANGEFINDER_LIBRARY=str(self.folder / "reader"))
        self.assertEqual(printed, "")
        self.assertIn("older than this package", self.run_program("import rangefinder", status=1,
                                                                  RANGEFINDER_LIBRARY=str(self.folder / "other")))

    def test_a_library_that_is_not_there(self):
        text = self.run_program("import rangefinder", status=1, RANGEFINDER_LIBRARY="/nowhere/librangefinder.so")
        self.assertIn("ImportError: rangefinder: no library to load", text)
        self.assertIn("/nowhere/librangefinder.so", text)

    def test_a_library_that_is_another(self):
        other = self.run_program("import ctypes, _ctypes; print(_ctypes.__file__)").strip()
        text = self.run_program("import rangefinder", status=1, RANGEFINDER_LIBRARY=other)
        self.assertIn("another library", text)

    def test_without_the_variable(self):
        package = self.folder / "rangefinder"
        shutil.copytree(os.path.dirname(rangefinder.__file__), package)
        environment = {"RANGEFINDER_LIBRARY": "", "PYTHONPATH": str(self.folder)}
        text = self.run_program("import rangefinder", status=1, **environment)
        for place in (package / "_prefix/lib/librangefinder.so.0", sys.prefix + "/lib/librangefinder.so.0", "RANGEFINDER_LIBRARY"):
            self.assertIn(str(place), text)
        (package / "_prefix/lib").mkdir(parents=True)
        os.symlink(os.environ["RANGEFINDER_LIBRARY"], package / "_prefix/lib/librangefinder.so.0")
        found = self.run_program("import rangefinder; print(rangefinder._abi.library._name)", **environment)
        self.assertEqual(found, f"{package}/_prefix/lib/librangefinder.so.0\n")


if __name__ == "__main__":
    unittest.main()
