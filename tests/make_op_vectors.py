#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes testdata/op_vectors: make_op_vectors.py FOLDER [FAMILY...], with torch.

A family is a module op_vectors_FAMILY.py beside this file with a function
make(vectors); its file is FOLDER/FAMILY.txt. op_vectors.py has the format.
"""

import glob
import importlib
import os
import sys
import warnings

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
from op_vectors import Vectors  # noqa: E402


def main(folder, families):
    warnings.filterwarnings("ignore")
    known = sorted(os.path.basename(path)[len("op_vectors_"):-len(".py")]
                   for path in glob.glob(f"{HERE}/op_vectors_*.py"))
    for family in families or known:
        vectors = Vectors(os.path.join(folder, f"{family}.txt"), family)
        importlib.import_module(f"op_vectors_{family}").make(vectors)
        vectors.close()
        few = {name: n for name, n in vectors.counts.items() if n < 20}
        print(family, sum(vectors.counts.values()), "calls", few or "")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
