# SPDX-License-Identifier: MIT
"""Every option of the declaration, from an argument of Session through C and C++ to the text of a configuration."""
import ctypes
import inspect
import os
import pathlib
import signal
import sys
import unittest

import support

if sys.version_info < (3, 11):
    support.skip("the declaration is read with Python 3.11")

SOURCE = pathlib.Path(os.environ["RANGEFINDER_TEST_SOURCE"])
sys.path.insert(0, str(SOURCE / "scripts"))
import option_declaration  # noqa: E402

from rangefinder import _abi  # noqa: E402
import rangefinder  # noqa: E402

DECLARATION = option_declaration.Declaration((SOURCE / option_declaration.DECLARATION).read_text())


def argument_of(option):
    """A value that is not the default: as an argument, and as it stands in a configuration."""
    if option.kind == "text":
        return "some text", "some text"
    if option.kind == "list":
        return ["one", "two"], option.separator.join(["one", "two"])
    if option.kind == "switch":
        return not option.default, "off" if option.default else "on"
    if option.kind == "choice":
        word = option.enum.words[-1]
        return word, word
    if option.kind == "signal":
        return int(signal.SIGUSR1), "USR1"
    number = option.default + 1
    if option.kind == "size":
        number = option.default + (1 << 20)
        return number, f"{number >> 20}MiB"
    return number, f"{number}{option.unit}"  # the unit of what is no time is empty


def text_of(**arguments):
    options = _abi.options("rf_session_options", arguments)
    text = ctypes.c_void_p()
    _abi.check(_abi.library.rf_session_options_text(ctypes.byref(options), ctypes.byref(text)))
    return _abi.take_text(text)


class Options(support.TestCase):
    def test_every_argument_reaches_the_configuration(self):
        for option in DECLARATION.configured:
            value, text = argument_of(option)
            if option.kind == "list":
                value = _abi.joined(option.c_name, value)
            with self.subTest(option.key):
                self.assertEqual(text_of(**{option.c_name: value}), f"{option.key}={text}")
                self.assertEqual(text_of(config=f"{option.key}={text}"), f"{option.key}={text}")
        self.assertEqual(text_of(), "")

    def test_every_default_is_that_of_the_library(self):
        options = _abi.options("rf_session_options", {})
        numbers = [option for option in DECLARATION.configured if option.is_number]
        self.assertGreater(len(numbers), 35)
        for option in numbers:
            self.assertEqual(getattr(options, option.c_name), option.default, option.key)

    def test_every_limit_is_named(self):
        named = 0
        for option in DECLARATION.configured:
            if option.is_number and option.kind not in ("switch", "choice") and option.least > 0:
                with self.subTest(option.key), self.assertRaises(rangefinder.Error) as refused:
                    rangefinder.Session(self.capture, **{option.c_name: option.least - 1})
                self.assertEqual(refused.exception.code, rangefinder.Status.INVALID_ARGUMENT)
                self.assertIn(f"{option.c_name}: {option.least - 1} is not {option.c_wanted}", str(refused.exception))
                named += 1
        self.assertGreater(named, 3)

    def test_arguments_have_a_line_of_help(self):
        names = set(inspect.signature(rangefinder.Session.__init__).parameters) - {"self"}
        self.assertEqual(names, {option.c_name for option in DECLARATION.options} | {"config"})
        for name in names:
            self.assertRegex(rangefinder.Session.__init__.__doc__, rf"(?m)^ +{name}: ")

    def test_lists_are_lists_or_texts(self):
        for names in (["one", "two"], ("one", "two"), "one+two"):
            self.assertEqual(_abi.joined("counters", names), "one+two")
        self.assertEqual(_abi.joined("counter_ranges", ["a+b", "c"]), "a+b|c")
        self.assertEqual(_abi.joined("counters", []), "")
        for names in (["one+two"], [""]):
            with self.assertRaisesRegex(ValueError, "counters: "):
                rangefinder.Session(self.capture, counters=names)
        with rangefinder.Session(self.capture, counter_ranges=["layer*", "step"], config="cuda=off"):
            pass
        self.assertEqual(self.counts(), {})


if __name__ == "__main__":
    unittest.main()
