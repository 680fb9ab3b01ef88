#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares what `inspect` says of sample files with their expected.json.

    python3 tests/oracle/files_2026.py PROGRAM FOLDER [GROUP...]

FOLDER has groups of units (files, or folders of one checkpoint) with an
expected.json each: unit -> path -> numbers, which torch, numpy and safetensors
gave. A good unit has to have all rows, equal, and exit with 0; another one has
to exit with 3, or to say something, and its listed rows have to be there.
Facts on scales are compared with /quantised of summary.h5, which needs h5py.
Units without tensors (curves, snapshots of an allocator's memory) have to be
named for what they are. Prints what differs, then "N of N" for each group, and
what was not compared, with the reason. Exits 1 if any differs.
"""
import collections
import json
import math
import pathlib
import re
import subprocess
import sys
import tempfile

NAMES = {"F6_E2M3": "float6_e2m3fn", "F6_E3M2": "float6_e3m2fn"}

# What holds no tensors, by the end of its path, and what is said of it.
NAMED = {
    ".0": "an event file of TensorBoard, which has curves and no tensors",
    ".log": "a log of Python's logging",
    ".jsonl": "not a torch file",
    ".pickle": "a snapshot of an allocator's memory",
    "good-restarted": "nothing here can be read as tensors",  # two of events
}
# Those that are not: no beginning of theirs is left, or they are another's.
UNNAMED = {
    "bad-truncated.pickle": "the frame is longer than the data",
    "bad-not_a_snapshot.pickle": "no tensor",
    "bad-metrics_cut.jsonl": "not a torch file",
}
# Facts on scales, and the columns of /quantised that have them.
SCALES = {
    "n": "scales", "nan": "scale_nan", "inf": "scale_inf",
    "zero": "scale_zero", "negative": "scale_negative", "min": "scale_min",
    "max": "scale_max", "power_of_two": "scale_powers", "blocks": "blocks",
    "blocks_at_max": "blocks_at_max",
    "blocks_below_half_max": "blocks_below_half",
    "blocks_all_zero": "blocks_zero", "elements_at_max": "elements_at_max"}


def rows_of(program, unit):
    """Rows by (file, path), a row each, and the exit status."""
    done = subprocess.run(
        [program, "inspect", unit, "--parts", "--format", "json"],
        capture_output=True, text=True, check=False)
    rows = json.loads(done.stdout)["tensors"] if done.stdout else []
    return rows, done.returncode, done.stderr


def shown(name):
    """A name as tables show it: control characters escaped; a long one cut."""
    text = "".join(c if c >= " " and c != "\x7f" else
                   f"\\x{ord(c):02x}" for c in name)
    return text


def same_path(path, name):
    path = path or ""  # null: no text
    text = shown(name)
    return path == text or (len(text.encode()) > 1023 and
                            path[:1000] == text[:1000])


def whole_of(rows, name):
    """The row of a tensor that ranks split, or of one that has copies."""
    layer = re.search(r"\.layers\.(\d+)\.(.*)", name)
    for row in rows:
        if row["path"] == "model." + name and "mp_rank_*" in row["file"]:
            return row
    for row in rows:
        if layer and row["layer_idx"] == int(layer[1]) and \
                (row["path"] or "").startswith("model.") and \
                (row["path"] or "").endswith(layer[2]):
            return row
        if not layer and row["path"] == "model." + name:
            return row
    return None


def find(rows, key, record):
    if key.startswith("assembled:"):
        return whole_of(rows, key[len("assembled:"):])
    names = [key]
    if str(record.get("dtype", "")).startswith("te."):
        names.insert(0, key + "#value")
    part = re.match(r"(.*\.(?:pth?|pkl)):(.*)$", key, re.S)
    for name in names:
        for row in rows:
            if same_path(row["path"], name):
                return row
    for row in rows if part else []:
        if row["file"].endswith(part[1]) and same_path(row["path"], part[2]):
            return row
    return None


def number(value):
    return math.nan if value is None else float(value)


def near(want, got, room=0.0):
    want, got = number(want), number(got)
    return want == got or abs(want - got) <= 1e-12 * abs(want) + room or (
        math.isnan(want) and math.isnan(got))


def differences(record, row):
    found = []
    dtype = record["dtype"].removeprefix("torch.")
    dtype = NAMES.get(dtype, dtype)
    if (row["path"] or "").endswith("#value") and dtype == "bfloat16":
        dtype = "float32"  # gpt-oss keeps the same numbers in 16 bits
    if dtype != row["dtype"] and not record["dtype"].startswith("te."):
        found.append(f"dtype {dtype} {row['dtype']}")
    shape = "[" + ",".join(map(str, record["shape"])) + "]"
    if shape != row["shape"]:
        found.append(f"shape {shape} {row['shape']}")
    if not record["numel"]:
        return found
    for key, got in (("nan", row["nan"]), ("zero", row["zero"]),
                     ("inf", row["pos_inf"] + row["neg_inf"]),
                     ("min", row["min"]), ("max", row["max"]),
                     ("l2", row["l2_norm"])):
        if key in record and not near(record[key], got):
            found.append(f"{key} {record[key]} {got}")
    if "sum" in record and row["mean"] is not None and row["l1_norm"]:
        parts = 2 if "complex" in dtype else 1
        n = parts * row["numel"] - row["nan"] - row["pos_inf"] - row["neg_inf"]
        if not near(record["sum"], row["mean"] * n, 1e-12 * row["l1_norm"]):
            found.append(f"sum {record['sum']} {row['mean'] * n}")
    return found


def printed_of(program, unit):
    """Results of a log of statistics by the name of their call."""
    import h5py
    with tempfile.TemporaryDirectory() as out:
        done = subprocess.run([program, "dump", unit, "--output_dir", out],
                              capture_output=True, text=True, check=False)
        if not (pathlib.Path(out) / "dump.h5").exists():
            return {}, done.returncode, done.stderr
        with h5py.File(pathlib.Path(out) / "dump.h5") as f:
            entries, calls = f["dump_entries"][:], f["calls"][:]
    ways = {c["name"]: c["direction"].decode() for c in calls}
    return {e["call"].decode(): dict(zip(e.dtype.names, e),
                                     phase=ways[e["call"]])
            for e in entries if e["place"] == b"output"}, done.returncode, \
        done.stderr


def printed_differences(record, row):
    """Of a log that has statistics as text, and no counts."""
    want = {"dtype": record["dtype"].encode(),
            "shape": str(record["shape"]).encode(), "phase": record["phase"],
            "nan": -1, "json_norm": float(record["l2"])}
    want.update(("json_" + k, float(record[k])) for k in ("min", "max", "mean"))
    return [f"{k} {x} {row[k]}" for k, x in want.items() if row[k] != x]


def scales_of(program, unit):
    """Rows of /quantised by the path of the values, without "#value"."""
    import h5py
    with tempfile.TemporaryDirectory() as out:
        subprocess.run([program, "--tensor_dir", unit, "--no_plots",
                        "--output_dir", out], capture_output=True,
                       check=False)
        with h5py.File(pathlib.Path(out) / "summary.h5") as f:
            paths = f["tensors"]["path"]
            return {paths[row["tensor"]].decode().removesuffix("#value"): row
                    for row in f["quantised"][:]}


def scale_differences(record, row):
    return [f"{key} {record[key]} {row[column]}"
            for key, column in SCALES.items()
            if not near(record[key], row[column])]


def kind_of(key, record):
    """How a record is compared, or why it is not."""
    if isinstance(record, dict) and "numel" in record:
        return "row"
    if key == "" or not isinstance(record, dict):
        return "sentences on whole units"
    if key.endswith("#scales"):
        return "scales"
    if "shape" in record:
        return "printed"
    return "what is no tensor (objects, lines, settings)"


def compare_named(program, folder, unit, records, count):
    """Of a unit without tensors: it is named, and nothing is read."""
    rows, status, said = rows_of(program, folder / unit)
    name = pathlib.PurePath(unit).name
    word = UNNAMED.get(name) or next(
        w for end, w in NAMED.items() if unit.endswith(end))
    facts = sum(len(r) if isinstance(r, dict) else 1 for r in records.values())
    count["curves and facts of files without tensors"] += facts
    found = [] if word in said else [f"not said: {word!r}, but {said[:200]!r}"]
    return found + ([f"exit status {status}"] if status != 3 or rows else [])


def compare(program, folder, unit, records, count):
    """What differs; counts rows, and what was not compared."""
    log = unit.endswith(".log")
    rows, status, said = (printed_of if log else rows_of)(program,
                                                          folder / unit)
    good = pathlib.PurePath(unit).name.startswith("good-")
    found, scales = [], None
    if good and status != 0:
        found.append(f"exit status {status}: {said.strip()[:200]}")
    if not good and status == 0 and not said:
        found.append("nothing is said of it")
    for key, record in records.items():
        kind = kind_of(key, record)
        count[kind] += 1
        if kind == "scales":
            scales = scales or scales_of(program, folder / unit)
            row = scales.get(key.removesuffix("#scales"))
            differ = scale_differences
        elif kind in ("row", "printed"):
            row = rows.get(key) if log else find(rows, key, record)
            differ = differences if kind == "row" else printed_differences
        else:
            continue
        if row is None:
            found.append(f"{key[:80]!r}: no row")
        else:
            found += [f"{key[:80]!r}: {x}" for x in differ(record, row)]
    return found


def main():
    program, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    groups = sys.argv[3:] or sorted(
        p.parent.name for p in folder.glob("*/expected.json"))
    failed = False
    for group in groups:
        with open(folder / group / "expected.json", encoding="utf-8") as f:
            expected = json.load(f)
        units, count = collections.Counter(), collections.Counter()
        named = group in ("logs", "memory_snapshot")
        for unit, records in expected.items():
            found = (compare_named if named else compare)(
                program, folder / group, unit, records, count)
            verdict = pathlib.PurePath(unit.split("/")[0] if named
                                       else unit).name.split("-")[0]
            units[verdict] += 1
            units[verdict + " as expected"] += not found
            for line in found:
                print(f"{group}/{unit}: {line}")
            failed = failed or bool(found)
        print(f"{group}: " + ", ".join(
            f"{units[v + ' as expected']} of {units[v]} {v}"
            for v in ("good", "bad", "unsupported") if units[v]) +
            "".join(f"; {count[k]} {word}" for k, word in (
                ("row", "rows"), ("scales", "rows of scales"),
                ("printed", "printed rows")) if count[k]))
        for kind, n in count.items():
            if kind not in ("row", "scales", "printed"):
                print(f"  not compared: {n} {kind}")
    return failed


if __name__ == "__main__":
    sys.exit(main())
