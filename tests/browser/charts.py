# SPDX-License-Identifier: MIT
"""Checks of the charts of a page: by key, by touch, and where labels stand."""
from driver import check, settled

# of each chart that is drawn: its points, and what its labels lie on
CHARTS = """() => [...document.querySelectorAll('main svg')].filter(svg =>
    svg.checkVisibility() && svg.querySelector('title') &&
    !svg.getAttribute('aria-hidden')).map(svg => {
  const box = node => node.getBoundingClientRect();
  const meets = (a, b) =>
      Math.min(a.right, b.right) - Math.max(a.left, b.left) > .5 &&
      Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > .5;
  const texts = [...svg.querySelectorAll('text')];
  const dots = [...svg.querySelectorAll('circle')];
  const labels = [...svg.querySelectorAll('text.label')];
  return {
    title: svg.querySelector('title').textContent, tab: svg.tabIndex,
    at: [...document.querySelectorAll('main svg')].indexOf(svg),
    role: svg.getAttribute('role'), label: svg.getAttribute('aria-label'),
    points: [...svg.querySelectorAll('circle, rect')].map(node =>
        node.querySelector('title')).filter(Boolean).map(n => n.textContent),
    covered: texts.flatMap(text => dots.filter(dot =>
        meets(box(text), box(dot))).map(() => text.textContent)),
    twice: labels.flatMap(label => texts.filter(text => text !== label &&
        meets(box(text), box(label))).map(text => text.textContent)),
    far: [...svg.querySelectorAll('circle.bad')].map(ring => {
      const label = svg.querySelector('text.its');
      const a = box(ring), b = box(label);
      const line = svg.querySelector('path.leader');
      const apart = (p, q) => Math.hypot(
          Math.max(p.left - q.right, q.left - p.right, 0),
          Math.max(p.top - q.bottom, q.top - p.bottom, 0));
      return [label.textContent, apart(a, b),
          !!line && apart(box(line), a) < 2 && apart(box(line), b) < 4];
    }).filter(([, long, led]) => long > 90 || (long > 26 && !led)),
    cut: texts.filter(text => box(text).left < box(svg).left - 1 ||
        box(text).right > box(svg).right + 1).map(text => text.textContent),
  };
})"""
TIP = "() => [document.getElementById('tip')].map(n => n.hidden ? '' : " \
    "n.textContent)[0]"


def clear(page):
    """Labels lie on no point and on no other, none is cut, and that of a ring
    stands beside it, or a line leads there."""
    found = page.evaluate(CHARTS)
    for one in found:
        for kind in ("covered", "twice", "cut", "far"):
            check(not one[kind], f"{one['title']}: {kind}: {one[kind][:2]}")
    return found


def by_key(page, found):
    """Every point is reached by arrows; what it says is announced."""
    for one in [one for one in found if one["points"]][:6]:
        words = one["title"]
        svg = page.locator("main svg").nth(one["at"])
        check(one["tab"] == 0 and one["role"] == "application" and
              f"{len(one['points'])} point" in (one["label"] or ""),
              f"{words}: {one['tab']}, {one['role']}, {one['label']}")
        if one["tab"] != 0:
            continue
        svg.focus()
        check(page.evaluate(TIP) == "", f"{words}: nothing is said at first")
        said = []
        for _ in one["points"][:60]:
            page.keyboard.press("ArrowRight")
            said.append(page.evaluate(TIP))
        check(said == one["points"][:60], f"{words}: {said[:3]}")
        page.keyboard.press("End")
        page.keyboard.press("ArrowRight")
        check(page.evaluate(TIP) == one["points"][-1], f"{words}: its end")
        page.keyboard.press("Home")
        page.keyboard.press("ArrowLeft")
        check(page.evaluate(TIP) == one["points"][0], f"{words}: its begin")
        check(page.locator("svg .at").count() == 1, f"{words}: one is marked")
        page.keyboard.press("Escape")
        check(page.evaluate(TIP) == "", f"{words}: Escape hides it")
        page.keyboard.press("ArrowRight")
        page.keyboard.press("Tab")
        check(page.evaluate(TIP) == "", f"{words}: it goes with the focus")
    check(page.locator("#tip[role=status]").count() == 1, "it is announced")


def by_touch(browser, url):
    """A tap on a chart shows the nearest point, inside of the window."""
    page = browser.new_context(has_touch=True, viewport={
        "width": 360, "height": 800}).new_page()
    page.goto(url)
    settled(page)
    svg = page.locator("main svg[tabindex='0']").first
    if svg.count():
        svg.scroll_into_view_if_needed()
        point = svg.locator("circle:has(> title), rect:has(> title)").last
        box = point.bounding_box()
        page.touchscreen.tap(box["x"] + box["width"] / 2 + 4,
                             box["y"] + box["height"] / 2 + 1)
        said = page.evaluate(TIP)
        check(said == point.locator("title").text_content(),
              f"a tap on {point.locator('title').text_content()}: {said}")
        tip = page.locator("#tip").bounding_box()
        check(tip and tip["x"] >= 0 and tip["x"] + tip["width"] <= 360,
              f"what a tap shows is in the window: {tip}")
        check(page.evaluate("document.documentElement.scrollWidth") <= 360,
              "it widens nothing")
    page.close()


def charts(page):
    found = clear(page)
    by_key(page, found)
    page.set_viewport_size({"width": 360, "height": 900})
    clear(page)
    page.set_viewport_size({"width": 1280, "height": 900})
    print(f"{len(found)} charts, {sum(len(one['points']) for one in found)} "
          "points by key")
