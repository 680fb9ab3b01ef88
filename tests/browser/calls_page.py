#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What a page of calls shows is what its tables have: calls_page.py PAGE H5

Pages of compare, dump and replay: cells of the map by each choice of rows and
columns, the rows that a cell leads to, the files that a finding names and the
calls that stand around its own are computed again from the HDF5 file. Exit
status 77: no playwright, chromium or h5py, 1: something differs.
"""
import math
import os
import re
import sys
import urllib.parse

from driver import address, check, drive, settled

try:
    import h5py
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

AROUND = 12  # calls before and behind that of a finding
PARTS = 12  # columns of the order of calls
# what a chart is of, and the map's colour: a column of the main table
MEASURES = ("error_out", "abs_max", "excess")


def text_of(cell):
    return cell.decode() if isinstance(cell, bytes) else cell


def rows_of(file, name):
    table = file[name][:] if name in file else []
    return [{column: text_of(row[column]) for column in table.dtype.names}
            for row in table]


def labels(call):
    """What the map may be over, of a call; None: it has no such label."""
    name = call["name"]
    found = re.match(r"(.*)[._](forward|backward|parameters_grad)(?:\.\d+)?$",
                     name)
    path = call.get("module") or ""
    if not found:
        path = ".".join(name.split(".")[:-1])
    parts = path.split(".") if path else name.split(".")[1:]
    layer = next((int(part) for part in parts if part.isdigit()), None)
    made = {"module": path or None, "step": call["step"], "rank": call["rank"],
            "layer": layer, "operator": None, "direction": None,
            "tensor": None}
    if found:
        words = found[1].split(".")
        made["direction"] = found[2]
        made["operator"] = words[-1] if words[0] == "Module" else \
            ".".join(words[:-1])
        if not path:
            said = re.search(r"\.L(\d+)\.", name)
            made["layer"] = int(said[1]) if said else None
    else:
        inner = name.split(".")
        at = next((i for i, word in enumerate(inner) if word.isdigit()), -1)
        made["tensor"] = ".".join(inner[at + 1:])
    return made


def calls_of(file):
    """The main table, with labels and the number that is looked at."""
    main = "replay" if "replay" in file else "calls"
    calls = rows_of(file, main)
    measure = next(name for name in MEASURES if name in calls[0])
    for call in calls:
        call["name"] = call.get("api_name", call.get("name"))
        call["value"] = call[measure]
        if measure == "error_out" and math.isnan(call["value"]):
            call["value"] = call["error_in"]
        call["labels"] = labels(call)
    size = -(-(max(call["order"] for call in calls) + 1) // PARTS)
    for call in calls:
        first = call["order"] // size * size
        call["labels"]["part"] = first if size == 1 else \
            f"{first}-{first + size - 1}"
    return main, measure, calls


def options(page, number):
    place = page.locator("#map select").nth(number)
    return place.evaluate("node => [...node.options].map(o => o.value)") \
        if page.locator("#map select").count() > number else []


def cells(page):
    """{(row, column): text} of the map, from titles that are not cut."""
    return {(row, column): words for row, column, words in
            page.evaluate("""() => {
        const head = [...document.querySelectorAll('.map thead th')]
            .map(cell => cell.title || cell.textContent);
        return [...document.querySelectorAll('.map tbody tr')].flatMap(row =>
            [...row.cells].slice(1).filter(cell => cell.firstChild).map(cell =>
                [row.cells[0].title, head[cell.cellIndex], cell.textContent]));
    }""")}


def none_of(name):
    """The head of the row of what has no such label."""
    return f"no {name}"


def same(shown, wanted):
    value = float(shown.replace("∞", "inf"))
    return value == wanted or abs(value - wanted) <= 5.01e-3 * abs(wanted)


def cut(path, rows):
    """A module is in the row of one that it is in, or is."""
    found = [row for row in rows if path is not None and
             (path == row or path.startswith(row + "."))]
    return max(found, key=len) if found else None


def heat(page, measure, calls):
    """By each choice of rows and columns that labels tell: the worst."""
    said = [options(page, 1), options(page, 2)]
    heads = page.inner_text("#map h2")
    rows, columns = said[0], said[1] or ["part"]
    if not rows or rows[0] not in ("module", "operator", "layer"):
        rows, columns = [re.match(r"Map: (\w+?)s ", heads)[1]], rows or columns
    page.select_option("#map select >> nth=0", measure)
    compared = 0
    for row in rows:
        for column in columns:
            for select, name in ((rows, row), (columns, column)):
                if len(select) > 1:
                    page.select_option(
                        f"#map select:has(option[value={name}])", name)
            compared += compare(cells(page), calls, row, column)
    for choice in (rows, columns):
        if len(choice) > 1:
            page.select_option(f"#map select:has(option[value={choice[0]}])",
                               choice[0])
    check(compared, "no cell was compared")
    print(f"map: {compared} cells, {' '.join(rows)} over {' '.join(columns)}")
    return rows, columns


def compare(shown, calls, row, column):
    names = {name for name, _ in shown}
    wanted = {}
    for call in calls:
        if math.isnan(call["value"]):
            continue
        of = call["labels"]
        down = cut(of[row], names) if row == "module" else of[row]
        down = none_of(row) if down is None else str(down)
        over = of[column]
        over = "none" if over is None or over == -1 else str(over)
        wanted[down, over] = max(call["value"],
                                 wanted.get((down, over), -math.inf))
    check(set(shown) == set(wanted), f"cells of {row}, {column}: "
          f"{sorted(set(shown) ^ set(wanted))[:4]}")
    for key in set(shown) & set(wanted):
        check(same(shown[key], wanted[key]),
              f"{key}: {shown[key]}, not {wanted[key]}")
    return len(wanted)


def narrowed(page, main, calls, rows):
    """A cell leads to the calls it has, and to what is of these."""
    if page.locator(".map tbody tr").count() < 2:
        return
    page.select_option("#map select >> nth=0", index=0)
    button = page.locator(".map td button").first
    head = button.evaluate("node => node.closest('tr').cells[0].title")
    wanted = [call for call in calls if head == (
        none_of(rows[0]) if call["labels"][rows[0]] is None
        else str(call["labels"][rows[0]]))]
    button.focus()
    page.keyboard.press("Enter")
    settled(page)
    told = page.inner_text(f'details[data-table="{main}"] [role=status]')
    said = re.match(r"(\d+) of (\d+) rows: (.*)", told)
    check(said and 0 < int(said[1]) <= max(len(wanted), 1) and
          int(said[2]) == len(calls), f"the first cell, {head}: {told}")
    for name in ("pairs", "dump_entries"):
        place = f'details[data-table="{name}"]'
        if page.locator(place).count():
            page.eval_on_selector(place, "node => { node.open = true; }")
            page.wait_for_selector(f"{place} [role=status]")
            other = page.inner_text(f"{place} [role=status]")
            check(said[3] in other, f"{name}: {other}, not {said[3]}")
    page.keyboard.press("Enter")
    settled(page)


def files(page, file, folder):
    """Each finding names its files: a link where one is there."""
    led = lost = 0
    listed = rows_of(file, "finding_files")
    for number in range(len(rows_of(file, "findings"))):
        node = page.locator(f'details.finding[data-row="{number}"]')
        wanted = [(row["what"], row["file"]) for row in listed
                  if row["finding"] == number]
        shown = list(zip(node.locator(".files dt").all_text_contents(),
                         node.locator(".files dd").all_text_contents()))
        check(shown == wanted, f"finding {number}: {shown}, not {wanted}")
        for i, (_, path) in enumerate(wanted):
            link = node.locator(".files dd").nth(i).locator("a")
            there = os.path.exists(path)
            check((link.count() == 1) == there, f"{path}: {link.count()} links")
            if there:
                led += 1
                target = urllib.parse.unquote(link.get_attribute("href"))
                check(os.path.samefile(os.path.join(folder, target), path),
                      f"{target} is not {path}")
            lost += not there
    check(led + lost == len(listed), "files that no finding names")
    print(f"files: {led} linked, {lost} that are not there")


def value_of(call):
    return math.inf if call.get("nonfinite", 0) > 0 else call["value"]


def points_of(figure, over):
    return {int(at): float(value.replace("∞", "inf")) for at, value in
            re.findall(rf"^{over} (-?\d+): ([^,\s]+)", "\n".join(
                figure.locator("circle.point title").all_text_contents()),
                re.M)}


def chart(page, finding, number, calls):
    """Calls around that of the finding, which is marked; else why not."""
    node = page.locator(f'details.finding[data-row="{number}"]')
    node.evaluate("node => { node.open = true; }")
    node.locator(".chart figure, .chart p.soft").first.wait_for()
    settled(page)
    own = [call for call in calls if (
        all(call[name] == finding[name] for name in ("step", "rank", "order"))
        if finding["order"] >= 0 else
        (finding["name"] + ".").startswith(call["name"] + "."))]
    # a checkpoint has tensors, which are no calls
    thing = "call" if "error_out" not in calls[0] or any(
        call["labels"]["direction"] for call in calls) else "tensor"
    figure = node.locator(".chart figure").filter(
        has_text=f"{thing} by {thing}")
    check(thing == "call" or "call" not in node.inner_text().replace(
        "These files name no calls", "").replace(" of calls", ""),
          f"finding {number}: {node.inner_text()}")
    words = f"finding {number}, {finding['name']}"
    near = [call for call in calls if own and
            all(call[name] == own[0][name] for name in ("step", "rank")) and
            abs(call["order"] - own[0]["order"]) <= AROUND]
    wanted = {call["order"]: value_of(call) for call in near
              if not math.isnan(value_of(call))}
    if len(wanted) < 2 or len(set(wanted.values())) == 1:
        check(figure.count() == 0 and node.locator(".chart p.soft").count(),
              f"{words}: no chart, and why")
        return 0
    shown = points_of(figure, thing)
    check(set(shown) == set(wanted) and all(
        shown[at] == wanted[at] or
        abs(shown[at] - wanted[at]) <= 5.01e-5 * abs(wanted[at])
        for at in wanted), f"{words}: {shown}, not {wanted}")
    marked = figure.locator("circle.bad").count()
    check(marked == (own[0]["order"] in wanted), f"{words}: {marked} marked")
    line = figure.locator("path.bad").count()
    check(line == 1 - marked, f"{words}: without a number, {line} lines")
    steps = {call["step"] for call in calls
             if call["name"] == own[0]["name"] and
             call["rank"] == own[0]["rank"]}
    over = node.locator(".chart").get_by_text(
        f"of this {thing} by step").count()
    known = [call for call in calls if call["name"] == own[0]["name"] and
             call["rank"] == own[0]["rank"] and not math.isnan(value_of(call))]
    check(over == (len(steps) > 1 and len(known) > 1),
          f"{words}: {over} by step, of {len(known)}")
    return 1


def main(browser):
    with h5py.File(sys.argv[2]) as file:
        page = browser.new_page()
        page.goto(address(sys.argv[1]))
        settled(page)
        table, measure, calls = calls_of(file)
        found = rows_of(file, "findings")
        drawn = sum(chart(page, finding, number, calls)
                    for number, finding in enumerate(found))
        print(f"charts: {drawn} of {len(found)} findings; "
              "the others say why not")
        files(page, file, os.path.dirname(os.path.abspath(sys.argv[1])))
        rows, _ = heat(page, measure, calls)
        narrowed(page, table, calls, rows)


drive(main)
