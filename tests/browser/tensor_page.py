#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What a page of tensors shows is what its tables have: tensor_page.py PAGE H5

Cells of the map, by magnitude and by SQNR, of all casts also where the page has
rows of some only, the casts of the formats' table and the elements of a
finding's distribution are computed again from the HDF5 file.
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
    tensors = file["tensors"][:]
    places = [(int(row["layer_idx"]), int(row["iteration"]))
              for row in tensors]
    wanted = worst(zip(places, map(float, tensors["abs_max"])), max)
    compare("the map of magnitudes", cells(page, "abs_max"), wanted)
    print(f"map: {len(wanted)} cells")


def named_cells(page, measure):
    """As `cells`, of a map whose rows and columns have names."""
    page.select_option("#map select >> nth=0", measure)
    found = {}
    for words in page.eval_on_selector_all(
            ".map td button", "nodes => nodes.map(n => n.ariaLabel)"):
        place = re.match(r"(?:layer|module) (.*), (?:iteration|tensor) (.*): "
                         r"(\S+)$", words)
        found[place[1], place[2]] = float(place[3].replace("∞", "inf"))
    return found


def names_of(page, tensors):
    """Of each tensor the names of its row and of its column of the map."""
    down, over = re.match(r"(layer|module)s over (iteration|tensor)s$",
                          page.get_attribute(".map table", "aria-label")
                          ).groups()
    heads = page.eval_on_selector_all(
        ".map tbody th", "nodes => nodes.map(n => n.textContent)")
    depth = max(len(name.split(".")) for name in heads)
    name = {"layer": lambda row: str(row["layer_idx"]).replace("-1", "none"),
            "module": lambda row: ".".join(
                row["module"].decode().split(".")[:depth]) or "none",
            "iteration": lambda row: str(row["iteration"]),
            "tensor": lambda row: row["tensor_name"].decode()}
    return [(name[down](row), name[over](row)) for row in tensors]


def losses(page, file):
    """Maps of SQNR, in each format, against all casts of the file."""
    tensors, casts = file["tensors"][:], file["quantization"][:]
    places, seen = names_of(page, tensors), 0
    formats = sorted(set(name.decode() for name in casts["format"]))
    for name in ["", *formats]:
        wanted = worst(
            ((places[row["tensor"]], float(row["sqnr_db"])) for row in casts
             if row["format"].decode() == (name or tensors["target_format"][
                 row["tensor"]].decode())), min)
        if not wanted:
            continue
        found = named_cells(page, f"sqnr:{name}" if name else "sqnr")
        compare(f"the map of SQNR {name}", found, wanted)
        seen += len(wanted)
    page.select_option("#map select >> nth=0", index=0)
    print(f"map: {seen} cells of SQNR of {len(casts)} casts")


def first_rows(page, name):
    """How many rows of a table are in the page, where that is not all."""
    return re.search(r"The first (\d+) rows are here", page.text_content(
        f'details[data-table="{name}"] p.soft >> nth=0'))


def cut(page, file):
    """A map of a table that is cut in the page says so, and no other does."""
    said = 0
    for measure in page.eval_on_selector_all(
            "#map select >> nth=0 >> option",
            "nodes => nodes.map(n => n.value)"):
        page.select_option("#map select >> nth=0", measure)
        name = "quantization_worst" if measure.startswith("sqnr") else \
            "findings" if measure == "finding" else "tensors"
        words = page.inner_text("#map p.soft")
        total = len(file[name])
        found = re.search(r"Of the first (\d+) of (\d+) ", words)
        short = first_rows(page, name) if name != "findings" else None
        check(bool(found) == bool(short), f"map of {measure}: {words}")
        if found:
            said += 1
            check(short and (int(found[1]), int(found[2])) ==
                  (int(short[1]), total), f"map of {measure}: {words}")
    check(len(file["tensors"]) > 50000 or not first_rows(page, "tensors"),
          "every tensor that a finding may lead to is in the page")
    words = page.locator("#formats-view > p").all_text_contents()
    check(bool(words) == bool(first_rows(page, "quantization_groups")),
          f"formats: {words}")
    page.select_option("#map select >> nth=0", index=0)
    print(f"map: {said} measures are of a part")


