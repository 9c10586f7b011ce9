# SPDX-License-Identifier: MIT
import contextlib
import copy
import io
import os
import pathlib
import pickle
import re
import subprocess
import sys
import threading
import unittest
import warnings

import support

import rangefinder

if "torch" in sys.modules:
    sys.exit("importing rangefinder imports torch")
try:
    warnings.filterwarnings("ignore", message="Failed to initialize NumPy")
    import torch
    import torch.utils.checkpoint
    import torch.utils.data
except ImportError as error:
    support.skip(f"torch cannot be imported: {error}")
if "RANGEFINDER_TORCH_LIBRARY" not in os.environ:
    support.skip("built without the component for LibTorch")
if torch.__version__.split("+")[0] != os.environ["RANGEFINDER_TEST_TORCH"].split("+")[0]:
    support.skip(f"torch is {torch.__version__}, and what was built is for {os.environ['RANGEFINDER_TEST_TORCH']}")
if not hasattr(torch.compiler, "is_dynamo_compiling"):
    support.skip(f"torch {torch.__version__} is too old")


class Fails(torch.nn.Module):
    def forward(self, x):
        raise ValueError("in forward")


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = torch.nn.Linear(8, 8)
        self.layers = torch.nn.ModuleList(torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.ReLU()) for _ in range(2))
        self.tied = self.embed

    def forward(self, x):
        x = self.embed(x)
        for layer in self.layers:
            x = layer(x)
        return x.sum()


WHOLE = {"Model": 1, "Model/embed": 1, "Model/layers.0": 1, "Model/layers.0/layers.0.0": 1, "Model/layers.0/layers.0.1": 1,
         "Model/layers.1": 1, "Model/layers.1/layers.1.0": 1, "Model/layers.1/layers.1.1": 1}


