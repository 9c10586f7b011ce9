# SPDX-License-Identifier: MIT
"""_abi.py and the headers of rangefinder/c say the same."""
import ctypes
import dataclasses
import inspect
import os
import pathlib
import re
import subprocess
import unittest

import support

from rangefinder import _abi, _version
import rangefinder

SOURCE = pathlib.Path(os.environ["RANGEFINDER_TEST_SOURCE"])
FOLDER = SOURCE / "include/rangefinder/c"
PARTS = re.findall(r"^#include <rangefinder/c/(\w+\.h)>", (FOLDER / "rangefinder.h").read_text(), re.M)
CODE, TORCH_CODE = (re.sub(r"//[^\n]*", "", "".join((FOLDER / name).read_text() for name in names))
                    for names in (PARTS, ["torch.h"]))

TYPES = {
    "void": None, "bool": ctypes.c_bool, "size_t": ctypes.c_size_t, "int32_t": ctypes.c_int32,
    "int64_t": ctypes.c_int64, "uint32_t": ctypes.c_uint32, "uint64_t": ctypes.c_uint64, "rf_name": ctypes.c_uint32,
    "rf_category": ctypes.c_uint32, "rf_range_handle": ctypes.c_uint64, "rf_status": ctypes.c_int,
    "const char*": ctypes.c_char_p, "const char* const*": ctypes.POINTER(ctypes.c_char_p), "void*": ctypes.c_void_p,
    "bool*": ctypes.POINTER(ctypes.c_bool),
    "int64_t*": ctypes.POINTER(ctypes.c_int64), "uint64_t*": ctypes.POINTER(ctypes.c_uint64),
    "rf_value": _abi.Value, "rf_suspended_range": _abi.SuspendedRange,
}
for name in ("rf_text", "rf_session", "rf_health", "rf_summary", "rf_gate", "rf_key_averages", "rf_capture", "rf_doctor", "rf_query", "rf_rows",
             "rf_operator_recording", "rf_collective_recording", "rf_memory_recording"):
    TYPES[name + "*"] = ctypes.c_void_p
    TYPES[name + "**"] = ctypes.POINTER(ctypes.c_void_p)
for name, struct in _abi.STRUCTS.items():
    TYPES[name + "*"] = ctypes.POINTER(struct)


def python_type(text):
    text = " ".join(text.split())
    return TYPES[text if text in TYPES else text.replace("const ", "")]


def functions(code):
    """name: (result, arguments), as ctypes has them."""
    for result, name, arguments in re.findall(r"^RF_API ([^;#]*?)\b(rf_\w+)\(([^;]*)\) RF_(?:NOEXCEPT|CALLS_BACK);", code, re.M):
        words = [] if arguments.strip() == "void" else arguments.split(",")
        yield name, (python_type(result), [python_type(re.sub(r"\w+\s*$", "", word)) for word in words])


def structs():
    """name: members in order."""
    for name, body in re.findall(r"^typedef struct (rf_\w+) \{\n(.*?)^\} \1;", CODE + TORCH_CODE, re.M | re.S):
        body = re.sub(r"union \{.*?\} (\w+);", r"union \1;", body, flags=re.S)
        yield name, [re.search(r"\(\*(\w+)\)|(\w+)(?:\[\d+\])?\s*$", member).group(1, 2)
                     for member in body.split(";") if member.strip()]


