#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Prints tests/unit/support/golden_pickle.h: what Python pickles, as C
strings, and the same values in a plain notation that test_pickle.c also
writes."""
import pickle


def note(v):
    if v is None or isinstance(v, bool):
        return str(v)
    if isinstance(v, int):
        if -(1 << 63) <= v < 1 << 63:
            return str(v)
        size = (v.bit_length() // 8) + 1
        return "big:" + v.to_bytes(size, "little", signed=True).hex()
    if isinstance(v, float):
        return "%.17g" % v
    if isinstance(v, str):
        raw = v.encode("utf-8", "surrogatepass")
    elif isinstance(v, (bytes, bytearray)):
        raw = bytes(v)
    if isinstance(v, (str, bytes, bytearray)):
        return ("'" if isinstance(v, str) else "b'") + "".join(
            chr(c) if 32 <= c < 127 and c not in (39, 92) else "\\x%02x" % c
            for c in raw) + "'"
    if isinstance(v, list):
        return "[" + ", ".join(map(note, v)) + "]"
    if isinstance(v, tuple):
        return "(" + ", ".join(map(note, v)) + ")"
    if isinstance(v, (set, frozenset)):
        return "{" + ", ".join(map(note, v)) + "}"
    if isinstance(v, dict):
        return "{" + ", ".join(
            note(k) + ": " + note(w) for k, w in v.items()) + "}"
    raise TypeError(v)


shared = [1, 2]
ALL = [
    None, True, False, 0, 1, -1, 255, 256, 65535, 65536, (1 << 31) - 1,
    1 << 31, -(1 << 31), -(1 << 31) - 1, (1 << 63) - 1, -(1 << 63),
    0.0, -0.5, 1.5e300, 5e-324, float("inf"), "", "plain",
    "quote ' and \\ slash", "caf\u00e9 \u4e2d \U0001f600", "line\nfeed\x00",
    [], (), {}, [1], (1,), (1, 2), (1, 2, 3), (1, 2, 3, 4),
    [[[]], [None, [True]]], {"a": 1, 2: [3], None: {"b": ()}},
    [shared, shared, (shared,)], [i % 7 for i in range(1100)],
    {i: None for i in range(1100)}, "x" * 300,
]
# not in protocols 0 and 1, which write them as text or by other means
FROM_2 = [1 << 63, -(1 << 70), (1 << 2100) - 1]
FROM_3 = [b"", b"\x00\xff", b"z" * 300]
FROM_4 = [{1}, frozenset([(1, 2)]), ["s" * 256, "s" * 256]]
FROM_5 = [bytearray(b"\x01\x02")]


def c_string(data):
    lines, line = [], ""
    for byte in data:
        plain = 32 <= byte < 127 and byte not in b'"\\?'
        line += chr(byte) if plain else "\\%03o" % byte
        if len(line) > 68:
            lines.append('    "%s"' % line)
            line = ""
    lines.append('    "%s"' % line)
    return "\n".join(lines)


def main():
    print("/* SPDX-License-Identifier: MIT */")
    print("/* Made by tests/make_golden_pickle.py; do not edit. */")
    print("static const struct golden golden[] = {")
    for protocol in range(6):
        values = list(ALL)
        for first, more in ((2, FROM_2), (3, FROM_3), (4, FROM_4),
                            (5, FROM_5)):
            if protocol >= first:
                values += more
        # one pickle for all values, but for the long ones: each its own
        short = [v for v in values if len(note(v)) < 150]
        long = [v for v in values if len(note(v)) >= 150]
        for v in [short] + (long if protocol in (2, 4) else []):
            text = note(v)
            data = pickle.dumps(v, protocol=protocol)
            if len(data) > (6000 if protocol == 2 else 1500):
                continue
            print("    {%d, %d,\n%s,\n%s},"
                  % (protocol, len(data), c_string(data),
                     c_string(text.encode())))
    print("};")


main()
