# SPDX-License-Identifier: MIT
"""What errors say, in the words of Python."""
import re
import unittest

import support

import rangefinder
from rangefinder import _abi


def named(path):
    """What a dotted name below the package is."""
    found = rangefinder
    for part in path.split("."):
        found = getattr(found, part)
    return found


class Messages(support.TestCase):
    def message(self, call, *arguments, **options):
        with self.assertRaises(rangefinder.Error) as raised:
            call(*arguments, **options)
        self.assertEqual(str(raised.exception), raised.exception.message)
        self.assertNotRegex(raised.exception.message, r"rf_|--\w|::|\bk[A-Z][a-z]")
        return raised.exception.message

    def test_a_second_session(self):
        with rangefinder.Session(self.capture):
            message = self.message(rangefinder.Session, self.capture)
        self.assertTrue(message.startswith("rangefinder.Session: a session runs already in this process"), message)

    def test_files_that_are_there(self):
        with rangefinder.Session(self.capture):
            pass
        there = self.folder / "there.json"
        there.write_text("mine")
        for call in (rangefinder.export_chrome_trace, rangefinder.repair):
            message = self.message(call, self.capture, there)
            self.assertTrue(message.startswith(f"rangefinder.{call.__name__}: {there}: exists already"), message)
            self.assertIn("replace=True", message)
        self.assertEqual(there.read_text(), "mine")

    def test_what_only_a_flight_recorder_has(self):
        with rangefinder.Session(self.capture) as session:
            message = self.message(session.dump)
        self.assertTrue(message.startswith("rangefinder.Session.dump: "), message)
        self.assertIn("mode=ring", message)

    def test_what_a_capture_lacks(self):
        with rangefinder.Session(self.capture):
            pass
        message = self.message(rangefinder.export_memory_snapshot, self.capture, self.folder / "out.json")
        self.assertIn("rangefinder.torch.MemoryRecording", message)

    def test_options_and_files_that_are_wrong(self):
        for options in ({"memory_bytes": 5}, {"config": "bogus=1"}):
            self.assertTrue(self.message(rangefinder.Session, self.capture, **options).startswith("rangefinder.Session: "))
        self.assertTrue(self.message(rangefinder.report, "nowhere").startswith("rangefinder.report: open nowhere: "))
        self.assertTrue(self.message(rangefinder.inspect, __file__).startswith("rangefinder.inspect: "))

    def test_every_function_that_can_fail_has_a_name_in_python(self):
        failing = [name for functions in (_abi.FUNCTIONS, _abi.TORCH_FUNCTIONS)
                   for name, (result, _) in functions.items() if result is _abi.c_int]
        self.assertGreater(len(failing), 30)
        for name in failing:
            path = re.fullmatch(r"rangefinder\.([\w.]+): x", _abi.in_python(f"{name}: x"))
            self.assertTrue(path, name)
            self.assertIsNotNone(named(path[1]), path[1])


class Health(support.TestCase):
    def health(self, **counts):
        with rangefinder.Session(self.capture) as session:
            clean = session.health()
        entries = [rangefinder.HealthEntry(**{**vars(entry), "count": counts.get(entry.name, 0)}) for entry in clean.entries]
        return rangefinder.Health(not any(entry.loss and entry.count for entry in entries), entries)

    def test_of_a_recording_that_lost_nothing(self):
        health = self.health()
        self.assertEqual(str(health), "nothing lost")
        self.assertEqual(repr(health).count("HealthEntry("), len(health.entries))
        self.assertEqual(eval(repr(health), vars(rangefinder)), health)

    def test_what_is_not_zero_is_shown(self):
        lost = self.health(dropped_ranges=1234567, foreign_ends=1)
        self.assertEqual(str(lost).splitlines(), [
            "lost: 1,234,567 ranges dropped: no free block within the memory bound (dropped_ranges)",
            "note: 1 ranges that ended on another thread than they began on (foreign_ends)"])
        self.assertEqual(str(self.health(foreign_ends=2)).splitlines(), [
            "nothing lost", "note: 2 ranges that ended on another thread than they began on (foreign_ends)"])


if __name__ == "__main__":
    unittest.main()
