#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Drives an HTML report in a real browser: page.py REPORT [FOLDER]

No console error, no request, the policy holds, tables sort, filter and scroll,
findings have charts, the map leads to rows, keys work, nothing is wider than a
window of 360 pixels, axe finds nothing serious, and the page reads without
scripts. FOLDER takes pictures. Exit status 77: no browser, 1: a check failed.
"""
import os
import shutil
import sys
import time

try:
    from playwright.sync_api import sync_playwright
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


def axe_source():
    try:
        import axe_playwright_python
    except ImportError:
        return None
    folder = os.path.dirname(axe_playwright_python.__file__)
    for root, _, names in os.walk(folder):
        for name in names:
            if name == "axe.min.js":
                return open(os.path.join(root, name)).read()
    return None


def watch(page, seen):
    page.on("console", lambda m: seen.append(("console", m.type, m.text))
            if m.type in ("error", "warning") else None)
    page.on("pageerror", lambda e: seen.append(("error", str(e))))
    page.on("request", lambda r: seen.append(("request", r.url))
            if not r.url.startswith(("file:", "data:", "blob:")) else None)
    page.on("dialog", lambda d: (seen.append(("dialog", d.message)),
                                 d.dismiss()))


def tables(page):
    names = page.eval_on_selector_all(
        "details[data-table]", "nodes => nodes.map(n => n.dataset.table)")
    for name in names:
        place = f'details[data-table="{name}"]'
        page.eval_on_selector(place, "node => { node.open = true; }")
        page.wait_for_selector(f"{place} input[type=search]", timeout=20000)
        count = page.inner_text(f"{place} [role=status]")
        check(" of " in count and " rows" in count, f"{name}: {count}")
        page.fill(f"{place} input[type=search]", "zzz-no-such-row")
        check(page.inner_text(f"{place} [role=status]").startswith("0 of"),
              f"{name}: a filter that nothing meets")
        page.fill(f"{place} input[type=search]", "")
        head = page.locator(f"{place} th button").last
        started = time.time()
        head.click()
        took = time.time() - started
        state = page.locator(f"{place} th").last.get_attribute("aria-sort")
        check(state in ("ascending", "descending"), f"{name}: sorted, {state}")
        head.press("Enter")
        other = page.locator(f"{place} th").last.get_attribute("aria-sort")
        check(other != state, f"{name}: a key turns the order")
        page.eval_on_selector(
            f"{place} .rows", "node => { node.scrollTop = node.scrollHeight; }")
        page.wait_for_timeout(30)
        check(page.locator(f"{place} tbody tr:not(.space)").count() > 0,
              f"{name}: rows at the end")
        print(f"{name}: {count}, sorted in {took:.2f} s")
    return names


def findings(page):
    nodes = page.locator("details.finding")
    for i in range(min(nodes.count(), 40)):
        nodes.nth(i).evaluate("node => { node.open = true; }")
    page.wait_for_timeout(500)
    print(f"{nodes.count()} findings, {page.locator('.chart svg').count()} "
          f"charts")


def heat(page):
    cells = page.locator(".map td button")
    if cells.count() == 0:
        return
    for value in page.eval_on_selector_all(
            "#map select option", "nodes => nodes.map(n => n.value)"):
        page.select_option("#map select", value)
        check(cells.count() > 0, f"map of {value}")
    page.select_option("#map select", index=0)
    cells.first.focus()
    cells.first.press("Enter")
    page.wait_for_timeout(300)
    count = page.inner_text('details[data-table="tensors"] [role=status]')
    shown, of = count.split(" rows")[0].split(" of ")
    check(0 < int(shown) < int(of), f"a cell of the map leads to {count}")
    print(f"map: {cells.count()} cells; the first has {count}")


def widths(page, folder):
    for width, scheme in ((1280, "light"), (1280, "dark"), (360, "light")):
        page.emulate_media(color_scheme=scheme)
        page.set_viewport_size({"width": width, "height": 900})
        page.wait_for_timeout(100)
        wide = page.evaluate("document.documentElement.scrollWidth")
        check(wide <= width, f"{wide} pixels wide in a window of {width}")
        page.evaluate("scrollTo(0, 0)")
        if folder:
            page.screenshot(path=f"{folder}/{scheme}-{width}.png")


def axe(page, scheme):
    source = axe_source()
    if not source:
        print("axe: not there")
        return
    page.emulate_media(color_scheme=scheme)
    page.evaluate(source)
    result = page.evaluate("axe.run()")
    serious = [v for v in result["violations"]
               if v["impact"] in ("serious", "critical")]
    for v in serious:
        print("  ", v["id"], v["help"], v["nodes"][0]["html"][:160])
    check(not serious, f"axe, {scheme}: {len(serious)} serious")
    print(f"axe, {scheme}: {len(result['passes'])} rules pass, "
          f"{len(result['violations'])} do not")


def main():
    url = "file://" + os.path.abspath(sys.argv[1])
    folder = sys.argv[2] if len(sys.argv) > 2 else None
    with sync_playwright() as run:
        browser = run.chromium.launch(executable_path=CHROMIUM,
                                      args=["--no-sandbox"])
        page = browser.new_page()
        seen = []
        watch(page, seen)
        started = time.time()
        page.goto(url)
        page.wait_for_load_state("load")
        print(f"loaded in {time.time() - started:.2f} s")
        findings(page)
        heat(page)
        names = tables(page)
        check(names, "there is a table")
        for name in names:
            page.eval_on_selector(f'details[data-table="{name}"]',
                                  "node => { node.open = false; }")
        page.keyboard.press("Tab")
        widths(page, folder)
        for one in seen:
            check(False, str(one))
        page.emulate_media(media="print")
        page.pdf(path=(folder or "/tmp") + "/print.pdf")
        plain = browser.new_context(java_script_enabled=False).new_page()
        plain.goto(url)
        check(plain.locator("details[data-table] td").count() > 0,
              "rows without scripts")
        # the policy forbids axe, too: it is run in a page without one
        free = browser.new_context(bypass_csp=True).new_page()
        free.goto(url)
        free.wait_for_timeout(500)
        axe(free, "light")
        axe(free, "dark")
        browser.close()
    print("failed" if failed else "passed")
    sys.exit(1 if failed else 0)


main()
