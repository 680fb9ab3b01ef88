# SPDX-License-Identifier: MIT
"""Calls, statements in "with" and assignments of Python files, as CPython's ast
finds them; what tests/unit/support/python_print.c prints of our trees. The
files beside testdata/check/syntax.py are made by

    python3 tests/oracle/python_tree.py calls testdata/check/syntax.py

and withs, assignments. Whole packages are compared by

    make tests/bench/print_python
    python3 tests/oracle/python_tree.py compare PACKAGE...

which names the files that differ and counts. Files that this Python's ast does
not read, or that are not UTF-8, are left out and counted.
"""
import ast
import collections
import pathlib
import subprocess
import sys
import warnings


def calls(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            yield f"{node.end_lineno} {len(node.args) + len(node.keywords)}"


def withs(node, items=()):
    for child in ast.iter_child_nodes(node):
        inner = items
        if isinstance(child, ast.stmt):
            yield from (f"{child.lineno} in {item}" for item in items)
        if isinstance(child, (ast.With, ast.AsyncWith)):
            inner += tuple(
                f"{child.lineno}:{i}" + (" as" if item.optional_vars else "")
                for i, item in enumerate(child.items))
        yield from withs(child, inner)


def name(node):
    match node:
        case ast.Name():
            return node.id
        case ast.Attribute():
            return f"{name(node.value)}.{node.attr}"
        case ast.Subscript():
            return f"{name(node.value)}[]"
        case ast.Call():
            return f"{name(node.func)}()"
    return "?"


def leaves(target):
    match target:
        case ast.Tuple() | ast.List():
            for one in target.elts:
                yield from leaves(one)
        case ast.Starred():
            yield from leaves(target.value)
        case _:
            yield name(target)


def assignments(tree):
    for node in ast.walk(tree):
        line, targets = getattr(node, "lineno", 0), []
        match node:
            case ast.Assign():
                how, targets = "=", node.targets
            case ast.AugAssign():
                how, targets = "op=", [node.target]
            case ast.AnnAssign():
                how, targets = ":", [node.target]
            case ast.NamedExpr():
                how, targets = ":=", [node.target]
            case ast.For() | ast.AsyncFor():
                how, targets = "for", [node.target]
            case ast.With() | ast.AsyncWith():
                how = "as"
                targets = [item.optional_vars for item in node.items
                           if item.optional_vars]
        for target in targets:
            yield from (f"{line} {how} {leaf}" for leaf in leaves(target))


KINDS = {"calls": calls, "withs": withs, "assignments": assignments}


def files(roots):
    for root in map(pathlib.Path, roots):
        yield from sorted(root.rglob("*.py")) if root.is_dir() else [root]


def compare(roots):
    program = pathlib.Path("tests/bench/print_python").resolve()
    count = collections.Counter()
    for path in files(roots):
        try:
            source = path.read_text("utf-8-sig")
            tree = ast.parse(path.read_bytes())
        except (SyntaxError, ValueError):
            count["left out"] += 1
            continue
        text = subprocess.run([program, path], capture_output=True, check=True)
        ours = collections.defaultdict(collections.Counter)
        for line in text.stdout.decode().splitlines():
            kind, rest = line.split(" ", 1)
            ours[kind][rest] += 1
        count["files"] += 1
        count["lines"] += source.count("\n")
        for kind, read in KINDS.items():
            want = collections.Counter(read(tree))
            count[kind] += want.total()
            if want != ours[kind]:
                count[kind + ": files that differ"] += 1
                print(f"{path}: {kind}: ast {list((want - ours[kind]))[:3]}, "
                      f"ours {list((ours[kind] - want))[:3]}")
    for key, value in count.items():
        print(f"{value:9} {key}")


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    if sys.argv[1] == "compare":
        compare(sys.argv[2:])
    else:
        with open(sys.argv[2], "rb") as file:
            print(*sorted(KINDS[sys.argv[1]](ast.parse(file.read()))), sep="\n")
