# SPDX-License-Identifier: MIT
"""The lists of autocast of an installed torch against those of
src/check/amp_ops.c: prints what differs, and fails if anything does.

    python3 tests/oracle/amp_ops.py src/check/amp_ops.c

From the header: lower precision, fp32, promote, and norm, which is written
apart. What is banned stands in no header: it is what the library calls unsafe
to autocast.
"""
import pathlib
import re
import sys

import torch

root = pathlib.Path(torch.__file__).parent
header = (root / "include/ATen/autocast_mode.h").read_text()
table = pathlib.Path(sys.argv[1]).read_text()


def macro(name):
    body = re.search(r"#define AT_FORALL_%s\(_\)((?:.*\\\n)*.*)" % name,
                     header).group(1)
    return {op for op in re.findall(r"_\((\w+)", body) if op[0] != "_"}


want = {}
for name, policy in (("LOWER_PRECISION_FP", "LOWER"), ("FP32", "FP32"),
                     ("FP32_SET_OPT_DTYPE", "FP32"), ("PROMOTE", "PROMOTE")):
    want.update({op: policy for op in macro(name)})
want.update({op: "FP32" for op in re.findall(r"_\(ADD_NS\((\w+)\)", header)})
unsafe = re.compile(rb"torch\.nn\.functional\.(\w+) and torch\.nn\.\w+ are "
                    rb"unsafe to autocast")
for library in (root / "lib").glob("libtorch_c*.so"):
    want.update({op.decode(): "BANNED"
                 for op in unsafe.findall(library.read_bytes())})

have = dict(re.findall(r'\{"(\w+)", TP_AMP_(\w+)\}', table))
version = re.search(r'tp_amp_version\[\] = "([\d.]+)"', table).group(1)
wrong = [f"{op}: {have.get(op)}, torch has {want.get(op)}"
         for op in sorted(set(want) | set(have))
         if have.get(op) != want.get(op)]
if not torch.__version__.startswith(version + "."):
    wrong.append(f"the table is of torch {version}, not {torch.__version__}")

print("\n".join(wrong + [f"{len(want)} operators, {len(wrong)} differ"]))
sys.exit(bool(wrong))