def formats(page, file):
    """Each number that the cells can have; what overflows stands beside."""
    for number, unit, of in (("sqnr_db", "dB", 1), ("sqnr_worst_db", "dB", 1),
                             ("overflow_ratio", "%", 100),
                             ("underflow_ratio", "%", 100)):
        page.select_option("#formats-view select >> nth=2", number)
        format_cells(page, file, number, unit, of)
    page.select_option("#formats-view select >> nth=2", "sqnr_db")


def format_cells(page, file, number, unit, of):
    head = page.eval_on_selector_all(
        "#formats-view th", "nodes => nodes.map(n => n.textContent)")
    names = [re.sub(rf" \[{unit}\]$", "", name) for name in head]
    groups = [row for row in file["quantization_groups"][:]
              if row["group_by"] == b"operation/tensor_name" and
              row["tensor_scale"] == b"none"]
    wanted = {(row["operation"].decode(), row["tensor_name"].decode(),
               row["format"].decode()): of * float(row[number])
              for row in groups}
    over = {(row["operation"].decode(), row["tensor_name"].decode(),
             row["format"].decode()): float(row["overflow_ratio"])
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
                  abs(float(text) - wanted[key]) < (
                      0.051 if unit == "dB" else 1e-3 * wanted[key] + 1e-9),
                  f"{number}, {key}: {text} of {wanted[key]}")
            said = re.search(rf"(^|; ){name} ([0-9.e-]+) %, ",
                             row.get("overflows", ""))
            check(bool(said) == (over[key] > 0), f"{key}: overflows, {row}")
            seen += 1
    check(seen == len(wanted), f"{seen} of {len(wanted)} casts")
    print(f"formats, {number}: {seen} casts")


def groups_of(file, name, layer, iteration):
    """Rows of groups by layer or iteration, or by both, that are of these."""
    found = 0
    for row in file[name][:]:
        by = text_of(row["group_by"]).split("/")
        if "key" in row.dtype.names:
            has = dict(zip(by, text_of(row["key"]).split("/")))
        else:
            has = {label: str(text_of(row[label])) for label in by}
        asked = [(has[label], value) for label, value in (
            ("layer_idx", layer), ("iteration", iteration)) if label in has]
        found += bool(asked) and all(
            has_ == str(value) for has_, value in asked)
    return found


def text_of(cell):
    return cell.decode() if isinstance(cell, bytes) else cell


def narrowed(page, file):
    """A cell narrows groups and formats to its layer, which says what it is
    over all the same; the button beside shows all again."""
    page.select_option("#map select >> nth=0", "abs_max")
    cells_ = page.locator(".map td button")
    label = cells_.last.get_attribute("aria-label")
    place = re.match(r"layer (\d+), iteration (\d+)", label)
    if not place:
        cells_ = page.locator('.map td button[aria-label^="layer 1, "]')
        place = re.match(r"layer (\d+), iteration (\d+)",
                         cells_.last.get_attribute("aria-label"))
    layer, iteration = map(int, place.groups())
    before = page.input_value("#formats-view select >> nth=0")
    cells_.last.click()
    for name in ("groups", "quantization_groups", "recommendations"):
        view = f'details[data-table="{name}"]'
        page.eval_on_selector(view, "node => { node.open = true; }")
        page.wait_for_selector(f"{view} [role=status]")
        told = page.inner_text(f"{view} [role=status]")
        wanted = groups_of(file, name, layer, iteration)
        check(told.startswith(f"{wanted} of ") and f"layer {layer}" in told
              and "over all" in told, f"{name}: {told}, not {wanted}")
    by = page.input_value("#formats-view select >> nth=0")
    check("layer_idx" in by.split("/"), f"formats by {by}")
    told = page.inner_text("#formats-view .view [role=status]")
    check(f"layer {layer}, over all iterations" in told, f"formats: {told}")
    said = page.inner_text("#formats-view > [role=status]")
    check(by == before or by in said and before in said, f"formats: {said}")
    head = page.locator("#formats-view thead th").all_text_contents()
    at = head.index("layer_idx")
    rows = page.eval_on_selector_all(
        "#formats-view tbody tr:not(.space)",
        "rows => rows.map(r => [...r.cells].map(c => c.textContent))")
    check(rows and {row[at] for row in rows} == {str(layer)},
          f"formats of layer {layer}: {[row[at] for row in rows]}")
    print(f"formats: {told}")
    page.locator("#formats-view button").get_by_text("Show all").click()
    page.wait_for_selector("#scope:empty", state="attached")
    check(page.input_value("#formats-view select >> nth=0") == before and
          "over all" not in page.inner_text(
              "#formats-view .view [role=status]"), "all formats again")
    check(not page.locator("#formats-view").get_by_text(
        "Show all").is_visible(), "and no button for that")


