#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks the map of two sides matched by content: content_page.py REPORT TABLES

Each cell says what became of its tensors as the tables in TABLES do, and leads
to their rows; files of findings are those that have the names.
"""
import re
import sys

import h5py

from driver import address, check, drive, settled


def texts(row):
    return {name: row[name].decode() if isinstance(row[name], bytes)
            else row[name] for name in row.dtype.names}


def place_of(name):
    """Layer and tensor; a name without a number is a tensor of no layer."""
    found = re.search(r"(?:^|\.)(\d+)\.(.*)$", name)
    return found.groups() if found else ("none", name)


def wanted(file):
    """(layer, tensor): words of what became of it."""
    made = {}
    matches = [texts(row) for row in file["content_matches"][:]]
    alone = [texts(row) for row in file["content_alone"][:]]
    of_b = {name for row in matches for name in row["right"].split(", ")}
    of_b |= {row["name"] for row in alone if row["side"] == "B"}
    for row in matches:
        for name in row["left"].split(", "):
            word = row["relation"]
            if word == "equal" and row["right"] != name:
                word = "moved" if name in of_b else "other name"
            made.setdefault(place_of(name), set()).add(word)
    for row in alone:
        made.setdefault(place_of(row["name"]), set()).add(
            f"only in {row['side']}")
    return made


def counts(file):
    """(layer, tensor), word: of how many tensors; copies in B are of one."""
    made = {}
    for row in (texts(row) for row in file["content_matches"][:]):
        for name in row["left"].split(", "):
            made.setdefault(place_of(name), set()).add(name)
    for row in (texts(row) for row in file["content_alone"][:]):
        made.setdefault(place_of(row["name"]), set()).add(row["name"])
    return {place: len(names) for place, names in made.items()}


def moved(page, file):
    """The button of names that changed places shows all of their rows."""
    found = [texts(row) for row in file["findings"][:]]
    matches = [texts(row) for row in file["content_matches"][:]]
    for number, finding in enumerate(found):
        if finding["rule"] != "swapped":
            continue
        node = page.locator(f'details.finding[data-row="{number}"]')
        node.evaluate("node => { node.open = true; }")
        settled(page)
        node.locator(".chart button").first.click()
        settled(page)
        place = 'details[data-table="content_matches"]'
        shown = page.eval_on_selector_all(
            f"{place} tbody tr:not(.space)",
            "rows => rows.map(row => row.cells[0].textContent)")
        of = dict((row["left"], row["right"]) for row in matches)
        wanted = [row["left"] for row in matches
                  if row["left"] != row["right"] and row["right"] in of]
        check(shown == wanted and len(shown) == finding["count"] > 1,
              f"changed places: {wanted}, it shows {shown}")
        print(f"changed places: {len(shown)} rows")


def cells(page):
    """(layer, tensor): what the cell says."""
    heads = page.eval_on_selector_all(
        ".map thead th", "nodes => nodes.map(n => n.title)")[1:]
    rows = page.eval_on_selector_all(".map tbody tr", """rows => rows.map(
        row => [row.cells[0].textContent,
                ...[...row.cells].slice(1).map(c => c.textContent)])""")
    return {(row[0], head): re.sub(" \u00d7\\d+$", "", text)
            for row in rows for head, text in zip(heads, row[1:]) if text}


def numbers(page):
    """(layer, tensor): how many the cell says that there are."""
    return {tuple(re.match(r"layer (\S+), tensor (.*): ", words).groups()):
            int((re.search(" \u00d7(\\d+)$", words) or [0, 1])[1])
            for words in page.eval_on_selector_all(
                ".map td button", "nodes => nodes.map(n => n.ariaLabel)")}


def main(browser):
    with h5py.File(sys.argv[2]) as file:
        page = browser.new_page()
        page.goto(address(sys.argv[1]))
        settled(page)
        page.select_option("#map select >> nth=0", "content")
        made, shown = wanted(file), cells(page)
        check(set(made) == set(shown), f"{set(made) ^ set(shown)}")
        for place, word in shown.items():
            check(word in made.get(place, ()), f"{place}: {word}")
        most = counts(file)
        for place, number in numbers(page).items():
            check(1 <= number <= most[place],
                  f"{place}: {number} of {most[place]} tensors")
        moved(page, file)
        worst = page.locator(".map td button.high, .map td button.medium")
        if worst.count():
            worst.first.click()
            settled(page)
            told = page.inner_text("#scope")
            check("only layer" in told, f"a cell leads to {told}")
        names = {texts(row)["what"][3:] for row in file["finding_files"][:]}
        of = {texts(row)[side] for row in file["findings"][:]
              for side in "ab"} - {"none", ""}
        check(names == of, f"files of {names}, findings of {of}")
        print(f"map: {len(shown)} cells, {worst.count()} that stand out; "
              f"files of {len(names)} names")


drive(main)