class Modules(support.TestCase):
    def record(self, model, *arguments):
        with rangefinder.Session(self.capture):
            model(*arguments)
        return self.counts()

    def test_each_is_a_range_by_its_name_until_removed(self):
        model, x = Model(), torch.ones(2, 8)
        marked = rangefinder.torch.mark_modules(model)
        self.assertEqual(marked.names[:3], ["Model", "embed", "layers"])
        self.assertEqual(self.record(model, x), WHOLE)
        marked.remove()
        marked.remove()
        self.assertEqual(self.record(model, x), {})
        self.assertFalse(any(module._forward_hooks or module._forward_pre_hooks for module in model.modules()))

    def test_torch_profiler_beside_a_session_and_after_its_release(self):
        model, x = Model(), torch.ones(2, 8)
        with rangefinder.Session(self.capture) as session:
            for release in (False, True):
                if release:
                    session.release_cupti()
                activities = [torch.profiler.ProfilerActivity.CPU]
                with rangefinder.range("step"), torch.profiler.profile(activities=activities) as profiler:
                    model(x)
                self.assertIn("aten::linear", {group.key for group in profiler.key_averages()})
        self.assertEqual(self.counts(), {"step": 2})
        self.assertTrue(rangefinder.inspect(self.capture, deep=True).ended_cleanly)

    def test_an_interrupt_leaves_no_range_open(self):
        model, x = Model(), torch.ones(2, 8)
        rangefinder.torch.mark_modules(model)
        interrupt = lambda *arguments: (_ for _ in ()).throw(KeyboardInterrupt)
        for around in (True, False):
            with self.subTest(around=around), rangefinder.Session(self.capture):
                hook = model.layers[1][0].register_forward_pre_hook(interrupt)
                with self.assertRaises(KeyboardInterrupt):
                    with rangefinder.range("step") if around else contextlib.nullcontext():
                        model(x)
                hook.remove()
                model(x)
            counts = self.counts()
            self.assertEqual({path: count for path, count in counts.items() if path.startswith("step/Model/step")}, {})
            wanted = dict(WHOLE) if around else {path: count + (path != "Model/layers.1/layers.1.1") for path, count in WHOLE.items()}
            self.assertEqual({path: count for path, count in counts.items() if path.startswith("Model")}, wanted)

    def test_an_interrupt_that_a_forward_catches(self):
        class Catches(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.inner, self.after = torch.nn.Linear(8, 8), torch.nn.ReLU()

            def forward(self, x):
                try:
                    self.inner(x)
                except KeyboardInterrupt:
                    pass
                return self.after(x)

        class Interrupted(torch.nn.Module):
            def forward(self, x):
                raise KeyboardInterrupt

        model = torch.nn.Sequential(Catches(), torch.nn.ReLU())
        model[0].inner = Interrupted()
        rangefinder.torch.mark_modules(model)
        with rangefinder.Session(self.capture):
            for _ in range(2):
                model(torch.ones(2, 8))
        self.assertEqual(self.counts()["Sequential"], 2)
        self.assertEqual(self.counts()["Sequential/1"], 2)

    def test_a_module_that_calls_itself_keeps_its_ranges(self):
        class Recursive(torch.nn.Module):
            def forward(self, x, depth=2):
                return self(x, depth - 1) if depth else x

        model = Recursive()
        rangefinder.torch.mark_modules(model)
        with rangefinder.Session(self.capture):
            model(torch.ones(1))
        self.assertEqual(self.counts(), {"Recursive": 1, "Recursive/Recursive": 1, "Recursive/Recursive/Recursive": 1})

    def test_depth_and_prefix(self):
        model = Model()
        with rangefinder.torch.mark_modules(model, depth=0, prefix="student."):
            self.assertEqual(self.record(model, torch.ones(2, 8)), {"student.Model": 1})
        with rangefinder.torch.mark_modules(model, depth=1):
            self.assertEqual(self.record(model, torch.ones(2, 8)), {"Model": 1, "Model/embed": 1})

    def test_an_exception_in_forward_closes_them(self):
        model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Sequential(Fails()))
        rangefinder.torch.mark_modules(model)

        def run(x):
            with self.assertRaises(ValueError):
                model(x)
            with rangefinder.range("after"):
                pass

        self.assertEqual(self.record(run, torch.ones(1, 2)), {
            "Sequential": 1, "Sequential/0": 1, "Sequential/1": 1, "Sequential/1/1.0": 1, "after": 1})

    def test_an_exception_in_a_hook_of_the_program_closes_them(self):
        model = torch.nn.Linear(2, 2)

        def refuses(module, arguments):
            raise ValueError

        rangefinder.torch.mark_modules(model)
        for register in (lambda: model.register_forward_pre_hook(refuses),
                         lambda: model.register_forward_hook(lambda module, arguments, result: refuses(module, result))):
            hook = register()

            def run(x):
                with self.assertRaises(ValueError):
                    model(x)
                with rangefinder.range("after"):
                    pass

            self.assertEqual(self.record(run, torch.ones(1, 2)), {"Linear": 1, "after": 1})
            hook.remove()

    def test_a_hook_ahead_of_ours_that_raises_closes_no_range_of_the_program(self):
        model = torch.nn.Sequential(torch.nn.Linear(2, 2))

        def refuses(module, arguments):
            if isinstance(module, torch.nn.Linear):
                raise ValueError

        rangefinder.torch.mark_modules(model)

        def run(x):
            with rangefinder.range("step"):
                with self.assertRaises(ValueError):
                    model(x)
                with self.assertRaises(ValueError):
                    model[0](x)
                with rangefinder.range("after"):
                    pass

        for register in (torch.nn.modules.module.register_module_forward_pre_hook,
                         lambda hook: model[0].register_forward_pre_hook(hook, prepend=True)):
            hook = register(refuses)
            self.assertEqual(self.record(run, torch.ones(1, 2)), {"step": 1, "step/Sequential": 1, "step/after": 1})
            hook.remove()

    def test_a_marked_model_inside_of_one_of_its_class(self):
        class Student(torch.nn.Module):
            def __init__(self, teacher=None):
                super().__init__()
                self.first, self.last, self.hidden = torch.nn.Linear(2, 2), torch.nn.Linear(2, 2), [teacher]

            def forward(self, x):
                x = self.first(x)
                if self.hidden[0] is not None:
                    self.hidden[0](x)
                return self.last(x)

        teacher = Student()
        student = Student(teacher)
        for model in (teacher, student):
            rangefinder.torch.mark_modules(model)

        def run(x):
            with rangefinder.range("step"):
                student(x)

        self.assertEqual(self.record(run, torch.ones(1, 2)), {
            "step": 1, "step/Student": 1, "step/Student/first": 1, "step/Student/last": 1, "step/Student/Student": 1,
            "step/Student/Student/first": 1, "step/Student/Student/last": 1})

    def test_marking_twice(self):
        model = Model()
        rangefinder.torch.mark_modules(model)
        with self.assertRaisesRegex(ValueError, "'Model' is marked already"):
            rangefinder.torch.mark_modules(model)
        self.assertEqual(self.record(model, torch.ones(2, 8)), WHOLE)
        with rangefinder.torch.mark_modules(model, prefix="again.", depth=0):
            counts = self.record(model, torch.ones(2, 8))
        self.assertEqual(counts, {"again.Model": 1, **{"again.Model/" + path: 1 for path in WHOLE}})
        rangefinder.torch.unmark_modules(model)
        self.assertEqual(self.record(model, torch.ones(2, 8)), {})
        self.assertFalse(model._forward_hooks_always_called)

    def test_copies_and_pickles_keep_them(self):
        model = Model()
        rangefinder.torch.mark_modules(model)
        for other in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
            self.assertEqual(self.record(other, torch.ones(2, 8)), WHOLE)

    def test_threads(self):
        model = Model()
        rangefinder.torch.mark_modules(model)

        def run():
            threads = [threading.Thread(target=model, args=(torch.ones(2, 8),)) for _ in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()

        self.assertEqual(self.record(run), {path: 4 for path in WHOLE})

    def test_activation_checkpointing(self):
        model = Model()
        rangefinder.torch.mark_modules(model)

        def run(x):
            loss = torch.utils.checkpoint.checkpoint(model, x, use_reentrant=False)
            with rangefinder.range("backward"):
                loss.backward()
            with rangefinder.range("after"):
                pass

        counts = self.record(run, torch.ones(2, 8, requires_grad=True))
        self.assertEqual(counts["Model/layers.1/layers.1.1"], 1)
        self.assertEqual(counts["backward/Model/layers.0/layers.0.0"], 1)  # recomputed
        self.assertEqual(counts["after"], 1)

    def test_compiled_models_run(self):
        model = Model()
        rangefinder.torch.mark_modules(model)
        compiled = torch.compile(model, backend="eager", fullgraph=True)

        def run(x):
            self.assertTrue(torch.equal(compiled(x), compiled._orig_mod(x)))

        counts = self.record(run, torch.ones(2, 8))
        self.assertEqual({path: counts.get(path) for path in WHOLE}, WHOLE)

    def test_ranges_inside_of_compiled_code(self):
        @rangefinder.range("twice")
        def twice(x):
            return x * 2

        @torch.compile(backend="eager")
        def run(x):
            with rangefinder.range("more"):
                y = x + 1
            return twice(y)

        def work():
            for _ in range(3):
                self.assertEqual(run(torch.ones(1)).item(), 4)

        self.assertEqual(self.record(work), {"more": 3, "twice": 3})

    def test_dataloader_workers(self):
        class Squares(torch.utils.data.Dataset):
            def __len__(self):
                return 8

            @rangefinder.range("fetch")
            def __getitem__(self, index):
                return index * index

        def run():
            for workers in (0, 2):
                with rangefinder.range(f"workers {workers}"):
                    seen = [int(x) for x in torch.utils.data.DataLoader(Squares(), batch_size=None, num_workers=workers)]
                self.assertEqual(seen, [index * index for index in range(8)])

        self.assertEqual(self.record(run), {"workers 0": 1, "workers 0/fetch": 8, "workers 2": 1})


class HowTo(support.TestCase):
    def test_the_loop_of_the_documentation_runs(self):
        page = pathlib.Path(os.environ["RANGEFINDER_TEST_SOURCE"], "docs/how-to/use-from-python.md").read_text()
        loop = re.search(r"```python\n(.*?)```", page, re.S)[1]
        model = torch.nn.Linear(4, 1)
        names = {"model": model, "loader": [(torch.ones(2, 4), torch.ones(2, 1))] * 3, "loss_of": torch.nn.MSELoss(),
                 "optimizer": torch.optim.SGD(model.parameters(), 0.1)}
        os.chdir(self.folder)
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            exec(loop, names)
        self.assertRegex(printed.getvalue(), r"(?m)^step +3 .*\n +Linear +3 .*\n +backward +3 .*\n +optimizer +3 ")
        self.assertTrue((self.folder / "train.pt.trace.json.gz").exists())


class Recordings(support.TestCase):
    def test_operators_are_those_of_torch_profiler(self):
        x = torch.ones(2, 8)
        Model()(x).backward()  # what is done once in a process
        model = Model()
        with torch.profiler.profile() as profiler:
            with torch.profiler.record_function("scope"):
                model(x).backward()
        model.zero_grad()
        theirs = {event.key: event.count for event in profiler.key_averages() if not event.key.startswith("ProfilerStep")}
        with rangefinder.Session(self.capture), rangefinder.torch.OperatorRecording(shapes=True) as operators:
            with torch.profiler.record_function("scope"):
                model(x).backward()
            operators.stop()
            operators.stop()
            model(x)
        rows = support.rows_of(rangefinder.report(self.capture, "ops", format="json"))
        self.assertEqual(theirs.pop("scope"), 1)  # a range made by rangefinder
        self.assertEqual({row["operator"]: row["calls"] for row in rows}, theirs)
        self.assertIn("aten::addmm", theirs)
        self.assertEqual(self.counts(), {"scope": 1})
        by_shape = rangefinder.report(self.capture, "ops", by_shape=True, format="json")
        self.assertIn("[2,8]", by_shape)

    def test_operators_are_recorded_as_asked(self):
        model, x = Model(), torch.ones(2, 8)
        with rangefinder.Session(self.capture), rangefinder.torch.OperatorRecording(sampling=0.0, user_scopes=False):
            with torch.profiler.record_function("scope"):
                model(x)
        self.assertEqual(self.counts(), {})
        with self.assertRaises(rangefinder.Error) as failed:
            rangefinder.torch.OperatorRecording(sampling=1.5)
        self.assertEqual(failed.exception.code, rangefinder.Status.INVALID_ARGUMENT)
        self.assertIn("sampling: 1.5", failed.exception.message)

    def test_collectives(self):
        if not torch.distributed.is_available() or not torch.distributed.is_gloo_available():
            self.skipTest("this torch has no Gloo")
        with rangefinder.Session(self.capture), rangefinder.torch.CollectiveRecording() as collectives:
            self.assertEqual(collectives.state, "recorded")
            torch.distributed.init_process_group("gloo", init_method=f"file://{self.folder}/store", rank=0, world_size=1)
            try:
                with rangefinder.range("exchange"):
                    work = torch.distributed.all_reduce(torch.ones(10), async_op=True)
                work.wait()
                torch.distributed.broadcast(torch.ones(3, dtype=torch.int64), src=0)
            finally:
                torch.distributed.destroy_process_group()
        rows = support.rows_of(rangefinder.report(self.capture, "collective_calls", format="json"))
        known = [(row["collective"], row["elements_in"], row["type"], row["group_description"]) for row in rows]
        self.assertIn(("all_reduce", 10, "Float", "default_pg"), known)
        self.assertIn(("broadcast", 3, "Long", "default_pg"), known)
        self.assertIn("exchange", [row["range"] for row in rows])

    def test_memory(self):
        with rangefinder.Session(self.capture) as session:
            with rangefinder.torch.MemoryRecording(cuda=False) as memory:
                self.assertEqual((memory.host_state, memory.cuda_state), ("recorded", "off"))
                rangefinder.torch.reset_host_memory_peak()
                before = rangefinder.torch.host_memory()
                with rangefinder.range("allocate"):
                    kept = torch.empty(1 << 20, dtype=torch.uint8)
                    del_later = torch.empty(1 << 18, dtype=torch.uint8)
                del del_later
                after = rangefinder.torch.host_memory()
                session.step()
        self.assertEqual(after.allocated_bytes - before.allocated_bytes, kept.numel())
        self.assertEqual(after.peak_bytes - before.allocated_bytes, kept.numel() + (1 << 18))
        self.assertEqual(after.allocations - before.allocations, 2)
        rows = support.rows_of(rangefinder.report(self.capture, "memory", format="json"))
        self.assertTrue([row for row in rows if "allocate" in str(row)], rows)

    def test_devices_that_are_not_there(self):
        if torch.cuda.is_available():
            self.skipTest("there is a device")
        for call in (rangefinder.torch.count_device_memory,
                     lambda: rangefinder.torch.memory_snapshot(self.folder / "snapshot.pickle")):
            with self.assertRaises(rangefinder.Error) as failed:
                call()
            self.assertEqual(failed.exception.code, rangefinder.Status.UNSUPPORTED)


class Backward(support.TestCase):
    def test_nodes_are_in_the_module_that_made_them(self):
        rangefinder.torch.enable()
        rangefinder.torch.enable()
        model = Model()
        rangefinder.torch.mark_modules(model)
        with rangefinder.Session(self.capture) as session:
            for _ in range(2):
                loss = model(torch.ones(2, 8))
                with rangefinder.range("backward"):
                    loss.backward()
                session.step()
        events = self.trace()
        slices = [event for event in events if event["ph"] == "X" and event.get("cat") in ("user_annotation", "cpu_op")]
        arrows = {}
        for event in events:
            if event.get("cat") == "fwdbwd":
                arrows.setdefault(event["id"], {})[event["ph"]] = event

        def at(end):
            """The innermost slice around an arrow's end."""
            time_ns = round(end["ts"] * 1000)
            inside = [s for s in slices if s["tid"] == end["tid"] and
                      0 <= time_ns - round(s["ts"] * 1000) < max(round(s["dur"] * 1000), 1)]
            return min(inside, key=lambda s: s["dur"])["name"]

        owners = sorted((at(arrow["f"]), at(arrow["s"])) for arrow in arrows.values())
        self.assertEqual(owners, sorted(2 * [
            ("SumBackward0", "Model"), ("AddmmBackward0", "embed"), ("TBackward0", "embed"),
            ("AddmmBackward0", "layers.0.0"), ("TBackward0", "layers.0.0"), ("ReluBackward0", "layers.0.1"),
            ("AddmmBackward0", "layers.1.0"), ("TBackward0", "layers.1.0"), ("ReluBackward0", "layers.1.1")]))

    def refused(self, **environment):
        with self.assertRaises(subprocess.CalledProcessError) as failed:
            subprocess.run([sys.executable, "-W", "ignore", "-c", "import rangefinder; rangefinder.torch.enable()"],
                           env={**os.environ, **environment}, check=True, stderr=subprocess.PIPE, text=True)
        self.assertIn("ImportError: rangefinder.torch.enable: ", failed.exception.stderr)
        return failed.exception.stderr

    def test_a_component_for_another_torch_is_refused_before_it_is_loaded(self):
        component = pathlib.Path(os.environ["RANGEFINDER_TORCH_LIBRARY"]).read_bytes()
        mark = b"rangefinder component for LibTorch "
        self.assertEqual(component.count(mark), 1)
        other = self.folder / "other.so"
        other.write_bytes(b"not even a library " + mark + b"1.99.0\0 and so on")
        self.assertIn("was built for torch 1.99.0, and this is torch", self.refused(RANGEFINDER_TORCH_LIBRARY=str(other)))

    def test_a_component_that_is_absent_or_something_else(self):
        self.assertIn("cannot be read", self.refused(RANGEFINDER_TORCH_LIBRARY="/nowhere.so"))
        self.assertIn("is not the component", self.refused(RANGEFINDER_TORCH_LIBRARY=os.environ["RANGEFINDER_LIBRARY"]))
        alone = self.folder / "librangefinder.so.0"
        support.shutil.copy(os.environ["RANGEFINDER_LIBRARY"], alone)
        self.assertIn("rangefinder was built without LibTorch",
                      self.refused(RANGEFINDER_TORCH_LIBRARY="", RANGEFINDER_LIBRARY=str(alone)))


if __name__ == "__main__":
    unittest.main()
