#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Drives an HTML report in a real browser: page.py REPORT [FOLDER]

No console error, no request, the policy holds, tables sort, filter, scroll and
are copied, findings have charts and lead to their files, the map narrows what
is below, keys go through the page in its order, no name became markup, paper
has the findings, nothing is wider than a window of 360 pixels, axe finds
nothing serious, and the page reads without scripts. FOLDER takes pictures. Exit
status 77: no browser, 1: a check failed.
"""
import os
import re
import shutil
import sys
import time
import urllib.parse

try:
    from playwright.sync_api import sync_playwright
except ImportError:
    print("skipped: no playwright")
    sys.exit(77)
CHROMIUM = shutil.which("chromium")
if not CHROMIUM:
    print("skipped: no chromium")
    sys.exit(77)

MAIN = ("tensors", "ops", "pairs", "replay", "calls", "scripts")
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


def settled(page):
    """Waits until the page has not changed for half a second."""
    page.evaluate("""() => new Promise(done => {
        let timer = setTimeout(done, 500);
        new MutationObserver(() => {
            clearTimeout(timer);
            timer = setTimeout(done, 500);
        }).observe(document, {subtree: true, childList: true,
                              attributes: true, characterData: true});
    })""")


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
        if name == "tensors":
            shown = []
            for words in ("numel>=1", "numel<1", "numel<=0", "numel!=-1"):
                page.fill(f"{place} input[type=search]", words)
                shown.append(int(page.inner_text(
                    f"{place} [role=status]").split()[0]))
            all_rows = int(count.split(" of ")[1].split()[0])
            check(shown[0] + shown[1] == all_rows and shown[1] == shown[2]
                  and shown[3] == all_rows, f"{name}: filters give {shown}")
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
        page.wait_for_function("""place => {
            const body = document.querySelector(`${place} .rows`);
            const edge = body.getBoundingClientRect();
            return [...body.querySelectorAll('tbody tr:not(.space)')].some(
                row => row.getBoundingClientRect().top < edge.bottom);
        }""", arg=place)
        print(f"{name}: {count}, sorted in {took:.2f} s")
    return names


def findings(page):
    nodes = page.locator("details.finding")
    for i in range(min(nodes.count(), 40)):
        nodes.nth(i).evaluate("node => { node.open = true; }")
    settled(page)
    print(f"{nodes.count()} findings, {page.locator('.chart svg').count()} "
          f"charts, {page.locator('path.before').count()} distributions with "
          f"one before, {page.locator('dd a').count()} links")


def links(page):
    """Each leads to a file that is there, and says where it lies."""
    for href, path in page.eval_on_selector_all(
            "a:not([href^='#'])", "nodes => nodes.map("
            "n => [n.getAttribute('href'), n.href])"):
        check(href.startswith(("./", "../")), f"link {href}")
        way = urllib.parse.urlparse(path)
        check(way.scheme == "file" and not way.query and not way.fragment and
              os.path.exists(urllib.parse.unquote_to_bytes(way.path)),
              f"{path} leads to nothing")


def inert(page):
    """What came from names is text, and none of it turns or rings."""
    odd = page.eval_on_selector_all(
        "*", "nodes => nodes.filter(n => n.getAttributeNames().some("
        "a => a.startsWith('on')) || /^(i?frame|object|embed|base|form)$/i"
        ".test(n.tagName) || /^\\s*(javascript|vbscript):/i.test("
        "n.getAttribute('href') || '')).map(n => n.outerHTML.slice(0, 100))")
    check(not odd, f"markup: {odd[:2]}")
    text = page.evaluate("document.documentElement.textContent")
    found = re.search("[\x00-\x08\x0b-\x1f\x7f\u061c\u200e\u200f"
                      "\u2028-\u202e\u2066-\u2069]", text)
    check(not found, f"a character that turns: {found!r}")
    scripts = page.eval_on_selector_all(
        "script", "nodes => nodes.filter(n => n.type !== 'text/plain').length")
    check(scripts == 1, f"{scripts} scripts")


def heat(page):
    cells = page.locator(".map td button")
    if cells.count() == 0:
        return
    for value in page.eval_on_selector_all(
            "#map select >> nth=0 >> option",
            "nodes => nodes.map(n => n.value)"):
        page.select_option("#map select >> nth=0", value)
        check(cells.count() > 0, f"map of {value}")
    page.select_option("#map select >> nth=0", "abs_max")
    cells.first.focus()
    cells.first.press("Enter")
    settled(page)
    place = 'details[data-table="tensors"] [role=status]'
    count = page.inner_text(place)
    shown, of = count.split(" rows")[0].split(" of ")
    check(0 < int(shown) < int(of), f"a cell of the map leads to {count}")
    check(cells.first.get_attribute("aria-pressed") == "true", "it is pressed")
    check("only" in page.inner_text("#scope"), "what is below says so")
    print(f"map: {cells.count()} cells; the first has {count}")
    cells.first.press("Enter")
    check(page.inner_text(place).startswith(f"{of} of"), "once more: all")
    cells.first.press("Enter")
    page.click("#scope button >> nth=1")
    check(page.inner_text(place).startswith(f"{of} of"), "the button: all")
    check(page.locator('.map [aria-pressed="true"]').count() == 0,
          "no cell is pressed")


def narrowed(page):
    """A cell narrows the findings as well: one that has some, and one that has
    none; the line above the list leads back."""
    nodes = page.locator("details.finding")
    if page.locator(".map td button").count() == 0 or nodes.count() == 0:
        return
    page.select_option("#map select >> nth=0", index=0)
    with_some = page.locator(".map td button:not([aria-label$='no finding'])")
    with_none = page.locator(".map td button[aria-label$='no finding']")
    for cells in (with_some, with_none):
        if cells.count() == 0:
            continue
        label = cells.first.get_attribute("aria-label")
        count = 0 if label.endswith("no finding") else \
            int((re.search(r"\u00d7(\d+)$", label) or [0, 1])[1])
        place = label.rsplit(":", 1)[0]
        cells.first.scroll_into_view_if_needed()
        before = cells.first.bounding_box()["y"]
        cells.first.click()
        page.wait_for_selector("#findings-scope button")
        seen = page.locator("details.finding:not([hidden])").count()
        told = page.inner_text("#findings-scope")
        check(seen == count, f"{label}: {seen} findings")
        check(told.startswith(f"{count} of {nodes.count()} findings: {place}"),
              f"{label}: {told}")
        after = cells.first.bounding_box()["y"]
        check(abs(after - before) < 3, f"{label}: moved by {after - before}")
        page.locator("#findings-scope button").press("Enter")
        page.wait_for_function("!document.querySelector("
                               "'details.finding[hidden], #scope button')")
        check(page.inner_text("#findings-scope") == "", "all findings again")
        print(f"map: {label}, and as many in the list")


def formats(page):
    if page.locator("#formats-view").count() == 0:
        return
    for value in page.eval_on_selector_all(
            "#formats-view select >> nth=0 >> option",
            "nodes => nodes.map(n => n.value)"):
        page.select_option("#formats-view select >> nth=0", value)
        check(page.locator("#formats-view tbody td").count() > 0,
              f"formats by {value}")
    page.select_option("#formats-view select >> nth=0", index=0)
    print("formats:", " ".join(page.inner_text("#formats-view thead").split()))


def copies(page):
    """A table as TSV: a line a row, a cell a column."""
    place = "details[data-table][open]"
    page.click(f"{place} >> text=Copy as TSV")
    settled(page)
    area = page.locator(f"{place} textarea")
    text = area.first.input_value() if area.count() else \
        page.evaluate("navigator.clipboard.readText()")
    lines = text.rstrip("\n").split("\n")
    columns = page.locator(f"{place} >> nth=0").locator("th").count()
    rows = int(page.locator(f"{place} table").first
               .get_attribute("aria-rowcount")) - 1
    check(len(lines) == rows + 1, f"{len(lines)} lines of {rows} rows")
    check(all(line.count("\t") == columns - 1 for line in lines),
          f"{columns} columns")
    formulas = [cell for line in lines for cell in line.split("\t")
                if re.match(r"[=+@-](?!inf$|[0-9.])", cell)]
    check(not formulas, f"a spreadsheet would compute {formulas[:1]}")


def keys(page):
    """Tab goes through the page in the order it has."""
    settled(page)
    page.evaluate("window.before = null; window.back = 0")
    names = []
    for _ in range(60):
        page.keyboard.press("Tab")
        name = page.evaluate("""() => {
            const now = document.activeElement;
            if (now === document.body) return null;
            const follows = Node.DOCUMENT_POSITION_FOLLOWING;
            if (window.before &&
                !(window.before.compareDocumentPosition(now) & follows))
              window.back++;
            window.before = now;
            return getComputedStyle(now).outlineStyle === 'none'
                ? `unseen ${now.outerHTML.slice(0, 80)}` : now.tagName;
        }""")
        if name is None:
            break
        names.append(name)
    check(len(names) > 8, f"{len(names)} keys lead somewhere")
    check(page.evaluate("window.back") <= 1, "keys go back and forth")
    for name in names:
        check(not name.startswith("unseen"), name)


def paper(page, folder):
    page.emulate_media(media="print")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    check(page.locator("details.finding:not([open])").count() == 0,
          "findings are open on paper")
    check(page.locator("tr.space").count() == 0, "no empty room on paper")
    path = (folder or "/tmp") + "/print.pdf"
    page.pdf(path=path)
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    with open(path, "rb") as file:
        pages = len(re.findall(rb"/Type\s*/Page\b", file.read()))
    print(f"paper: {pages} pages")
    check(0 < pages < 400, f"{pages} pages of paper")
    page.emulate_media(media="screen")


def plain(browser, url):
    """Without scripts: findings, and the first rows of each table."""
    page = browser.new_context(java_script_enabled=False).new_page()
    page.goto(url)
    check(page.locator("details[data-table] td").count() > 0,
          "rows without scripts")
    for name, words in (section_words(section) for section in
                        page.locator("details[data-table]").all()):
        rows = page.locator(
            f'details[data-table="{name}"] tbody tr').count()
        count = int(re.search(r"(\d+) rows", words).group(1))
        most = 200 if name in MAIN else 20
        check(rows == min(most, count), f"{name}: {rows} rows of {count}")
        code = page.locator(f'details[data-table="{name}"] code').count()
        check(code == (name != "scripts"), f"{name} says where all of it is")


def section_words(section):
    return (section.get_attribute("data-table"),
            section.locator("summary").first.text_content())


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
    url = "file://" + urllib.parse.quote(os.path.abspath(sys.argv[1]))
    folder = sys.argv[2] if len(sys.argv) > 2 else None
    with sync_playwright() as run:
        browser = run.chromium.launch(executable_path=CHROMIUM,
                                      args=["--no-sandbox"])
        context = browser.new_context(
            permissions=["clipboard-read", "clipboard-write"])
        page = context.new_page()
        seen = []
        watch(page, seen)
        started = time.time()
        page.goto(url)
        page.wait_for_load_state("load")
        print(f"loaded in {time.time() - started:.2f} s")
        findings(page)
        links(page)
        heat(page)
        narrowed(page)
        formats(page)
        names = tables(page)
        check(names, "there is a table")
        copies(page)
        inert(page)
        for name in names:
            page.eval_on_selector(f'details[data-table="{name}"]',
                                  "node => { node.open = false; }")
        fresh = context.new_page()
        watch(fresh, seen)
        fresh.goto(url)
        keys(fresh)
        fresh.close()
        widths(page, folder)
        paper(page, folder)
        for one in seen:
            check(False, str(one))
        plain(browser, url)
        # the policy forbids axe, too: it is run in a page without one
        free = browser.new_context(bypass_csp=True).new_page()
        free.goto(url)
        settled(free)
        axe(free, "light")
        axe(free, "dark")
        browser.close()
    print("failed" if failed else "passed")
    sys.exit(1 if failed else 0)


main()
