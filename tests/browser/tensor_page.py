#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What a page of tensors shows is what its tables have: tensor_page.py PAGE H5

Cells of the map, by magnitude and by SQNR, the casts of the formats' table and
the elements of a finding's distribution are computed again from the HDF5 file.
Exit status 77: no playwright, chromium or h5py, 1: a number differs.
"""
import re
import sys

from driver import address, check, drive

try:
    import h5py
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)


def cells(page, measure):
    page.select_option("#map select >> nth=0", measure)
    found = {}
    for words in page.eval_on_selector_all(
            ".map td button", "nodes => nodes.map(n => n.ariaLabel)"):
        place = re.match(r"layer (\S+), iteration (\S+): (.*)", words)
        text = place.group(3).replace("∞", "inf")
        found[tuple(-1 if name == "none" else int(name)
                    for name in place.groups()[:2])] = float(text)
    return found


def worst(rows, better):
    """Of pairs of a place and a value."""
    found = {}
    for place, value in rows:
        if value == value:
            found[place] = better(found.get(place, value), value)
    return found


def compare(words, found, wanted):
    """To the three digits that cells have; ties go either way."""
    for place in sorted(set(found) | set(wanted)):
        one, other = found.get(place), wanted.get(place)
        same = one == other or None not in (one, other) and \
            abs(one - other) <= 5.01e-3 * abs(other)
        check(same, f"{words}, {place}: {one} of {other}")


def heat(page, file):
    tensors, casts = file["tensors"][:], file["quantization"][:]
    places = [(int(row["layer_idx"]), int(row["iteration"]))
              for row in tensors]
    wanted = worst(zip(places, map(float, tensors["abs_max"])), max)
    compare("the map of magnitudes", cells(page, "abs_max"), wanted)
    wanted = worst(
        ((places[row["tensor"]], float(row["sqnr_db"])) for row in casts
         if row["format"] == tensors["target_format"][row["tensor"]]), min)
    compare("the map of SQNR", cells(page, "sqnr"), wanted)
    print(f"map: {len(wanted)} cells twice")


def formats(page, file):
    head = page.eval_on_selector_all(
        "#formats-view th", "nodes => nodes.map(n => n.textContent)")
    names = [re.sub(r" \[dB\]$", "", name) for name in head]
    groups = [row for row in file["quantization_groups"][:]
              if row["group_by"] == b"operation/tensor_name" and
              row["tensor_scale"] == b"none"]
    wanted = {(row["operation"].decode(), row["tensor_name"].decode(),
               row["format"].decode()): float(row["sqnr_db"])
              for row in groups}
    seen = 0
    for cells_ in page.eval_on_selector_all(
            "#formats-view tbody tr",
            "rows => rows.map(r => [...r.cells].map(c => c.textContent))"):
        row = dict(zip(names, cells_))
        for name in names:
            key = row["operation"], row["tensor_name"], name
            if key not in wanted:
                continue
            text = row[name].replace("exact", "inf")
            check(text == "inf" and wanted[key] == float("inf") or
                  abs(float(text) - wanted[key]) < 0.051,
                  f"{key}: {text} of {wanted[key]}")
            seen += 1
    check(seen == len(wanted), f"{seen} of {len(wanted)} casts")
    print(f"formats: {seen} casts")


def distribution(page, file):
    """The first finding: elements at and before, as many as the tensor has."""
    finding = file["findings"][0]
    bins = file["histograms/findings"][:]
    text = page.inner_text("details.finding >> nth=0 >> .chart")
    for when in (b"before", b"at"):
        mine = bins[(bins["finding"] == 0) & (bins["when"] == when)]
        words = f"iteration {mine['iteration'][0]}"
        count = int(mine["count"].sum())
        check(re.search(rf"{words}\b.*: {count} elements", text),
              f"{words} has {count} elements: {text}")
        if when == b"at":
            check(mine["iteration"][0] == finding["iteration"], words)
    print("distribution:", " / ".join(re.findall(r"iteration \d.*", text)))


def files(page, file):
    """Of a file its name stands in the table, and the whole path behind it."""
    place = 'details[data-table="tensors"] tbody'
    for row in range(3):
        path = file["tensors"]["file"][row].decode()
        cell = page.locator(f"{place} tr >> nth={row} >> td >> nth=0")
        check(cell.get_attribute("title") == path and
              path.endswith(cell.inner_text().removeprefix("…")) and
              cell.evaluate("n => n.scrollWidth <= n.clientWidth"),
              f"{path} stands there as {cell.inner_text()}")


def main(browser):
    with h5py.File(sys.argv[2]) as file:
        page = browser.new_page()
        page.goto(address(sys.argv[1]))
        page.wait_for_selector(".map td button")
        page.wait_for_selector("#formats-view tbody td")
        page.wait_for_selector(".chart path.before")
        heat(page, file)
        formats(page, file)
        distribution(page, file)
        files(page, file)


drive(main)
