# SPDX-License-Identifier: MIT
"""Checks of the tables of a page: what their filters take and say where no row
is left, heads by key, columns that say nothing."""
import re

from driver import check

ROWS_MOST = 5000  # of tables whose filters are tried: each reads all rows

# of a table: its columns, the first value of each and in how many rows it is
COLUMNS = """async name => {
  const node = document.querySelector(`script[data-rows="${name}"]`);
  const bytes = Uint8Array.from(atob(node.textContent.trim()),
                                c => c.charCodeAt(0));
  const table = await new Response(new Blob([bytes]).stream()
      .pipeThrough(new DecompressionStream('deflate'))).json();
  return {total: table.total, rows: table.rows.length,
      columns: table.columns.map((column, i) => {
        const values = table.rows.map(row => row[i]), first = values[0];
        return {...column, first, count: values.filter(value =>
            value !== null && String(value) === String(first)).length,
            blank: values.every(value => value === null || value === '')};
      })};
}"""


def status(page, name, words):
    place = f'details[data-table="{name}"]'
    page.fill(f"{place} input[type=search]", words)
    return page.inner_text(f"{place} [role=status]")


def rows(told):
    return int(told.split()[0])


def filters(page, name, table):
    """Blanks around an operator, several values, and what is said of a filter
    that leaves no row: a label or a value that is none, or two together."""
    if table["rows"] > ROWS_MOST:
        return
    column = next((one for one in table["columns"] if one["first"] is not None
                   and re.match(r"[\w.:/-]+$", str(one["first"]))), None)
    if column is None:
        return
    label, value = column["name"], column["first"]
    for words in (f"{label}={value}", f"{label} = {value}",
                  f" {label} ={value}  ", f"{label}= {value}",
                  f"{label} = no|{value}"):
        told = status(page, name, words)
        check(rows(told) == column["count"] and "None is left" not in told,
              f"{name}: {words!r}: {told}, not {column['count']}")
    both = f"{label} != {value} {label} = {value}"
    told = status(page, name, both)
    check(rows(told) == 0 and "None is left: " in told and
          f"`{label} != {value}`" in told and
          (column["count"] == table["rows"] or f"`{label} = {value}` holds "
           f"for none of the {table['rows'] - column['count']} rows" in told),
          f"{name}: {both!r}: {told}")
    told = status(page, name, "No_such_label = 1")
    names = [one["name"] for one in table["columns"]]
    said = re.search(r"no label `No_such_label`; there are: ([^;]*?)"
                     r"(; rows behind these are not in this page)?\.$", told)
    check(rows(told) == 0 and said and set(re.sub(
        r" and \d+ more$", "", said[1]).split(", ")) <= set(names),
        f"{name}: an unknown label: {told}")
    check(bool(said and said[2]) == (table["total"] > table["rows"]),
          f"{name}: it says whether rows are cut: {told}")
    if label != label.upper():
        told = status(page, name, f"{label.upper()}={value}")
        check(rows(told) == 0 and f"no label `{label.upper()}`; there is "
              f"`{label}`" in told, f"{name}: another case: {told}")
    told = status(page, name, f"{label}=zzz-none")
    check(rows(told) == 0 and f"{label}=zzz-none" in told and
          f"{label} is " in told, f"{name}: a value that is none: {told}")
    listed = re.search(f"{label} is (.*?)( and \\d+ more)?[.;]", told)
    check(listed and max(map(len, listed[1].split(", "))) <= 40,
          f"{name}: values of some length: {told}")
    told = status(page, name, f"{label} > ")
    check(rows(told) == table["rows"],
          f"{name}: a condition without an end: {told}")
    status(page, name, "")


def heads(page, name):
    """One head is reached by Tab; arrows, Home and End go through them, and
    Enter sorts and stays."""
    heads_ = page.locator(f'details[data-table="{name}"] thead button')
    count = heads_.count()
    stops = page.locator(
        f'details[data-table="{name}"] thead button[tabindex="0"]')
    check(stops.count() == 1, f"{name}: {stops.count()} heads by Tab")
    at = "() => [...document.activeElement.closest('tr').cells].indexOf(" \
        "document.activeElement.parentNode)"
    stops.first.focus()
    for key, wanted in (("Home", 0), ("ArrowLeft", 0),
                        ("ArrowRight", min(1, count - 1)),
                        ("End", count - 1), ("ArrowRight", count - 1),
                        ("ArrowLeft", max(0, count - 2))):
        page.keyboard.press(key)
        got = page.evaluate(at)
        check(got == wanted, f"{name}: {key} leads to head {got}")
    page.keyboard.press("Enter")
    check(page.evaluate(at) == max(0, count - 2) and stops.count() == 1,
          f"{name}: a head that sorts keeps the focus")
    check(page.evaluate("document.activeElement.parentNode.ariaSort") in
          ("ascending", "descending"), f"{name}: it sorts")


def blank(page, name, table):
    """A column that says nothing in all rows is not shown, but can be."""
    place = f'details[data-table="{name}"]'
    shown = [re.sub(r" [\[▲▼].*", "", words) for words in page.locator(
        f"{place} thead th").all_text_contents()]
    wanted = [one["name"] for one in table["columns"] if not one["blank"]]
    check(shown == wanted or not wanted, f"{name}: {shown}, not {wanted}")
    none = [one["name"] for one in table["columns"] if one["blank"]]
    for label in none[:1]:
        box = page.locator(f"{place} .columns label").get_by_text(
            label, exact=True).locator("input")
        box.evaluate("node => node.click()")
        check(label in " ".join(page.locator(
            f"{place} thead th").all_text_contents()),
            f"{name}: {label} can be chosen")
        box.evaluate("node => node.click()")


def blank_without_scripts(page):
    """The same of the rows that stand in the page without scripts."""
    found = page.eval_on_selector_all("details[data-table]", """nodes =>
        nodes.flatMap(node => [...node.querySelectorAll('th')].filter(
            (head, i) => [...node.querySelectorAll('tbody tr')].every(
                row => row.cells[i].textContent === '')).map(head =>
                    `${node.dataset.table}: ${head.textContent}`))""")
    check(not found, f"columns without a word: {found[:4]}")


def tables(page, name):
    table = page.evaluate(COLUMNS, name)
    blank(page, name, table)
    filters(page, name, table)
    heads(page, name)
