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


def cells(page):
    """(layer, tensor): what the cell says."""
    heads = page.eval_on_selector_all(
        ".map thead th", "nodes => nodes.map(n => n.title)")[1:]
    rows = page.eval_on_selector_all(".map tbody tr", """rows => rows.map(
        row => [row.cells[0].textContent,
                ...[...row.cells].slice(1).map(c => c.textContent)])""")
    return {(row[0], head): re.sub(" \u00d7\\d+$", "", text)
            for row in rows for head, text in zip(heads, row[1:]) if text}


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
