# SPDX-License-Identifier: MIT
"""The calls of Python files as CPython's ast finds them: of each the line it
ends in and its number of arguments, sorted. For one file they are what
testdata/check/syntax.calls has:

    python3 tests/oracle/python_calls.py testdata/check/syntax.py
"""
import ast
import sys

for name in sys.argv[1:]:
    with open(name, "rb") as file:
        tree = ast.parse(file.read())
    for line, count in sorted(
            (node.end_lineno, len(node.args) + len(node.keywords))
            for node in ast.walk(tree) if isinstance(node, ast.Call)):
        print(line, count)
