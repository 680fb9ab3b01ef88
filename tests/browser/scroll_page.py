#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How a long table scrolls: scroll_page.py PAGE TABLE ROWS

Through the whole table frame by frame, by the wheel and by leaps: at each frame
rows stand in the middle of what is seen, those of that place, and few are in
the document. What it takes is printed and no reason to fail, as it hangs on the
machine: from a leap to its rows, the longest task, the first filter and the
first sort. Exit status 77: no playwright or chromium, 1: a check failed.
"""
import sys

from driver import address, check, drive, settled

TASKS = """() => {
  window.tasks = [];
  new PerformanceObserver(list => window.tasks.push(
      ...list.getEntries().map(one => one.duration)))
      .observe({type: 'longtask', buffered: true});
}"""
# by leaps: milliseconds until the frame after it, and what the middle shows
LEAPS = """async name => {
  const rows = document.querySelector(`details[data-table="${name}"] .rows`);
  const frame = () => new Promise(requestAnimationFrame);
  const view = rows.getBoundingClientRect();
  const found = [];
  for (let i = 0; i < 60; i++) {
    const from = performance.now();
    const end = rows.scrollHeight - rows.clientHeight;
    rows.scrollTop = end * (i * 37 % 60) / 59;
    await frame();
    rows.getBoundingClientRect();
    const took = performance.now() - from;
    const at = document.elementFromPoint(view.left + 60,
                                         (view.top + view.bottom) / 2);
    const row = at && at.closest('tr');
    found.push([took, row && row.className !== 'space'
        ? Number(row.getAttribute('aria-rowindex')) : null,
        (rows.scrollTop + rows.clientHeight / 2) / 26,
        rows.querySelectorAll('tbody tr').length]);
  }
  return found;
}"""
# what the wheel shows: of each frame its time, and whether rows stand there
WHEEL = """name => {
  const rows = document.querySelector(`details[data-table="${name}"] .rows`);
  const view = rows.getBoundingClientRect();
  window.frames_ = [];
  let last = performance.now();
  const next = now => {
    const at = document.elementFromPoint(view.left + 60,
                                         (view.top + view.bottom) / 2);
    window.frames_.push([now - last, !!at && !at.closest('tr.space')]);
    last = now;
    if (!window.stopped) requestAnimationFrame(next);
  };
  requestAnimationFrame(next);
}"""
TIMED = """async ([name, words]) => {
  const place = document.querySelector(`details[data-table="${name}"]`);
  const from = performance.now();
  if (words === null) place.querySelector('th button').click();
  else {
    const input = place.querySelector('input[type=search]');
    input.value = words;
    input.dispatchEvent(new Event('input'));
  }
  place.getBoundingClientRect();
  return [performance.now() - from,
          place.querySelector('[role=status]').textContent];
}"""


class Clock:
    """The processor's time of the page's thread, in ms: what a busy machine
    does not change much."""

    def __init__(self, page):
        self.session = page.context.new_cdp_session(page)
        self.session.send("Performance.enable", {"timeDomain": "threadTicks"})
        self.last = self.now()

    def now(self):
        metrics = self.session.send("Performance.getMetrics")["metrics"]
        return 1e3 * next(one["value"] for one in metrics
                          if one["name"] == "TaskDuration")

    def since(self):
        last, self.last = self.last, self.now()
        return self.last - last


def leaps(page, name):
    found = page.evaluate(LEAPS, name)
    for took, row, wanted, lines in found:
        # the head stands above the rows, and is one
        check(row is not None and abs(row - wanted) <= 3,
              f"row {row} where {wanted:.0f} should be")
        check(lines < 120, f"{lines} rows are in the document")
    times = sorted(took for took, *_ in found)
    return times[len(times) // 2], times[-1]


def wheel(page, name):
    box = page.locator(f'details[data-table="{name}"] .rows').bounding_box()
    page.mouse.move(box["x"] + 100, box["y"] + box["height"] / 2)
    page.eval_on_selector(f'details[data-table="{name}"] .rows',
                          "node => { node.scrollTop = 0; }")
    page.evaluate(WHEEL, name)
    for _ in range(80):
        page.mouse.wheel(0, 120)
    page.evaluate("window.stopped = true")
    page.wait_for_timeout(100)
    frames = page.evaluate("window.frames_")
    moved = page.eval_on_selector(f'details[data-table="{name}"] .rows',
                                  "node => node.scrollTop")
    check(moved > 0, "the wheel moves it")
    blank = sum(not there for _, there in frames)
    check(blank == 0, f"{blank} of {len(frames)} frames show no row")
    times = sorted(took for took, _ in frames)
    return times[len(times) // 2], times[-1], moved


def main(browser):
    name, count = sys.argv[2], sys.argv[3]
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.add_init_script(f"({TASKS})()")
    page.goto(address(sys.argv[1]))
    page.wait_for_selector(f'details[data-table="{name}"] input[type=search]')
    settled(page)
    longest = max(page.evaluate("tasks"), default=0)
    print(f"longest task of the start: {longest:.0f} ms")
    page.locator(f'details[data-table="{name}"] .rows').evaluate(
        "node => node.scrollIntoView({block: 'center'})")
    page.evaluate("tasks.length = 0")
    clock = Clock(page)
    middle, most = leaps(page, name)
    print(f"{count} rows, by leaps: rows after {middle:.0f} ms, at most "
          f"{most:.0f}, {clock.since() / 60:.0f} of the processor")
    middle, most, moved = wheel(page, name)
    longest = max(page.evaluate("tasks"), default=0)
    print(f"by the wheel, {moved:.0f} pixels: frames of {middle:.0f} ms, at "
          f"most {most:.0f}, {clock.since() / 80:.0f} of the processor a "
          f"notch; longest task {longest:.0f} ms")
    for words, what in (("weight", "first filter"), ("weigh", "next filter"),
                        ("numel>3", "filter by number"), ("", "no filter"),
                        (None, "first sort"), (None, "other order")):
        clock.since()
        took, told = page.evaluate(TIMED, [name, words])
        check(told.startswith(f"{count} of {count} rows"), f"{what}: {told}")
        print(f"{what}: {took:.0f} ms, {clock.since():.0f} of the processor")


drive(main)
