#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks an annotated trace against the original and the rules of the format.

    trace_annotated.py PROGRAM TRACE...

The traces, ranks of one run if there are several, are annotated by PROGRAM.
The files are read by Python's json with exact decimals and looked at by what
Chrome's trace format asks: ids, processes, times, nesting. The tracks are held
against the tables of trace.h5, or against what this script works out of the
original events; and the tables of the annotated traces against those of the
originals. Needs h5py and numpy. Exit status 1 when something differs.
"""
import collections
import decimal
import gzip
import json
import os
import subprocess
import sys
import tempfile

import h5py
import numpy as np

D = decimal.Decimal
OWN = "tprof-analyze"
CAUSES = {
    "work pending": "queued",
    "driver allocations": "alloc",
    "DataLoader": "dataloader",
    "blocking calls": "blocking",
    "launch calls": "launch",
    "operators on the host": "cpu_op",
    "nothing recorded but Python": "none",
}
failures = 0


def say(ok, what):
    global failures
    failures += not ok
    if not ok:
        print("  WRONG:", what)


def raw(path):
    with open(path, "rb") as file:
        data = file.read()
    return gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data


def parse(data):
    trace = json.loads(data, parse_float=D, parse_int=D)
    return trace if isinstance(trace, list) else trace["traceEvents"]


def key(event):
    return str(event.get("pid")), str(event.get("tid"))


def check_bytes(old, new):
    """What was added is one stretch, and nothing else changed."""
    end = new.rfind(b'"cat":"' + OWN.encode())
    end = new.index(b"\n", end) if b"\n" in new[end:] else len(new)
    first = new.index(b'{"ph":"M","cat":"' + OWN.encode())
    head = new[:first]
    kept = 0
    while head[len(head) - kept - 1 : len(head) - kept] in (b",", b"\n"):
        kept += 1
        if old.startswith(head[: len(head) - kept]) and old[
            len(head) - kept :].lstrip()[:1] in (b"]",):
            break
    at = len(head) - kept
    say(old[:at] == new[:at], "bytes before the tracks")
    say(new.endswith(old[at:]), "bytes behind the tracks")


def pair(added):
    """Begins and ends of slices as one event each, in the order of begins."""
    slices, begun = [], {}
    for e in added:
        if e["ph"] == "B":
            say(e["tid"] not in begun, "a slice within another")
            begun[e["tid"]] = dict(e, ph="X")
            slices.append(begun[e["tid"]])
        elif e["ph"] == "E":
            it = begun.pop(e["tid"])
            it["dur"] = e["ts"] - it["ts"]
        else:
            slices.append(e)
    say(not begun, "slices end")
    return slices


def check_rules(old, added):
    pids = {str(e["pid"]) for e in old if "pid" in e}
    own = {str(e["pid"]) for e in added if e["ph"] not in "sf"}
    say(len(own) == 1 and not own & pids, f"a process of its own: {own}")
    say(all(e["cat"] == OWN for e in added), "category")
    named = {e["tid"] for e in added if e["name"] == "thread_name"}
    used = {e["tid"] for e in added if e["ph"] in "Xi"}
    say(used <= named, "rows have names")
    rows = collections.defaultdict(list)
    for e in added:
        say(e["ph"] in "XCMisf", f"phase {e['ph']}")
        if e["ph"] == "X":
            say(e["dur"] > 0, "dur")
            rows[e["tid"]].append((e["ts"], e["ts"] + e["dur"]))
    for tid, slices in rows.items():
        slices.sort(key=lambda s: (s[0], -s[1]))
        open_ends = []
        for start, stop in slices:
            while open_ends and open_ends[-1] <= start:
                open_ends.pop()
            say(not open_ends or stop <= open_ends[-1], f"nesting in row {tid}")
            open_ends.append(stop)
    counters = collections.defaultdict(list)
    for e in added:
        if e["ph"] == "C":
            counters[e["name"]].append(e["ts"])
    for name, times in counters.items():
        say(all(a < b for a, b in zip(times, times[1:])), f"times of {name}")


def check_arrows(old, added):
    places = collections.defaultdict(list)
    for e in old:
        if e.get("ph") == "X" and "dur" in e:
            places[key(e)].append((e["ts"], e["ts"] + e["dur"]))
    starts = {}
    for k, slices in places.items():
        slices.sort()
        starts[k] = slices
    ends = collections.defaultdict(dict)
    for e in added:
        if e["ph"] in "sf":
            say(e["ph"] not in ends[e["id"]], "one begin and end of an arrow")
            ends[e["id"]][e["ph"]] = e
    for pair in ends.values():
        say(set(pair) == {"s", "f"}, "an arrow has both ends")
        say(pair["s"]["ts"] <= pair["f"]["ts"], "arrows go on in time")
        say(pair["f"].get("bp") == "e", "arrows bind to what is around")
    wanted = collections.defaultdict(list)
    for e in added:
        if e["ph"] in "sf":
            wanted[key(e)].append(e["ts"])
    for k, times in wanted.items():
        slices, best, at = starts.get(k, []), D(-1), 0
        for ts in sorted(times):
            while at < len(slices) and slices[at][0] <= ts:
                best = max(best, slices[at][1])
                at += 1
            say(best >= ts, f"an arrow ends in a slice of {k}")
    return len(ends)


def by_track(added):
    names = {e["tid"]: e["args"]["name"].split(" (")[0]
             for e in added if e["name"] == "thread_name"}
    tracks = collections.defaultdict(list)
    for e in added:
        if e["ph"] in "Xi":
            tracks[names[e["tid"]]].append(e)
    return tracks


def us(e):
    return e["args"].get("us", e.get("dur", D(0)))


def close(a, b, what, scale=1.0):
    say(abs(float(a) - float(b)) <= 1e-6 * max(abs(scale), 1.0),
        f"{what}: {a} {b}")


def check_idle(tracks, row):
    sums = collections.Counter()
    for e in tracks["GPU idle, by cause"]:
        sums[CAUSES[e["name"]]] += us(e)
    for column in CAUSES.values():
        close(sums[column], row[column] * row["window_us"], "idle " + column,
              row["window_us"])
    close(sum(sums.values()), (1 - row["busy"]) * row["window_us"], "idle",
          row["window_us"])


def check_steps(tracks, rows, old):
    slices = tracks["verdict by step"]
    if not slices:
        return
    seen = {}
    for e in old:
        name, cat = str(e.get("name")), str(e.get("cat")).lower()
        if e.get("ph") == "X" and name.startswith("ProfilerStep#"):
            if cat in ("user_annotation", "cpu_op", "operator"):
                seen[int(name.split("#")[1])] = e
    say([int(e["args"]["step"]) for e in slices] == list(rows["step"]), "steps")
    for e, row in zip(slices, rows):
        close(e["dur"], row["host_us"], "a step", row["host_us"])
        original = seen[int(e["args"]["step"])]
        say((e["ts"], e["dur"]) == (original["ts"], original["dur"]),
            "its time")
        parts = [v for k, v in e["args"].items()
                 if k.startswith("idle: ") or k == "GPU busy %"]
        say(abs(sum(parts) - 100) < D("0.06"), f"parts of a step: {sum(parts)}")


def check_path(tracks, rows):
    sums = collections.Counter()
    for e in tracks["critical path"]:
        sums[int(e["args"]["step"]), e["args"]["spent on"]] += us(e)
    table = {(int(r["step"]), r["kind"].decode()): r["total_us"]
             for r in rows if r["step"] >= 0}
    for k in set(sums) | set(table):
        close(sums[k], table.get(k, 0), f"critical path {k}", table.get(k, 0))


def check_queue(old, added):
    """From the call with its correlation to the begin of the device event."""
    calls, first = {}, {}
    for e in old:
        if e.get("ph") != "X" or not isinstance(e.get("args"), dict):
            continue
        cat = str(e.get("cat", "")).lower()
        number = e["args"].get("correlation", e["args"].get("External id"))
        if "correlation" not in e["args"]:
            continue
        if cat in ("cuda_runtime", "cuda_driver", "runtime", "mtia_runtime",
                   "hip_runtime"):
            calls.setdefault(number, e["ts"])
        elif cat in ("kernel", "gpu_memcpy", "gpu_memset", "memcpy", "memset",
                     "mtia_ccp_events"):
            if number not in first or e["ts"] < first[number]:
                first[number] = e["ts"]
    changes = collections.Counter()
    for number, ts in first.items():
        if number in calls and calls[number] < ts:
            changes[calls[number]] += 1
            changes[ts] -= 1
    level, expected = 0, []
    for ts in sorted(changes):
        if changes[ts]:
            level += changes[ts]
            expected.append((ts, level))
    got = [(e["ts"], e["args"]["launches"]) for e in added
           if e["ph"] == "C" and e["name"] == "queue length"]
    if got != expected:
        both = len(set(got) & set(expected))
        say(False, f"queue: {len(got)} {len(expected)}, {both} alike")
    return len(got)


def check_rates(added, rows):
    points = [(e["ts"], e["args"]["GB/s"]) for e in added
              if e["ph"] == "C" and e["name"] == "communication"]
    moved = sum(float((b[0] - a[0]) * a[1]) * 1e3
                for a, b in zip(points, points[1:]))
    known = sum(max(r["in_bytes"], r["out_bytes"]) for r in rows
                if max(r["in_bytes"], r["out_bytes"]) > 0)
    say(abs(moved - known) <= 1e-4 * max(known, 1), f"bytes {moved} {known}")
    say(not points or points[-1][1] == 0, "rates end with 0")


def tables(path):
    result = {}

    def visit(name, item):
        if isinstance(item, h5py.Dataset):
            rows = item[()]
            keep = [c for c in rows.dtype.names or [] if c != "file"]
            result[name] = {c: rows[c] for c in keep} if keep else {"": rows}
    with h5py.File(path) as file:
        file.visititems(visit)
    return result


def same_tables(a, b):
    left, right = tables(a), tables(b)
    say(set(left) == set(right), "tables")
    for name in left:
        for column, x in left[name].items():
            y = right[name].get(column)
            say(y is not None and x.dtype == y.dtype and
                x.tobytes() == y.tobytes(), f"table {name}, {column}")


def run(program, paths, output, more=()):
    done = subprocess.run([program, "trace", *paths, "--no_plots", "--no_html",
                           "--quiet", "--output_dir", output, *more],
                          capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{paths}: status {done.returncode}: {done.stderr}")
    return os.path.join(output, "trace.h5")


def check(program, paths):
    with tempfile.TemporaryDirectory() as folder:
        target = os.path.join(folder, "annotated") + "/"
        one = run(program, paths, os.path.join(folder, "a"),
                  ["--annotate", target])
        news = [os.path.join(target, os.path.basename(p)) for p in paths]
        two = run(program, news, os.path.join(folder, "b"))
        same_tables(one, two)
        file = h5py.File(one)
        ranks = file["ranks"][()] if "ranks" in file else []
        order = [os.path.basename(p.decode()) for p in ranks["file"]] \
            if len(ranks) else [os.path.basename(paths[0])]
        for path, new in zip(paths, news):
            number = order.index(os.path.basename(path))
            old_raw, new_raw = raw(path), raw(new)
            check_bytes(old_raw, new_raw)
            old, events = parse(old_raw), parse(new_raw)
            say(events[: len(old)] == old, "the original events come first")
            added = pair(events[len(old):])
            of = {name: file[name][()][file[name]["trace"] == number]
                  for name in ("idle", "steps", "critical_path", "collectives")}
            check_rules(old, added)
            arrows = check_arrows(old, added)
            tracks = by_track(added)
            if tracks["GPU idle, by cause"]:
                check_idle(tracks, of["idle"][0])
            check_steps(tracks, of["steps"], old)
            check_path(tracks, of["critical_path"])
            queue = check_queue(old, added)
            check_rates(added, of["collectives"])
            waits = sum(us(e) for e in tracks["waits for other ranks"])
            if len(ranks):
                want = ranks[number]["wait_us"]
                close(waits, 0 if np.isnan(want) else want, "waits")
            steps = len(tracks["verdict by step"])
            print(f"{os.path.basename(path)}: {len(old)} events, "
                  f"{len(added)} added: {steps} steps, "
                  f"{len(tracks['GPU idle, by cause'])} idle, "
                  f"{len(tracks['critical path'])} of paths, {arrows} arrows, "
                  f"{queue} of the queue, waits {waits} us")


def main():
    program, paths = sys.argv[1], sys.argv[2:]
    check(program, paths)
    print(f"{failures} wrong")
    sys.exit(failures > 0)


if __name__ == "__main__":
    main()
