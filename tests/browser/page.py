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
import sys
import time
import urllib.parse

from charts import by_touch, charts
from driver import address, check, drive, settled
from tables import blank_without_scripts, tables as table_keys

MAIN = ("tensors", "ops", "pairs", "replay", "calls", "scripts")


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
        table_keys(page, name)
        head = page.locator(f"{place} th button").last
        head.scroll_into_view_if_needed()
        settled(page) # rows that came into sight may move it
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


def explained(page, measure):
    """Each word of the cells has its line below, in the same colour."""
    told = page.eval_on_selector_all(
        ".levels dt", "nodes => nodes.map(n => [n.textContent, n.className])")
    if not told:
        return
    words = page.eval_on_selector_all(
        ".map td button", "nodes => nodes.map(n => [n.textContent.replace("
        "/ \u00d7\\d+$/, ''), n.className])")
    check({tuple(one) for one in words} <= {tuple(one) for one in told},
          f"map of {measure}: {told} for {words[:9]}")
    means = page.locator(".levels dd").all_inner_texts()
    check(len(means) == len(told) and all(means), f"{measure}: {means}")


def heat(page):
    cells = page.locator(".map td button")
    if cells.count() == 0:
        return
    for value in page.eval_on_selector_all(
            "#map select >> nth=0 >> option",
            "nodes => nodes.map(n => n.value)"):
        page.select_option("#map select >> nth=0", value)
        check(cells.count() > 0, f"map of {value}")
        explained(page, value)
    names = page.eval_on_selector_all("#map select >> nth=0 >> option",
                                      "nodes => nodes.map(n => n.value)")
    page.select_option("#map select >> nth=0", next(
        name for name in ("abs_max", "error_out", "error") if name in names))
    cells.first.focus()
    cells.first.press("Enter")
    settled(page)
    main = next(name for name in ("tensors", "calls", "replay") if
                page.locator(f'details[data-table="{name}"]').count())
    place = f'details[data-table="{main}"] [role=status]'
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
    if page.locator("#map option[value=finding]").count() == 0:
        return
    page.select_option("#map select >> nth=0", "finding")
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


def navigation(page):
    """Links to the parts that there are, by their names, in their order."""
    settled(page)
    parts = page.eval_on_selector_all("main h2", """nodes => nodes.map(
        n => [n.textContent.split(':')[0], '#' + n.closest('[id]').id])""")
    links_ = page.eval_on_selector_all("nav a", """nodes => nodes.map(
        n => [n.textContent, n.getAttribute('href')])""")
    check(links_ == parts, f"parts {parts}, links {links_}")
    check(("Where the time goes" in [name for name, _ in links_]) ==
          (page.locator("#charts section").count() > 0), "charts have a link")
    check(("Map" in [name for name, _ in links_]) ==
          (page.locator(".map").count() > 0), "a map has a link")
    check(page.locator("details.text:not([open])").count() == 1 and
          parts[-1][0] == "Report", "the report's text is last, and closed")
    print("parts:", ", ".join(name for name, _ in parts))


def images(page):
    for alt, path in page.eval_on_selector_all(
            ".gallery figure", "nodes => nodes.map(n => ["
            "n.querySelector('img').alt, n.innerText.trim()])"):
        check(len(alt) > 8 and alt != path and "/" not in alt.split()[0],
              f"{path} is told as {alt!r}")


def menus(page):
    """Escape closes the menu of columns, and the key it was opened by has the
    focus again; another key does not."""
    menu = page.locator("details[data-table][open] .tools details").first
    head = menu.locator("summary")
    head.press("Enter")
    box = menu.locator("input").first
    box.focus()
    box.press("ArrowDown")
    check(menu.get_attribute("open") is not None, "the menu stays open")
    box.press("Escape")
    check(menu.get_attribute("open") is None, "Escape closes the menu")
    check(head.evaluate("node => node === document.activeElement"),
          "the menu's button has the focus")


# where a cell of the map is: its row, its column, and whether it is in sight
SEEN = """node => {
  const cell = node.getBoundingClientRect();
  const map = node.closest('.map').getBoundingClientRect();
  const td = node.closest('td');
  return [td.parentNode.rowIndex, td.cellIndex,
      cell.left >= map.left - 1 && cell.right <= map.right + 1 &&
      cell.top >= map.top - 1 && cell.bottom <= map.bottom + 1];
}"""
FOCUS = "() => [document.activeElement].map(%s)[0]" % SEEN


def value_of(words):
    word = words.split(": ")[-1].split()[0]
    ranks = {"critical": 4, "high": 3, "medium": 2, "low": 1, "error": 2,
             "warning": 1, "wrong": 3, "narrow": 2, "explained": 1}
    return ranks.get(word, 0) if not re.match(r"[-∞0-9]", word) else \
        float(word.replace("∞", "inf"))