class Header(unittest.TestCase):
    def test_functions(self):
        for code, bound, least in ((CODE, _abi.FUNCTIONS, 45), (TORCH_CODE, _abi.TORCH_FUNCTIONS, 12)):
            declared = dict(functions(code))
            self.assertEqual(len(declared), len(re.findall(r"\) RF_(?:NOEXCEPT|CALLS_BACK);", code)))
            self.assertGreaterEqual(len(declared), least)
            self.assertEqual(set(declared) - set(bound), set(), "in the header, not bound")
            self.assertEqual(set(bound) - set(declared), set(), "bound, not in the header")
            for name, signature in declared.items():
                self.assertEqual(bound[name], signature, name)

    def test_enumerations(self):
        declared = dict(re.findall(r"^typedef enum (rf_\w+) \{(.*?)\}", CODE, re.M | re.S))
        self.assertEqual(set(declared), set(_abi.ENUMERATIONS))
        for name, body in declared.items():
            words = [(word, int(number)) for word, number in re.findall(r"(\w+) = (\d+)", body)]
            ours = [(member.name, int(member)) for member in _abi.ENUMERATIONS[name]]
            prefix = os.path.commonprefix([word for word, _ in words])
            prefix = prefix[:prefix.rindex("_") + 1]
            self.assertEqual([(word[len(prefix):], number) for word, number in words], ours, name)

    def test_version_of_the_interface(self):
        self.assertEqual(int(re.search(r"#define RF_ABI_VERSION (\d+)", CODE)[1]), _abi.ABI_VERSION)

    def test_members(self):
        declared = {name: [a or b for a, b in members] for name, members in structs()}
        self.assertEqual(set(declared), set(_abi.STRUCTS))
        for name, members in declared.items():
            self.assertEqual(members, [field[0] for field in _abi.STRUCTS[name]._fields_], name)

    def test_layout(self):
        """Sizes and offsets of what a C compiler makes of the header."""
        lines = []
        for name, struct in _abi.STRUCTS.items():
            lines.append(f'printf("{name} %zu\\n", sizeof({name}));')
            for field in struct._fields_:
                place = f"{name}.{field[0]}"
                lines.append(f'printf("{place} %zu %zu\\n", offsetof({name}, {field[0]}), '
                             f'sizeof((({name}*)0)->{field[0]}));')
        program = ('#include <rangefinder/c/torch.h>\n#include <stdio.h>\nint main(void) {\n' + "\n".join(lines) +
                   "\nreturn 0;\n}\n")
        folder = support.tempfile.mkdtemp(prefix="rangefinder-python-")
        self.addCleanup(support.shutil.rmtree, folder)
        subprocess.run([os.environ["RANGEFINDER_TEST_CXX"], "-x", "c", "-std=c11", f"-I{SOURCE}/include", "-", "-o",
                        folder + "/layout"], input=program, text=True, check=True)
        theirs = subprocess.run([folder + "/layout"], stdout=subprocess.PIPE, text=True, check=True).stdout.split("\n")
        ours = []
        for name, struct in _abi.STRUCTS.items():
            ours.append(f"{name} {ctypes.sizeof(struct)}")
            for field in struct._fields_:
                member = getattr(struct, field[0])
                ours.append(f"{name}.{field[0]} {member.offset} {member.size}")
        self.assertEqual(theirs, ours + [""])
        self.assertGreater(len(ours), 100)

    def test_version_of_the_project(self):
        self.assertEqual(_version.__version__, os.environ["RANGEFINDER_TEST_VERSION"])
        self.assertEqual(rangefinder.__version__, _abi.library.rf_version().decode())

    def test_options_are_those_of_the_structs(self):
        for call, struct, besides in (
            (rangefinder.Session.__init__, "rf_session_options", {"self"}),
            (rangefinder.report, "rf_report_options", {"input"}),
            (rangefinder.export_chrome_trace, "rf_chrome_options", {"input", "output"}),
            (rangefinder.export_perfetto_trace, "rf_perfetto_options", {"input", "output"}),
            (rangefinder.torch.OperatorRecording.__init__, "rf_operator_options", {"self"}),
            (rangefinder.torch.CollectiveRecording.__init__, "rf_collective_options", {"self"}),
            (rangefinder.torch.MemoryRecording.__init__, "rf_memory_options", {"self"}),
        ):
            wanted = {field[0] for field in _abi.STRUCTS[struct]._fields_}
            wanted -= {"struct_size", "reserved", "metadata_count", "on_capture_ready_user", "progress_user"}
            self.assertEqual(set(inspect.signature(call).parameters), wanted | besides, struct)
        for kind, struct in ((rangefinder.SummaryRow, "rf_summary_row"), (rangefinder.HealthEntry, "rf_health_entry"),
                             (rangefinder.CaptureReady, "rf_capture_ready"), (rangefinder.ChromeReport, "rf_chrome_report"),
                             (rangefinder.PerfettoReport, "rf_perfetto_report"), (rangefinder.HtmlReport, "rf_html_report"),
                             (rangefinder.torch.HostMemory, "rf_host_memory"), (rangefinder.OperatorGroup, "rf_operator_group"),
                             (rangefinder.CaptureContent, "rf_capture_content"), (rangefinder.DoctorFinding, "rf_doctor_finding"),
                             (rangefinder.CaptureFinding, "rf_capture_finding")):
            self.assertEqual([field.name for field in dataclasses.fields(kind)], [field[0] for field in _abi.STRUCTS[struct]._fields_][1:], struct)


if __name__ == "__main__":
    unittest.main()
