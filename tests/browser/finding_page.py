#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What findings of a page stand on: finding_page.py PAGE H5

Each finding of tensors has a chart of its number, whose points are those of
/series or, of SQNR, of the casts, or says why it has none, with a baseline or
why there is none. Each finding leads
by key to rows of a table, as many as it says, that have its labels, its call or
its trace, or says that there are none. Exit status 77: no playwright, chromium
or h5py, 1: a check failed.
"""
import math
import re
import sys

from driver import address, check, drive

try:
    import h5py
except ImportError:
    print("skipped: no h5py")
    sys.exit(77)

LABELS = ("layer_type", "layer_idx", "operation", "phase", "component",
          "quant_type", "tensor_name", "ordinal", "rank")
# rules about a place: all its ranks, however often it has a tensor
OF_PLACES = ("sqnr", "overflow", "underflow")


def text_of(cell):
    return cell.decode() if isinstance(cell, bytes) else cell


def place_of(row):
    return tuple(row[name] for name in LABELS)


def series_of(file):
    """(place, metric) to {iteration: value}, from tables of all tensors."""
    made = {}
    for row in file["series"][:] if "series" in file else ():
        key = place_of(row), text_of(row["metric"])
        made.setdefault(key, {})[int(row["iteration"])] = float(row["value"])
    several = set()
    tensors = file["tensors"][:]
    for cast in file["quantization"][:] if "quantization" in file else ():
        row = tensors[cast["tensor"]]
        if row["target_format"] != cast["format"]:
            continue
        key = place_of(row), "sqnr_db"
        mine = made.setdefault(key, {})
        if int(row["iteration"]) in mine:
            several.add(key)
        mine[int(row["iteration"])] = float(cast["sqnr_db"])
    return {key: mine for key, mine in made.items() if key not in several}


def charts(page, file):
    wanted, compared = series_of(file), 0
    ranks = {int(row["finding"]): int(row["rank"])
             for row in file["finding_series"][:]}
    drawn = {True: 0, False: 0}
    for number, finding in enumerate(file["findings"][:200]):
        node = page.locator(f'details.finding[data-row="{number}"]')
        node.evaluate("node => { node.open = true; }")
        chart = node.locator(".chart")
        chart.locator("figure, p.soft").first.wait_for()
        metric = text_of(finding["metric"])
        found = {int(at): float(value.replace("∞", "inf")) for at, value in
                 re.findall(r"^iteration (-?\d+): (\S+)$", "\n".join(
                     chart.locator("circle.point title").all_text_contents()),
                     re.M)}
        why = chart.locator("p.soft").filter(has_text="No chart of")
        words = f"finding {number}, {metric}"
        check(bool(found) != bool(why.count()), f"{words}: a chart or why not")
        none = chart.locator("p.soft").filter(has_text="No baseline: ")
        check(not found or math.isnan(finding["baseline"]) ==
              bool(none.count()), f"{words}: a baseline or why not")
        drawn[bool(found)] += 1
        rank = ranks.get(number, -1)
        if found:
            said = re.search(r" over iterations( of rank (\d+))?"
                             "(, on a logarithmic scale)?$",
                             chart.locator("figcaption").first.inner_text())
            check(said and (int(said[2]) if said[1] else -1) == rank ==
                  int(finding["rank"]) or finding["rank"] == -1,
                  f"{words}: a chart of rank {rank}: {said and said[0]}")
        name = {"total_overflow_ratio": "overflow_ratio"}.get(metric, metric)
        mine = wanted.get((place_of(finding), name))
        if found and mine:
            compared += 1
            mine = {at: v for at, v in mine.items() if math.isfinite(v)}
            check(set(found) == set(mine) and all(
                abs(found[at] - mine[at]) <= 5.01e-5 * abs(mine[at])
                for at in mine), f"{words}: {found} of {mine}")
    print(f"charts: {drawn[True]}, {compared} compared with tables; "
          f"{drawn[False]} say why not")
    return drawn


def rows_of(page, name):
    """Of an open table, as far as they are drawn: dicts of texts."""
    place = f'details[data-table="{name}"]'
    return page.eval_on_selector(place, """node => {
        const names = [...node.querySelectorAll('th')].map(
            cell => cell.textContent.replace(/ [[▲▼].*/, ''));
        return [...node.querySelectorAll('tbody tr:not(.space)')].map(row =>
            Object.fromEntries([...row.cells].map(
                (cell, i) => [names[i], cell.textContent])));
    }""")


def belongs(finding, row, traces):
    """Whether a row is of the tensor, the call or the trace of a finding."""
    names = finding.dtype.names
    if "tensor" in row:  # of casts and axes, which name the tensor's row
        return True
    if "trace" in row and "file" in names:
        return traces[int(row["trace"])] == text_of(finding["file"])
    if "test_per_step" in row and "name" in row and "name" in names:
        return row["name"] == text_of(finding["name"])
    if "test_name" in row and "name" in names and \
            not re.search(r"\s", text_of(finding["name"])):
        return row["test_name"] == text_of(finding["name"])
    labels = LABELS + ("step", "order")
    if "rule" in names and text_of(finding["rule"]) in OF_PLACES:
        labels = [name for name in labels if name not in ("rank", "ordinal")]
    if [name for name in labels if name in names and
            finding[name] not in (-1, b"")] == ["ordinal"] and "file" in row:
        return text_of(finding["file"]).endswith(row["file"].lstrip("…"))
    for name in labels:
        if name in row and name in names and finding[name] not in (-1, b""):
            if row[name] != str(text_of(finding[name])):
                return False
    if "name_a" in row and "order" in names and finding["order"] == -1:
        return row.get("problem", "") != "" or \
            text_of(finding["name"]) in (row["name_a"], row["name_b"])
    return True


def back(page, node, button, place, words):
    """From the rows back to the button that led there, by key."""
    page.keyboard.press("Tab")
    check(page.evaluate("document.activeElement.textContent") ==
          "Back to the finding", f"{words}: the next key leads back")
    node.evaluate("node => { node.open = false; }")
    page.keyboard.press("Enter")
    check(button.evaluate("node => node === document.activeElement") and
          node.get_attribute("open") is not None,
          f"{words}: its button has the focus again")
    box = button.bounding_box()
    check(box and 0 <= box["y"] < page.viewport_size["height"],
          f"{words}: and is in sight: {box}")
    check(not page.locator(f"{place} .tools").get_by_text(
        "Back to the finding").is_visible(), f"{words}: one way back")


def back_when_hidden(page, node, button, place, words):
    """The same where a cell of the map has hidden the finding meanwhile;
    whether one does."""
    cells = page.locator(".map td button")
    for i in range(min(cells.count(), 12)):
        button.focus()
        page.keyboard.press("Enter")
        page.wait_for_function("place => document.activeElement.matches("
                               "`${place} input[type=search]`)", arg=place)
        cells.nth(i).click()
        page.wait_for_selector("#findings-scope button")
        if node.is_visible():
            cells.nth(i).click()
            continue
        page.locator(f"{place} .tools").get_by_text(
            "Back to the finding").click()
        page.wait_for_function("node => node === document.activeElement",
                               arg=button.element_handle(), timeout=5000)
        box = button.bounding_box()
        check(box and 0 <= box["y"] < page.viewport_size["height"],
              f"{words}: hidden by cell {i}, and in sight again: {box}")
        return True
    return False


def leads(page, file):
    """By key from each finding to its rows."""
    led, alone, tables, hidden = 0, 0, set(), False
    traces = [text_of(row["file"]) for row in file["ranks"][:]] \
        if "ranks" in file and "file" in file["ranks"].dtype.names else []
    for number, finding in enumerate(file["findings"][:60]):
        node = page.locator(f'details.finding[data-row="{number}"]')
        node.evaluate("node => { node.open = true; }")
        tools = node.locator(".chart > p.tools")
        tools.wait_for()
        buttons = tools.locator("button")
        words = f"finding {number}"
        if buttons.count() == 0:
            alone += 1
            check("No table" in tools.inner_text(), f"{words}: says nothing")
        for i in range(buttons.count()):
            said = re.match(r"Show its (?:(\d+) rows|row) of "
                            r"(?:the first \d+ of )?(\S+)$",
                            buttons.nth(i).inner_text())
            count, name = int(said.group(1) or 1), said.group(2)
            buttons.nth(i).focus()
            page.keyboard.press("Enter")
            place = f'details[data-table="{name}"]'
            page.wait_for_function(
                "place => document.activeElement.matches("
                "`${place} input[type=search]`)", arg=place)
            shown = page.inner_text(f"{place} [role=status]").split()[0]
            check(int(shown) == count > 0, f"{words}: {shown} rows of {count}")
            evidence = text_of(finding["evidence"])
            said = re.match(r"\d+ of (\d+) tensors above", evidence)
            left = re.search(r"; (\d+) more that an incident", evidence)
            check(not said or name != "tensors" or count ==
                  int(said[1]) + (int(left[1]) if left else 0),
                  f"{words}: {count} tensors, {evidence}")
            back(page, node, buttons.nth(i), place, words)
            hidden = hidden or back_when_hidden(page, node, buttons.nth(i),
                                                place, words)
            for row in rows_of(page, name):
                check(belongs(finding, row, traces), f"{words}: {name} {row}")
            tables.add(name)
            led += 1
    print(f"{led} ways from findings to {' '.join(sorted(tables))}; "
          f"{alone} without" + (", one from behind the map" if hidden else ""))


def main(browser):
    with h5py.File(sys.argv[2]) as file:
        page = browser.new_page()
        page.goto(address(sys.argv[1]))
        if "finding_series" in file:
            charts(page, file)
        leads(page, file)


drive(main)
