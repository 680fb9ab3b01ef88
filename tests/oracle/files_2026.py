#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares what `inspect` says of sample files with their expected.json.

    python3 tests/oracle/files_2026.py PROGRAM FOLDER [GROUP...]

FOLDER has groups of units (files, or folders of one checkpoint) with an
expected.json each: unit -> path -> numbers, which torch, numpy and safetensors
gave. A good unit has to have all rows, equal, and exit with 0; another one has
to exit with 3, or to say something, and its listed rows have to be there.
Prints what differs, then "N of N" for each group. Exits 1 if any differs.
"""
import collections
import json
import math
import pathlib
import re
import subprocess
import sys

NAMES = {"F6_E2M3": "float6_e2m3fn", "F6_E3M2": "float6_e3m2fn"}


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


def compare(program, folder, unit, records):
    """What differs, and how many rows were compared."""
    rows, status, said = rows_of(program, folder / unit)
    good = pathlib.PurePath(unit).name.startswith("good-")
    found, compared = [], 0
    if good and status != 0:
        found.append(f"exit status {status}: {said.strip()[:200]}")
    if not good and status == 0 and not said:
        found.append("nothing is said of it")
    for key, record in records.items():
        if not isinstance(record, dict) or "numel" not in record:
            continue
        row = find(rows, key, record)
        compared += 1
        if row is None:
            found.append(f"{key[:80]!r}: no row")
        else:
            found += [f"{key[:80]!r}: {x}" for x in differences(record, row)]
    return found, compared


def main():
    program, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    groups = sys.argv[3:] or sorted(
        p.parent.name for p in folder.glob("*/expected.json"))
    failed = False
    for group in groups:
        with open(folder / group / "expected.json", encoding="utf-8") as f:
            expected = json.load(f)
        count = collections.Counter()
        for unit, records in expected.items():
            found, compared = compare(program, folder / group, unit, records)
            verdict = pathlib.PurePath(unit).name.split("-")[0]
            count[verdict] += 1
            count[verdict + " as expected"] += not found
            count["rows"] += compared
            for line in found:
                print(f"{group}/{unit}: {line}")
            failed = failed or bool(found)
        print(f"{group}: " + ", ".join(
            f"{count[v + ' as expected']} of {count[v]} {v}"
            for v in ("good", "bad", "unsupported") if count[v]) +
            f"; {count['rows']} rows")
    return failed


if __name__ == "__main__":
    sys.exit(main())
