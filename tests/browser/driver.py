# SPDX-License-Identifier: MIT
"""What the tests of pages share: a browser, and checks that are counted.

Where there is no playwright or no chromium, importing this ends the program
with exit status 77.
"""
import os
import shutil
import sys
import urllib.parse

try:
    from playwright.sync_api import TimeoutError, sync_playwright
except ImportError:
    print("skipped: no playwright")
    sys.exit(77)
CHROMIUM = shutil.which("chromium")
if not CHROMIUM:
    print("skipped: no chromium")
    sys.exit(77)

failed = 0


def check(holds, words):
    global failed
    if not holds:
        failed += 1
        print("FAIL", words)


def address(path):
    return "file://" + urllib.parse.quote(os.path.abspath(path))


def drive(test):
    """Calls test(browser), says whether all held, and ends the program."""
    with sync_playwright() as run:
        browser = run.chromium.launch(executable_path=CHROMIUM,
                                      args=["--no-sandbox"])
        test(browser)
        browser.close()
    print("failed" if failed else "passed")
    sys.exit(1 if failed else 0)
