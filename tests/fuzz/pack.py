#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes an input of fuzz_command.c: pack.py OUT COMMAND NAME=FILE ..., where
COMMAND is a number of its table `commands` and NAME one of its `names`."""
import os
import re
import sys

source = open(os.path.join(os.path.dirname(__file__), "fuzz_command.c")).read()
table = re.search(r"names\[\] = \{(.*?)\n\};", source, re.S).group(1)
names = ["".join(re.findall(r'"([^"]*)"', row))
         for row in re.split(r'",\n', table + '",\n') if '"' in row
         for row in [row + '"']]


def pack(command, files):
    out = bytes([command])
    for name, path in files:
        content = open(path, "rb").read()
        out += bytes([names.index(name)])
        out += len(content).to_bytes(3, "little") + content
    return out


if __name__ == "__main__":
    with open(sys.argv[1], "wb") as to:
        to.write(pack(int(sys.argv[2]),
                      [word.split("=", 1) for word in sys.argv[3:]]))