def worst_in_sight(page, measure, small):
    """The only cell in the order of keys is the worst, and it can be seen."""
    page.set_viewport_size({"width": 360 if small else 1280, "height": 900})
    page.select_option("#map select >> nth=0", measure)
    cell = page.locator('.map td button[tabindex="0"]')
    check(cell.count() == 1, f"{cell.count()} cells are reached by Tab")
    if cell.count() != 1:
        return
    values = [value_of(words) for words in page.eval_on_selector_all(
        ".map td button", "nodes => nodes.map(n => n.ariaLabel)")]
    low = measure.startswith("sqnr") or measure == "cosine"
    wanted = min(values) if low else max(values)
    got = value_of(cell.get_attribute("aria-label"))
    check(got == wanted, f"{measure}: it shows {got}, the worst is {wanted}")
    check(cell.evaluate(SEEN)[2], f"{measure}: the worst is in sight")


def arrows(page):
    cells = page.locator(".map td button")
    if cells.count() == 0:
        return
    for measure in page.eval_on_selector_all(
            "#map select >> nth=0 >> option",
            "nodes => nodes.map(n => n.value)"):
        for small in (True, False):
            worst_in_sight(page, measure, small)
    if page.locator("#map option[value=finding]").count() == 0:
        return  # other measures have no cell where there is nothing
    page.select_option("#map select >> nth=0", "finding")
    page.locator('.map td button').last.evaluate("node => node.focus()")
    last = [page.locator(".map tbody tr").count(),
            page.locator(".map thead th").count() - 1]
    row = page.evaluate(FOCUS)[0]
    for key, wanted in (
            ("Control+Home", [1, 1]), ("ArrowUp", [1, 1]),
            ("ArrowLeft", [1, 1]), ("ArrowRight", [1, min(2, last[1])]),
            ("ArrowDown", [min(2, last[0]), min(2, last[1])]),
            ("Home", [min(2, last[0]), 1]),
            ("End", [min(2, last[0]), last[1]]), ("Control+End", last)):
        page.keyboard.press(key)
        got = page.evaluate(FOCUS)
        check(got == [*wanted, True], f"{key} leads to {got}, not {wanted}")
    check(page.locator('.map td button[tabindex="0"]').count() == 1,
          "one cell is reached by Tab")
    page.keyboard.press("Enter")
    check(page.locator('.map [aria-pressed="true"]').count() == 1,
          "Enter chooses a cell")
    page.keyboard.press("Tab")
    check(page.evaluate("!document.activeElement.closest('.map')"),
          "Tab leaves the map")
    print(f"map: {last[0]} rows, {last[1]} columns, the worst in row {row}")


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


# what is cut off: an element that is wider inside, or ends right of the paper
CUT = """() => [...document.querySelectorAll(
    'main, .rows, .map, td, th, pre, svg, .tree, img')].filter(node =>
    node.checkVisibility() &&
        (node.getBoundingClientRect().right > innerWidth ||
         (node.scrollWidth > node.clientWidth + 1 && node.tagName !== 'svg')))
    .map(node => node.outerHTML.slice(0, 120))"""


def words_of(page, selector):
    return [re.sub(" [▲▼]$", "", words) for words in
            page.locator(selector).all_text_contents()]


def told(page):
    """Paper says what the map is coloured by and what the formats are of, and
    tells no one to click."""
    ours = "\n".join(page.eval_on_selector_all(
        "#map, #formats-view, #charts, p.soft, .tools, #scope",
        "nodes => nodes.filter(n => n.checkVisibility())"
        ".map(n => n.innerText)"))
    asks = re.findall(r"(?i)[^.\n]*\b(?:click|press|button|cell narrows|"
                      r"show (?:all|its)|colour by|open all)\b[^.\n]*", ours)
    check(not asks, f"paper asks for what it cannot do: {asks[:2]}")
    for place, begin in (("#map", "Coloured by "), ("#formats-view", "By ")):
        if page.locator(f"{place} select").count() == 0:
            continue
        lines = [words for words in page.locator(
            f"{place} .paper").all_inner_texts() if words.startswith(begin)]
        chosen = page.locator(f"{place} select").first.evaluate(
            "node => node.selectedOptions[0].textContent")
        check(len(lines) == 1 and chosen in lines[0],
              f"{place}: paper says {lines}, not {chosen}")


def paper_of_a_cell(page):
    """Paper of what was narrowed says so, without the buttons."""
    if page.locator(".map td button").count() == 0:
        return
    page.locator(".map td button").first.click()
    settled(page)
    page.emulate_media(media="print")
    place = page.locator(".map [aria-pressed=true]").get_attribute("title")
    place = place.rsplit(":", 1)[0]
    for line in page.locator("#scope, #findings-scope").all():
        words = line.inner_text().strip()
        check(words.endswith(f"{place}."), f"on paper: {words}, not {place}")
    page.emulate_media(media="screen")


