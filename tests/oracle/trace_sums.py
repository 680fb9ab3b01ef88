#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Sums over traces, for the table in
tests/unit/formats/trace/test_trace_reader.c.

Usage: trace_sums.py SHARED/traces

For every trace one row of C: how many events there are, how many are kept,
the sums of their ts and dur in ns, modulo 2^64, and a sum that depends on
order and names. Reads with Python's json and decimal, no double anywhere.
"""
import decimal
import gzip
import json
import os
import sys
import zlib

MASK = (1 << 64) - 1


def load(path):
    opener = gzip.open if path.endswith('.gz') else open
    with opener(path, 'rb') as file:
        return json.loads(file.read(), parse_float=decimal.Decimal)


def nanoseconds(value):
    scaled = decimal.Decimal(value) * 1000
    return int(scaled.to_integral_value(decimal.ROUND_HALF_EVEN))


def is_kept(event):
    return event['ph'] == 'X' or (
        event['ph'] == 'i' and event['name'] in ('[memory]', '[OutOfMemory]'))


def row(path, name):
    root = load(path)
    events = root if isinstance(root, list) else root['traceEvents']
    kept = [event for event in events if is_kept(event)]
    start = sum(nanoseconds(event['ts']) for event in kept)
    duration = sum(nanoseconds(event.get('dur', 0)) for event in kept)
    order = 0
    for event in kept:
        for text in (event['name'], str(event['pid']), str(event['tid'])):
            order = (order * 31 + zlib.crc32(text.encode())) & MASK
        order = (order + (event.get('args') or {}).get('correlation', -1))
        order &= MASK
    print('    {"%s",\n     %d, %d, UINT64_C(%d), UINT64_C(%d),\n'
          '     UINT64_C(%d)},' % (name, len(events), len(kept), start & MASK,
                                    duration & MASK, order))


def main():
    decimal.getcontext().prec = 60
    root = sys.argv[1]
    for folder, _, files in sorted(os.walk(root)):
        if 'expected' in folder or 'LICENSES' in folder:
            continue
        for name in sorted(files):
            if name.endswith(('.json', '.json.gz')):
                path = os.path.join(folder, name)
                row(path, os.path.relpath(path, root))


main()