def members(page, file):
    """Where no group is by a label of the cell, those with its tensors stay."""
    heads = page.locator("#map h2").inner_text()
    if heads != "Map: modules over iterations":
        return
    page.locator(".map td button").first.click()
    module = page.locator(".map tbody th").first.get_attribute("title")
    mine = [row for row in file["tensors"][:]
            if text_of(row["module"]) == module]
    for name in ("quantization_groups", "recommendations"):
        view = f'details[data-table="{name}"]'
        page.eval_on_selector(view, "node => { node.open = true; }")
        page.wait_for_selector(f"{view} [role=status]")
        told = page.inner_text(f"{view} [role=status]")
        wanted = sum(any(all(row[label] == tensor[label] for label in text_of(
            row["group_by"]).split("/")) for tensor in mine)
            for row in file[name][:])
        check(told.startswith(f"{wanted} of {len(file[name])} ") and
              "with all its other tensors" in told and
              0 < wanted < len(file[name]), f"{name}: {told}, not {wanted}")
        print(f"{name}: {told}")


def distribution(page, file):
    """The first finding: elements at and before, as many as the tensor has."""
    finding = file["findings"][0]
    bins = file["histograms/findings"][:]
    text = page.inner_text("details.finding >> nth=0 >> .chart")
    for when in (b"before", b"at"):
        mine = bins[(bins["finding"] == 0) & (bins["when"] == when)]
        words = f"iteration {mine['iteration'][0]}"
        count = int(mine["count"].sum())
        check(re.search(rf"{words}\b.*: {count} element", text),
              f"{words} has {count} elements: {text}")
        if when == b"at":
            check(mine["iteration"][0] == finding["iteration"], words)
    print("distribution:", " / ".join(re.findall(r"iteration \d.*", text)))


def sides(page, file):
    """What stands beside the elements of overflow and underflow: those before
    the first bad iteration or of a tensor that is not bad, else the words that
    there are none; and the ends of formats that have such."""
    bins, tensors = file["histograms/findings"][:], file["tensors"][:]
    told = {"before": 0, "sibling": 0, "": 0, "range": 0}
    for number, finding in enumerate(file["findings"][:100]):
        rule = finding["rule"].decode()
        if rule not in ("overflow", "underflow"):
            continue
        node = page.locator(f'details.finding[data-row="{number}"]')
        node.evaluate("node => { node.open = true; }")
        node.locator(".chart figure.shares svg path.axis").first.wait_for()
        page.wait_for_timeout(20)
        text = node.locator(".chart").inner_text()
        mine = bins[bins["finding"] == number]
        kinds = {when.decode(): mine[mine["when"] == when]
                 for when in set(mine["when"])}
        limit = float(re.search(r"above ([0-9.]+) %",
                                finding["evidence"].decode())[1]) / 100
        metric = finding["metric"].decode()
        words = f"finding {number}, {rule}"
        side = "before" if "before" in kinds else \
            "sibling" if "sibling" in kinds else ""
        told[side] += 1
        if side:
            row = tensors[kinds[side]["tensor"][0]]
            count = int(kinds[side]["count"].sum())
            check(row[metric] <= limit and count % row["numel"] == 0,
                  f"{words}: {row[metric]} beside {limit}")
            check(side == "sibling" or
                  row["iteration"] < finding["iteration"], words)
            said = ": a tensor like it that loses no more than the limit"
            if side == "before":
                said = f"iteration {row['iteration']}, the last one before " \
                    "the first that is bad"
            check(f"{said}: {count} element" in text, f"{words}: {text}")
        check(bool(side) != ("Nothing stands beside it" in text),
              f"{words}: {text}")
        if "range" in kinds:
            told["range"] += 1
            lost = int(kinds["range"]["count"][0])
            numel = tensors["numel"][kinds["at"]["tensor"][0]]
            check(lost == round(float(finding["value"]) * numel) and
                  f"chart has it: {lost} element" in text, f"{words}: {text}")
    print("beside:", told)
    return told


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
        cut(page, file)
        losses(page, file)
        members(page, file)
        if len(file["findings"]) == 0:
            return
        page.wait_for_selector(".chart path.before")
        heat(page, file)
        formats(page, file)
        narrowed(page, file)
        distribution(page, file)
        sides(page, file)
        files(page, file)


drive(main)
