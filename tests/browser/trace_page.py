#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What only pages of traces have: trace_page.py REPORT TABLES

Trees open and close by keys, and what is inside a place adds up to it, also
without scripts; charts of several parts have their numbers beside them. With
h5py, every number of the page is that of TABLES, the HDF5 file. Exit status 77:
no browser, 1: a check failed.
"""
import math
import os
import re
import sys
import time

from driver import address, check, drive

# every place of a tree: its values, and those of what is directly inside
PLACES = """() => [...document.querySelectorAll('.tree')].map(tree => {
  const values = line => [...line.querySelectorAll(':scope > [data-of]')]
      .map(node => node.textContent === '' ? 0 : Number(node.textContent));
  const items = list => [...list.children].map(item =>
      item.querySelector(':scope > div, :scope > details > summary'));
  const all = [...tree.querySelectorAll('details')].map(node => ({
      name: node.firstElementChild.firstElementChild.textContent,
      own: values(node.querySelector(':scope > summary')),
      inside: items(node.querySelector(':scope > ul')).map(values)}));
  const whole = tree.querySelector('.head + .head');
  return {of: tree.querySelector('.head').textContent, all,
          roots: items(tree.querySelector(':scope > ul')).map(values),
          whole: whole && values(whole)};
})"""

ROWS = """async name => {
  const node = document.querySelector(`script[data-rows="${name}"]`);
  const bytes = Uint8Array.from(atob(node.textContent), c => c.charCodeAt(0));
  const table = await new Response(new Blob([bytes]).stream()
      .pipeThrough(new DecompressionStream('deflate'))).json();
  return table;
}"""


def adds_up(name, own, inside, columns):
    for k in columns:
        total = sum(values[k] for values in inside)
        least = 0.0006 * (len(inside) + 1)  # each has three digits
        check(abs(total - own[k]) <= least,
              f"{name}: {own[k]} is not the sum of what is inside, {total}")


def trees(page):
    found = page.evaluate(PLACES)
    check(found, "there is a tree")
    for tree in found:
        changes = "change" in tree["of"]
        # host times may overlap; device times and changes are exact
        columns = (0, 1, 2) if changes else (2,)
        for place in tree["all"]:
            adds_up(place["name"], place["own"], place["inside"], columns)
        if changes:
            adds_up("the step", tree["whole"], tree["roots"], columns)
        print(f"a tree of {len(tree['all'])} places that open")


# the lines of the first tree that are in sight, and which has the focus
LINES = """() => {
  const all = [...document.querySelector('.tree').querySelectorAll(
      '[role=treeitem]')].filter(line => line.checkVisibility());
  const item = document.activeElement.closest('[role=treeitem]');
  const up = item.parentNode.closest('[role=treeitem]');
  const place = item.querySelector(':scope > details');
  return {count: all.length, at: all.indexOf(item),
      open: place ? place.open : null, said: item.ariaExpanded,
      around: up ? all.indexOf(up) : -1, label: item.ariaLabel,
      stops: document.querySelector('.tree').querySelectorAll(
          '[role=treeitem][tabindex="0"]').length};
}"""


def press(page, key):
    page.keyboard.press(key)
    page.evaluate("() => new Promise(requestAnimationFrame)")
    page.wait_for_timeout(20)  # a place tells that it opened a task later
    got = page.evaluate(LINES)
    check(got["stops"] == 1, f"{key}: {got['stops']} lines by Tab")
    check(got["open"] is None and got["said"] is None or
          str(got["open"]).lower() == got["said"], f"{key}: {got}")
    return got


def arrows(page):
    """A tree by arrow keys: up and down through what is in sight, right opens
    and goes in, left goes back and closes."""
    first = page.locator(".tree [role=treeitem]").first
    first.focus()
    got = press(page, "End")
    check(got["at"] == got["count"] - 1, f"End leads to {got}")
    got = press(page, "ArrowDown")
    check(got["at"] == got["count"] - 1, f"no line behind the last: {got}")
    got = press(page, "Home")
    check(got["at"] == 0 and got["around"] == -1, f"Home leads to {got}")
    if got["open"]:
        closed = press(page, "ArrowLeft")
        check(closed["open"] is False and closed["at"] == 0 and
              closed["count"] < got["count"], f"left closes: {closed}")
    before = page.evaluate(LINES)
    got = press(page, "ArrowRight")
    check(got["open"] is True and got["at"] == 0 and
          got["count"] > before["count"], f"right opens: {got}")
    got = press(page, "ArrowRight")
    check(got["at"] == 1 and got["around"] == 0, f"right goes in: {got}")
    if got["open"]:
        press(page, "ArrowLeft")
    got = press(page, "ArrowLeft")
    check(got["at"] == 0, f"left goes to the place around: {got}")
    check(press(page, "ArrowDown")["at"] == 1, "down goes to the next line")
    got = press(page, "ArrowUp")
    check(got["at"] == 0, "up goes back")
    check(press(page, "Enter")["open"] is not got["open"] and
          press(page, " ")["open"] is got["open"],
          "Enter and the space bar open and close")
    page.locator(".tree summary").first.click()
    page.wait_for_timeout(20)
    check(page.locator(".tree").first.locator(
        '[role=treeitem][tabindex="0"]').first.is_visible(),
        "what Tab reaches is in sight")
    page.locator(".tree summary").first.click()


def keys(page):
    node = page.locator(".tree summary").first
    if node.count() == 0:
        return
    state = "node => node.parentNode.open"
    before = node.evaluate(state)
    node.focus()
    node.press("Enter")
    check(node.evaluate(state) != before, "Enter opens and closes a place")
    node.press("Space")
    check(node.evaluate(state) == before, "the space bar, too")
    arrows(page)
    tools = page.locator(".tree").first.locator("xpath=preceding-sibling::*[1]")
    tools.get_by_text("Open all").press("Enter")
    check(page.locator(".tree").first.evaluate(
        "tree => [...tree.querySelectorAll('details')].every(n => n.open)"),
        "all places are open")
    tools.get_by_text("Close all").press("Enter")
    check(page.locator(".tree").first.evaluate(
        "tree => [...tree.querySelectorAll('details')].every(n => !n.open)"),
        "all places are closed")


def charts(page):
    for node in page.locator("#charts section").all():
        title = node.locator("h3").inner_text()
        bars = node.locator("rect.part")
        if bars.count() == 0:
            continue
        node.locator("summary").evaluate("n => { n.parentNode.open = true; }")
        cells = [float(text or 0) for text in
                 node.locator("td").all_inner_texts()]
        drawn = node.locator("g rect.part").count()
        check(drawn == sum(value > 0 for value in cells),
              f"{title}: {drawn} parts are drawn, numbers {cells[:9]}")
        check(node.locator(".legend li").count() > 0, f"{title}: a legend")
        labels = node.locator("svg > text > title").all_text_contents()
        if "ank" in title:
            check(len(set(labels)) == len(labels) > 1 and not [
                words for words in labels if re.match(r"trace \d+$", words)],
                f"{title}: traces are called {labels[:3]}")
        print(f"{title}: {drawn} parts")


IDLE = {"device busy": ["busy"], "work pending": ["queued"],
        "driver allocations": ["alloc"], "DataLoader": ["dataloader"],
        "blocking calls": ["blocking"], "launch calls": ["launch"],
        "operators on the host": ["cpu_op"],
        "nothing recorded but Python": ["none"]}
COSTS = {"computation": ["kernel"], "copies and sets": ["memcpy", "memset"],
         "communication not hidden": ["communication"],
         "runtime calls": ["runtime"], "DataLoader": ["dataloader"],
         "operators on the host": ["cpu_exec"],
         "nothing recorded but Python": ["other"]}


def colours(node):
    """The letter and colour of each word of a legend, which contrast."""
    found = {}
    for item in node.locator(".legend li").all():
        fill = item.locator("rect").evaluate("n => getComputedStyle(n).fill")
        ink = item.locator("text").evaluate("n => getComputedStyle(n).fill")
        light = []
        for colour in (fill, ink):
            parts = [int(c) / 255 for c in re.findall(r"\d+", colour)[:3]]
            parts = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4
                     for c in parts]
            light.append(0.2126 * parts[0] + 0.7152 * parts[1] +
                         0.0722 * parts[2])
        check((max(light) + 0.05) / (min(light) + 0.05) > 4.5,
              f"a letter {ink} in {fill}")
        letter, word = item.inner_text().split("\n")
        found[word] = letter, fill
    return found


def causes(page, path):
    """One word, one colour and one letter mean one thing in all charts, and
    the columns that have it are named; with h5py, they hold its numbers."""
    of, words_of = {}, {}
    for node in page.locator("#charts section").all():
        title = node.locator("h3").inner_text()
        table = IDLE if title.startswith("Where the window of") else COSTS \
            if title.startswith(("Steps", "A step")) else None
        for word, look in colours(node).items():
            check(of.setdefault(word, look) == look, f"{word}: two colours")
            check(words_of.setdefault(look[0], word) == word and
                  words_of.setdefault(look[1], word) == word,
                  f"{title}: {look} is {word} and {words_of}")
            if not table:
                continue
            check(word in table, f"{title}: {word}")
            told = node.locator("p").inner_text()
            for column in table.get(word, []):
                check(re.search(rf"order: .*\b{column}\b", told),
                      f"{title}: {column} is not named")
    print(f"{len(of)} words, a colour and a letter each")
    numbers_of_causes(page, path)


def numbers_of_causes(page, path):
    try:
        import h5py
    except ImportError:
        return
    for node in page.locator("#charts section").all():
        title = node.locator("h3").inner_text()
        name, table, unit = ("idle", IDLE, 100) \
            if title.startswith("Where the window of") else \
            ("steps", COSTS, 1e-3)
        if not title.startswith(("Where the window of", "Steps")):
            continue
        with h5py.File(path) as file:
            rows = file[name][:]
        if name == "steps":
            rows = rows[rows["step"] >= 0]
        head = node.locator("thead th").all_text_contents()[1:]
        for k, row in enumerate(node.locator("tbody tr").all()):
            cells = [float(text or 0) for text in
                     row.locator("td").all_text_contents()]
            for word, cell in zip(head, cells):
                want = unit * sum(
                    rows[k][column if name == "idle" else column + "_us"]
                    for column in table[word])
                check(math.isclose(cell, want, rel_tol=6e-5, abs_tol=1e-9),
                      f"{title}, row {k}, {word}: {cell} is not {want}")


def scroll(page):
    """How long rows take to stand there while a long table is scrolled."""
    view = page.locator('details[data-table="ops"]')
    if view.count() == 0:
        return
    page.wait_for_selector('details[data-table="ops"] input[type=search]')
    took = page.evaluate("""() => {
      const rows = document.querySelector('details[data-table="ops"] .rows');
      const times = [];
      for (let i = 0; i < 50; i++) {
        rows.scrollTop = rows.scrollHeight * (i * 37 % 50) / 50;
        const from = performance.now();
        rows.dispatchEvent(new Event('scroll'));
        rows.getBoundingClientRect();
        times.push(performance.now() - from);
      }
      return times.sort((a, b) => a - b);
    }""")
    count = view.locator("[role=status]").inner_text()
    print(f"ops, {count}: rows after scrolling in {took[25]:.1f} ms, "
          f"at most {took[-1]:.1f}")


def same(shown, number):
    if shown is None:
        return math.isnan(number) or number < 0 and number == int(number)
    if isinstance(shown, str):
        return shown == ("inf" if number > 0 else "-inf")
    return math.isclose(shown, number, rel_tol=5.1e-7)


def numbers(page, path):
    try:
        import h5py
    except ImportError:
        print("numbers: no h5py")
        return
    names = page.eval_on_selector_all("script[data-rows]",
                                      "all => all.map(n => n.dataset.rows)")
    total = 0
    with h5py.File(path) as file:
        for name in names:
            table, rows = page.evaluate(ROWS, name), file[name][:]
            for i, column in enumerate(table["columns"]):
                if not column["number"]:
                    continue
                # of very long tables every so many rows
                for row in range(0, len(table["rows"]),
                                 1 + len(table["rows"]) // 4000):
                    cells = table["rows"][row]
                    total += 1
                    number = float(rows[row][column["name"]])
                    check(same(cells[i], number), f"{name}, row {row}, "
                          f"{column['name']}: {cells[i]} is not {number}")
        if "tree" in file:
            rows = file["tree"][:]
            first = rows[rows["trace"] == rows["trace"][0]]
            told = page.evaluate(PLACES)[0]["roots"]
            want = sum(first["device_us"][first["around"] < 0]) / 1e3
            got = sum(values[2] for values in told)
            check(abs(want - got) < 0.001 * len(told) + 1e-9,
                  f"device time of the tree: {got}, of the table: {want}")
    print(f"{total} numbers are those of {os.path.basename(path)}")


def main(browser):
    url = address(sys.argv[1])
    page = browser.new_page()
    started = time.time()
    page.goto(url)
    page.wait_for_selector("#charts section", timeout=20000)
    print(f"charts after {time.time() - started:.2f} s")
    trees(page)
    keys(page)
    charts(page)
    causes(page, sys.argv[2])
    scroll(page)
    numbers(page, sys.argv[2])
    plain = browser.new_context(java_script_enabled=False).new_page()
    plain.goto(url)
    check(plain.locator(".tree li").count() == page.locator(
        ".tree li").count() > 0, "trees without scripts")
    check(plain.locator(".tree [data-of]").first.is_visible(),
          "numbers of a tree without scripts")


drive(main)
