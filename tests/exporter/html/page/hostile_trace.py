# SPDX-License-Identifier: MIT
"""A trace whose every text does something where it is read as markup, as script or as a path."""
import gzip
import json

#: Each sets window.broken where a browser runs it.
NAMES = [
    "<script>window.broken=1</script>", "</script><script>window.broken=1</script>",
    "<!--<script>window.broken=1//-->", "<img src=x onerror=window.broken=1>", "\"><svg onload=window.broken=1>",
    "'><iframe src=javascript:parent.broken=1>", "javascript:window.broken=1",
    "<a href=javascript:window.broken=1 autofocus onfocus=window.broken=1>x</a>",
    "<style>@import 'http://planted-style.example/';</style>",
    "<link rel=stylesheet href=http://planted-link.example/>", "<base href=http://planted-base.example/>",
    "<meta http-equiv=refresh content=0;url=http://planted-meta.example/>",
    "&lt;script&gt;window.broken=1&lt;/script&gt;", "\\u003cscript\\u003ewindow.broken=1", "${window.broken=1}",
    "{{constructor.constructor('window.broken=1')()}}", "`-window.broken=1-`", "'-window.broken=1-'", "]]><x>", "\\",
    "__proto__", "constructor", "toString", "hasOwnProperty", "", " ", "\u0000\u0007\u001b[31mred",
    "\u202egnirts\u202c", "\u2028\u2029", "\ufeff", "\ud83d\ude00", "\uac00" * 2000, "x" * 70_000, "%s%n%x",
    "../../../../etc/passwd", "-" * 300, "NaN", "1e999",
    "a\r\nContent-Type: text/html\r\n\r\n<script>window.broken=1</script>",
]


def write_hostile_trace(path):
    events = []
    for number, name in enumerate(NAMES):
        begin = number * 100
        events += [
            {"ph": "M", "name": "process_name", "pid": number % 7, "args": {"name": name}},
            {"ph": "M", "name": "thread_name", "pid": 1, "tid": number % 9, "args": {"name": name}},
            {"ph": "X", "cat": "user_annotation", "name": name, "pid": 1, "tid": number % 9, "ts": begin, "dur": 90,
             "args": {name: name}},
            {"ph": "X", "cat": "cpu_op", "name": name, "pid": 1, "tid": number % 9, "ts": begin + 1, "dur": 80,
             "args": {"Input type": [name], "Input Dims": [[2, 2]], "Module Hierarchy": name}},
            {"ph": "X", "cat": "cuda_runtime", "name": name, "pid": 1, "tid": number % 9, "ts": begin + 2, "dur": 5,
             "args": {"correlation": number + 1}},
            {"ph": "X", "cat": "kernel", "name": name, "pid": 0, "tid": 7, "ts": begin + 10, "dur": 50,
             "args": {"correlation": number + 1, "device": 0, "stream": 7, "context": 1}},
            {"ph": "C", "name": name, "pid": 1, "ts": begin, "args": {name: number}},
        ]
    trace = {"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": NAMES[0]}], "traceName": NAMES[1],
             "distributedInfo": {"rank": 0, "world_size": 1, "backend": NAMES[3]}, "traceEvents": events}
    with gzip.open(path, "wt") as file:
        json.dump(trace, file)
