# SPDX-License-Identifier: MIT
import asyncio
import inspect
import pickle
import threading
import unittest

import support

import rangefinder


class Ranges(support.TestCase):
    def record(self, function):
        with rangefinder.Session(self.capture) as session:
            function()
        self.assertTrue(session.health().complete, session.health())
        return self.counts()

    def test_they_nest_and_count(self):
        def work():
            for _ in range(3):
                with rangefinder.range("step"), rangefinder.range("forward"):
                    pass
            with rangefinder.range("forward"):
                pass

        self.assertEqual(self.record(work), {"step": 3, "step/forward": 3, "forward": 1})

    def test_one_is_kept_for_a_name_and_may_be_entered_again(self):
        again = rangefinder.range("again")
        self.assertIs(again, rangefinder.range("again"))

        def work():
            with again:
                with again:
                    pass

        self.assertEqual(self.record(work), {"again": 1, "again/again": 1})

    def test_one_that_was_pickled_has_its_name_in_another_process(self):
        (self.folder / "pickled").write_bytes(pickle.dumps([rangefinder.range("plain"), rangefinder.range("with", "data", 7)]))
        self.run_program("""
import pickle, rangefinder, sys
for number in range(100):
    rangefinder.range(f"other names {number}")
with rangefinder.Session(sys.argv[1]):
    for marked in pickle.load(open("pickled", "rb")):
        with marked:
            pass
""")
        self.assertEqual(self.counts(), {"plain": 1, "with": 1})
        events = {event["name"]: event.get("args") for event in self.trace() if event.get("cat") == "user_annotation"}
        self.assertEqual((events["with"]["category"], events["with"]["payload"]), ("data", 7))

    def test_an_exception_closes_them(self):
        def work():
            for name in ("first", "second"):
                with self.assertRaises(KeyError):
                    with rangefinder.range(name), rangefinder.range("inner"):
                        raise KeyError(name)

        self.assertEqual(self.record(work), {"first": 1, "first/inner": 1, "second": 1, "second/inner": 1})

    def test_category_and_value_travel_with_them(self):
        def work():
            for value in (7, -7, 0.5, "seven"):
                with rangefinder.range("loaded", "data", value):
                    pass
            with rangefinder.range("bare", category="data"):
                pass

        self.record(work)
        seen = [event["args"] for event in self.trace() if event.get("cat") == "user_annotation"]
        self.assertEqual([arguments.get("payload") for arguments in seen], [7, -7, 0.5, "seven", None])
        self.assertEqual({arguments.get("category") for arguments in seen}, {"data"})

    def test_threads_have_their_own(self):
        shared = rangefinder.range("shared")

        def body():
            for _ in range(500):
                with rangefinder.range("outer"), shared:
                    pass

        def work():
            threads = [threading.Thread(target=body) for _ in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()

        self.assertEqual(self.record(work), {"outer": 2000, "outer/shared": 2000})

    def test_any_text_is_a_name(self):
        names = ["", "größe", "層", "a\0b", "\ud800", "x" * 20000, "a/b"]

        def work():
            for name in names:
                with rangefinder.range(name):
                    pass
            with rangefinder.range("with", category="a\0b", value="\ud800"):
                pass

        with rangefinder.Session(self.capture):
            work()
        seen = {event["name"] for event in self.trace() if event.get("cat") == "user_annotation"}
        for name in ("größe", "層", "a\\x00b", "\\ud800", "a/b", "with"):
            self.assertIn(name, seen)
        self.assertEqual(len(seen), len(names) + 1)

    def test_what_is_no_name_or_value_is_refused(self):
        for wrong in (3, None, b"bytes", ["list"]):
            with self.assertRaises(TypeError):
                rangefinder.range(wrong)
            with self.assertRaises(TypeError):
                rangefinder.range(wrong, "category")
            for call in (rangefinder.mark, rangefinder.start_range, rangefinder.push_range, lambda name: rangefinder.counter(name, 1),
                         lambda name: rangefinder.Range(name),
                         lambda name: rangefinder.range("x", category=name) if name is not None else rangefinder.mark(name)):
                with self.assertRaises(TypeError):
                    call(wrong)
            if wrong != 3:
                with self.assertRaises(TypeError):
                    rangefinder.end_range(wrong)
        for wrong in ([], object(), b"bytes"):
            with self.assertRaises(TypeError):
                rangefinder.range("x", value=wrong)
        with self.assertRaises(OverflowError):
            rangefinder.range("x", value=1 << 64)

    def test_push_and_pop_and_what_an_interrupt_left_open(self):
        def work():
            rangefinder.push_range("outer")
            depth = rangefinder.range_depth()
            self.assertEqual(depth, 1)
            rangefinder.push_range("left")
            rangefinder.range("left too").__enter__()
            rangefinder.pop_ranges_to(depth)
            rangefinder.push_range("inner")
            rangefinder.pop_range()
            rangefinder.pop_range()
            rangefinder.pop_range()  # one too many does nothing
            rangefinder.push_range("next")
            rangefinder.pop_range()
            with self.assertRaises(OverflowError):
                rangefinder.pop_ranges_to(-1)

        self.assertEqual(self.record(work), {"outer": 1, "outer/left": 1, "outer/left/left too": 1, "outer/inner": 1,
                                             "next": 1})

    def test_marks_counters_and_ranges_that_end_elsewhere(self):
        def work():
            rangefinder.mark("began")
            rangefinder.mark("said", "hello")
            rangefinder.counter("loss", 0.25)
            rangefinder.counter("queue", 3)
            handle = rangefinder.start_range("request", "serving")
            self.assertNotEqual(handle, 0)
            thread = threading.Thread(target=rangefinder.end_range, args=(handle,))
            thread.start()
            thread.join()

        self.record(work)
        events = self.trace()
        names = {event["name"]: event for event in events}
        self.assertEqual(names["said"]["args"]["payload"], "hello")
        self.assertIn("began", names)
        self.assertEqual([names[name]["ph"] for name in ("loss", "queue", "request")], ["C", "C", "X"])
        self.assertEqual(rangefinder.start_range("nothing records"), 0)
        rangefinder.end_range(0)
        for wrong in ("text", None):
            with self.assertRaises(TypeError):
                rangefinder.counter("loss", wrong)


class Decorators(support.TestCase):
    record = Ranges.record

    def test_functions(self):
        @rangefinder.range
        def named():
            "says so"
            return 1

        @rangefinder.range("given", value=3)
        def given(depth):
            return depth if depth == 0 else given(depth - 1)

        class Model:
            @rangefinder.range("method")
            def forward(self, x):
                return x + 1

            @staticmethod
            @rangefinder.range("static")
            def make():
                return 2

        self.assertEqual((named.__name__, named.__doc__), ("named", "says so"))
        own = named.__qualname__

        def work():
            self.assertEqual((named(), given(2), Model().forward(1), Model.make()), (1, 0, 2, 2))

        self.assertEqual(self.record(work), {own: 1, "given": 1, "given/given": 1, "given/given/given": 1, "method": 1,
                                             "static": 1})

    def test_generators_have_a_range_for_each_stretch(self):
        @rangefinder.range("load")
        def load():
            received = []
            try:
                for i in range(2):
                    with rangefinder.range("decode"):
                        pass
                    received.append((yield i))
            except ValueError:
                yield "thrown"
            finally:
                with rangefinder.range("cleanup"):
                    pass
            return received

        self.assertTrue(inspect.isgeneratorfunction(load))

        def work():
            for _ in load():
                with rangefinder.range("consume"):
                    pass
            running = load()
            self.assertEqual((next(running), running.send("a")), (0, 1))
            with self.assertRaises(StopIteration) as stopped:
                running.send("b")
            self.assertEqual(stopped.exception.value, ["a", "b"])
            running = load()
            next(running)
            self.assertEqual(running.throw(ValueError()), "thrown")
            running.close()
            running = load()
            next(running)
            del running

        counts = self.record(work)
        self.assertEqual(counts["consume"], 2)
        self.assertEqual(counts["load"], 3 + 3 + 3 + 2)
        self.assertEqual(counts["load/decode"], 2 + 2 + 1 + 1)
        self.assertEqual(counts["load/cleanup"], 4)
        self.assertEqual(set(counts), {"load", "load/decode", "load/cleanup", "consume"})

    def test_coroutines_that_interleave_own_what_they_run(self):
        async def one(name):
            @rangefinder.range(name)
            async def body():
                for _ in range(3):
                    with rangefinder.range("part of " + name):
                        pass
                    await asyncio.sleep(0)
                return name

            self.assertTrue(inspect.iscoroutinefunction(body))
            return await body()

        async def both():
            self.assertEqual(await asyncio.gather(one("a"), one("b")), ["a", "b"])

        counts = self.record(lambda: asyncio.run(both()))
        self.assertEqual(counts, {"a": 1, "a/part of a": 3, "b": 1, "b/part of b": 3})

    def test_a_coroutine_that_is_cancelled_or_fails_closes_its_range(self):
        @rangefinder.range("waits")
        async def waits(error=None):
            if error:
                raise error
            await asyncio.sleep(3600)

        async def cancel():
            task = asyncio.ensure_future(waits())
            await asyncio.sleep(0)
            task.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await task
            with self.assertRaises(KeyError):
                await waits(KeyError())
            with rangefinder.range("after"):
                pass

        self.assertEqual(self.record(lambda: asyncio.run(cancel())), {"waits": 2, "after": 1})

    def test_what_cannot_be_marked_is_refused(self):
        async def several():
            yield 1

        class Thing:
            pass

        for wrong in (several, Thing, staticmethod(len), 3):
            with self.assertRaises(TypeError):
                rangefinder.range("x")(wrong)


if __name__ == "__main__":
    unittest.main()
