/* SPDX-License-Identifier: MIT */
/*
 * Charts by key and by touch, and where their labels stand. What of a chart can
 * be pointed at is each of its elements that has a title of its own. The chart
 * is reached by the Tab key, arrows go through these in their order, and what
 * one says stands beside it and is announced; a touch shows the nearest.
 */
function chartKeys(make) {
/* Letters of 11 pixels: how wide one is, how far it goes above its line. */
const LETTER = 6.7, ABOVE = 9, BELOW = 3;

const tip = make('div', {id: 'tip', role: 'status', hidden: true});
document.body.append(tip);
let shown = null;

const pointsOf = (svg) => [...svg.querySelectorAll(':scope * > title')]
    .map((title) => title.parentNode).filter((node) => node.tagName !== 'text');

function hide() {
  if (shown) shown.classList.remove('at');
  shown = null;
  tip.hidden = true;
  tip.textContent = '';
}

/* The words stand above the point, below where there is no room. */
function show(point) {
  hide();
  shown = point;
  point.classList.add('at');
  tip.hidden = false;
  tip.textContent = point.querySelector('title').textContent;
  const at = point.getBoundingClientRect(), own = tip.getBoundingClientRect();
  const left = Math.min(at.left + at.width / 2 - own.width / 2,
                        document.documentElement.clientWidth - own.width - 4);
  const above = at.top - own.height - 8;
  tip.style.left = `${scrollX + Math.max(4, left)}px`;
  tip.style.top = `${scrollY + (above > 0 ? above : at.bottom + 8)}px`;
}

function move(svg, event) {
  const all = pointsOf(svg), at = all.indexOf(shown);
  const to = {ArrowRight: at + 1, ArrowDown: at + 1, Home: 0, End: all.length - 1,
      ArrowLeft: at < 0 ? 0 : at - 1, ArrowUp: at < 0 ? 0 : at - 1}[event.key];
  if (event.key === 'Escape') hide();
  if (to === undefined || event.altKey || event.ctrlKey || event.metaKey) return;
  event.preventDefault();
  const point = all[Math.max(0, Math.min(all.length - 1, to))];
  point.scrollIntoView({block: 'nearest', inline: 'nearest'});
  show(point);
}

/* How far a place is from what a point covers. */
function distance(point, x, y) {
  const {left, right, top, bottom} = point.getBoundingClientRect();
  return Math.hypot(Math.max(left - x, 0, x - right), Math.max(top - y, 0, y - bottom));
}

function touch(svg, event) {
  let best = null, least = Infinity;
  for (const point of pointsOf(svg)) {
    const far = distance(point, event.clientX, event.clientY);
    if (far < least) [best, least] = [point, far];
  }
  if (best) show(best);
}

/* Once what is drawn in it is there. */
function ready(svg) {
  const count = pointsOf(svg).length;
  const title = svg.querySelector(':scope > title');
  if (!count || svg.getAttribute('aria-hidden')) return;
  for (const [name, value] of [['tabindex', 0], ['role', 'application'],
      ['aria-roledescription', 'chart'], ['aria-label', `${title ? title.textContent : ''}: ` +
          `${count} point${count > 1 ? 's' : ''}, by arrow keys`]])
    svg.setAttribute(name, value);
  svg.addEventListener('keydown', (event) => move(svg, event));
  svg.addEventListener('click', (event) => touch(svg, event));
  svg.addEventListener('blur', hide);
}

/* --- labels ----------------------------------------------------------------- */

const boxOf = (words, [x, y]) => ({left: x - 1, right: x + words.length * LETTER + 1,
    top: y - ABOVE, bottom: y + BELOW});
const overlap = (a, b) =>
    Math.max(0, Math.min(a.right, b.right) - Math.max(a.left, b.left)) *
    Math.max(0, Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top));

/* What labels have to keep clear of: points, and the line from one to the next,
 * as boxes of a few pixels. */
function taken(places, radius) {
  const box = (x, y, r) => ({left: x - r, right: x + r, top: y - r, bottom: y + r});
  return places.flatMap(([x, y], i) => {
    const [u, v] = places[i + 1] || [x, y];
    const parts = Math.min(40, Math.ceil(Math.hypot(u - x, v - y) / 6));
    return [box(x, y, radius), ...Array.from({length: parts}, (_, k) =>
        box(x + (u - x) * k / parts, y + (v - y) * k / parts, 1))];
  });
}

/* The first of the places, [x, y] of where words begin, that covers least; what
 * stands there then is taken as well. */
function place(words, places, boxes, width) {
  let best = null, least = Infinity;
  for (const at of places) {
    const box = boxOf(words, at);
    const cost = boxes.reduce((sum, one) => sum + overlap(box, one), 0) +
        100 * Math.max(0, box.right - width, -box.left);
    if (cost < least) [best, least] = [at, cost];
  }
  boxes.push(boxOf(words, best));
  return best;
}

return {ready, taken, place, LETTER};
}