def paper(page, folder):
    tables_, map_ = (words_of(page, f"{place} thead th")
                     for place in ("details[data-table][open]", ".map"))
    cells = page.locator(".map td button").count()
    text = page.locator("details.text pre")
    page.emulate_media(media="print")
    page.set_viewport_size({"width": 980, "height": 700})  # Letter, less edges
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    told(page)
    check(page.locator("details.finding:not([open])").count() == 0,
          "findings are open on paper")
    check(page.locator("tr.space").count() == 0, "no empty room on paper")
    apart = page.eval_on_selector_all("details.finding", """nodes =>
        nodes.filter(n => n.offsetHeight > 700 ||
                     getComputedStyle(n).breakInside !== 'avoid').map(
            n => n.innerText.slice(0, 60))""")
    check(not apart, f"findings part from their charts on paper: {apart[:2]}")
    cut = page.evaluate(CUT)
    check(not cut, f"{len(cut)} are cut off on paper: {cut[:2]}")
    for place, wanted in (("details[data-table][open]", tables_),
                          (".map", map_)):
        printed = words_of(page, f"{place} thead th")
        lost = [name for name in wanted if name not in printed]
        check(not lost, f"{place}: paper lacks the columns {lost[:3]}")
    check(page.locator(".map td button").count() == cells, "all of the map")
    check(not page.locator("#report").is_visible() and not text.is_visible(),
          "a report that is closed is not on paper")
    page.eval_on_selector("details.text", "node => { node.open = true; }")
    check(text.is_visible(), "one that was opened is")
    page.eval_on_selector("details.text", "node => { node.open = false; }")
    path = (folder or "/tmp") + "/print.pdf"
    page.pdf(path=path, prefer_css_page_size=True)
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    check(words_of(page, "details[data-table][open] thead th") == tables_ and
          words_of(page, ".map thead th") == map_, "it is as before")
    with open(path, "rb") as file:
        data = file.read()
    pages = len(re.findall(rb"/Type\s*/Page\b", data))
    print(f"paper: {pages} pages")
    check(0 < pages < 400, f"{pages} pages of paper")
    for box in re.findall(rb"/MediaBox\s*\[0 0 ([\d.]+) ([\d.]+)\]", data):
        check(float(box[0]) > float(box[1]), f"paper lies on its side: {box}")
    page.emulate_media(media="screen")


def plain(browser, url):
    """Without scripts: the verdict, findings, the first rows of each table, and
    what is missing; with them, nothing is said to be."""
    page = browser.new_page()
    page.goto(url)
    check(not page.locator("noscript").is_visible(), "scripts run")
    found = page.locator("details.finding").count()
    settled(page)
    drawn = page.locator("#charts svg, .chart svg, .map").count() > 0
    page.close()
    page = browser.new_context(java_script_enabled=False).new_page()
    page.goto(url)
    note = page.locator("noscript")
    check(note.is_visible() and "JavaScript" in note.inner_text() and
          ("charts" in note.inner_text()) == drawn,
          "what is missing without scripts is said")
    check(page.locator(".lead").first.is_visible(), "the sentence")
    shown = [node.is_visible() for node in
             page.locator("details.finding > summary").all()]
    check(len(shown) == found and all(shown), f"{len(shown)} of {found} "
          "findings")
    for name in page.locator("nav a").all():
        check(page.locator(name.get_attribute("href")).count() == 1,
              f"{name.inner_text()} leads nowhere")
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
    blank_without_scripts(page)


def section_words(section):
    return (section.get_attribute("data-table"),
            section.locator("summary").first.text_content())


def widths(page, folder):
    for width, scheme in ((1280, "light"), (1280, "dark"), (360, "light")):
        page.emulate_media(color_scheme=scheme)
        page.set_viewport_size({"width": width, "height": 900})
        settled(page)
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


def used(page, folder):
    findings(page)
    charts(page)
    links(page)
    navigation(page)
    images(page)
    heat(page)
    narrowed(page)
    formats(page)
    names = tables(page)
    check(names, "there is a table")
    menus(page)
    copies(page)
    inert(page)
    for name in names:
        page.eval_on_selector(f'details[data-table="{name}"]',
                              "node => { node.open = false; }")
    widths(page, folder)


def fresh(context, url, seen, test):
    """A test of the page as it opens."""
    page = context.new_page()
    watch(page, seen)
    page.goto(url)
    settled(page)
    test(page)
    page.close()


def main(browser):
    url = address(sys.argv[1])
    folder = sys.argv[2] if len(sys.argv) > 2 else None
    context = browser.new_context(
        permissions=["clipboard-read", "clipboard-write"])
    page = context.new_page()
    seen = []
    watch(page, seen)
    started = time.time()
    page.goto(url)
    page.wait_for_load_state("load")
    print(f"loaded in {time.time() - started:.2f} s")
    used(page, folder)
    fresh(context, url, seen, keys)
    fresh(context, url, seen, arrows)
    fresh(context, url, seen, lambda one: paper(one, folder))
    fresh(context, url, seen, paper_of_a_cell)
    for one in seen:
        check(False, str(one))
    by_touch(browser, url)
    plain(browser, url)
    # the policy forbids axe, too: it is run in a page without one
    free = browser.new_context(bypass_csp=True).new_page()
    free.goto(url)
    settled(free)
    axe(free, "light")
    axe(free, "dark")


drive(main)
