#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes traces of names that are markup: trace_names.py FILE [OPERATORS TRACE]

Each name is that of an operator, a range, a module, a kernel, a thread and a
collective; with OPERATORS, so many operators with names of their own follow.
With TRACE, FILE is a folder of ranks of that trace whose files are called so.
"""
import gzip
import json
import os
import sys

NAMES = [
    "<script>alert(1)</script>", "\" onload=\"alert(1)", "' onmouseover='x",
    "javascript:alert(1)", "</style><img src=x onerror=alert(1)>",
    "</script><script>alert(2)</script>", "<!--", "-->", "]]>", "<![CDATA[",
    "\u202eturned", "\u2066isolated\u2069", "\u200fright", "\u001b[31mred",
    "\u001b]8;;http://x\u0007link", "a\nb\rc\td", "\u0000zero", "\u007f\u0085",
    "&lt;b&gt;", "&#x3c;script&#x3e;", "<svg onload=alert(1)>",
    "<a href=javascript:alert(1)>x</a>", "</details></ul></div>",
    "</textarea></title>", "{{7*7}}${7*7}", "`$(touch made)`", "=cmd|' 'C'!A0",
    "\ufeff\ufffe\uffff", "x > y > z", "\U0001f600" * 40, "A" * 3000, "",
]


def event(cat, name, tid, ts, dur, **args):
    return {"ph": "X", "cat": cat, "name": name, "pid": 1 if tid < 7 else 0,
            "tid": tid, "ts": ts, "dur": dur, "args": args}


def call(events, name, number, at):
    events.append(event("python_function", "nn.Module: " + name, 1, at, 40))
    events.append(event("user_annotation", name, 1, at + 1, 38))
    events.append(event("cpu_op", name, 1, at + 2, 30))
    events.append(event("cuda_runtime", "cudaLaunchKernel", 1, at + 3, 5,
                        correlation=number))
    events.append(event("kernel", name, 7, at + 20, 17, device=0, stream=7,
                        correlation=number))
    events.append(event(
        "kernel", "ncclDevKernel_" + name, 8, at + 40, 4 + number % 7,
        device=0, stream=8, correlation=number, **{
            "Collective name": name, "Process Group Name": name,
            "Group size": 2, "dtype": name, "In msg nelems": 10,
            "Out msg nelems": 10}))


def files(folder, source):
    with gzip.open(source) as file:
        trace = json.load(file)
    os.mkdir(folder)
    for rank, name in enumerate(NAMES):
        name = name.replace("/", "_").replace("\0", "").encode()[:200]
        trace["distributedInfo"] = {"rank": rank, "world_size": len(NAMES)}
        with open(os.path.join(folder.encode(), b"%s_%d.json" % (name, rank)),
                  "w") as file:
            json.dump(trace, file)


def main():
    if len(sys.argv) > 3:
        files(sys.argv[1], sys.argv[3])
        return
    events = []
    for lane, name in enumerate(NAMES[:6]):
        events.append({"ph": "M", "name": "thread_name", "pid": 1,
                       "tid": lane + 1, "args": {"name": name}})
    for step in range(3):
        start = step * 60 * len(NAMES)
        events.append(event("user_annotation", f"ProfilerStep#{step}", 1,
                            start, 60 * len(NAMES) - 1))
        for i, name in enumerate(NAMES):
            call(events, name, step * len(NAMES) + i + 1, start + 60 * i)
    for i in range(int(sys.argv[2]) if len(sys.argv) > 2 else 0):
        events.append(event("cpu_op", f"aten::op_{i * 7919 % 100003}", 2,
                            10 * i, 1 + i * 31 % 9))
    with open(sys.argv[1], "w") as file:
        json.dump({"deviceProperties": [{"id": 0, "name": NAMES[0]}],
                   "distributedInfo": {"backend": NAMES[1], "rank": 0,
                                       "world_size": 2},
                   "traceEvents": events}, file)


main()
