/* SPDX-License-Identifier: MIT */
/*
 * The chart of a finding; charts by key and by touch, and where their labels
 * stand. What of a chart can
 * be pointed at is each of its elements that has a title of its own. The chart
 * is reached by the Tab key, arrows go through these in their order, and what
 * one says stands beside it and is announced; a touch shows the nearest.
 */
function chartKeys({make, draw, shown: told}) {
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

/* The first of the places, [x, y] of where words begin, that covers least, and
 * how much; what stands there then is taken as well. */
function place(words, places, boxes, width) {
  let best = null, least = Infinity;
  for (const at of places) {
    const box = boxOf(words, at);
    const cost = boxes.reduce((sum, one) => sum + overlap(box, one), 0) +
        100 * Math.max(0, box.right - width, -box.left);
    if (cost < least) [best, least] = [at, cost];
  }
  boxes.push(boxOf(words, best));
  return [...best, least];
}

/* --- the chart of a finding ------------------------------------------------ */

const HEIGHT = 180, BOTTOM = 24, EDGE = 15;
const RING = 7, NEAR = 22; /* of a point, and how near a label is its own */

/* Where a label of the baseline may stand, and one of the finding's point: near
 * it, then further and further away. */
const alongLine = (left, right, y) => [0, .25, .5, .75, 1].flatMap((share) =>
    [-4, 11, -16, 23, -28, 35].map((by) => [left + 4 + share * (right - left - 4), y + by]));
function around(x, y, long) {
  const near = [10, -10 - long, -long / 2, 30, -30 - long, 70, -70 - long, 120, -120 - long];
  const far = (dx, by) => Math.hypot(Math.max(dx, -dx - long, 0), by - 2);
  return [14, -10, 26, -22, 38, -34, 50, -46, 62, -58, 74, -70, 86, -82, 98, -94]
      .flatMap((by) => near.map((dx) => [dx, by]))
      .sort((a, b) => far(...a) - far(...b)).map(([dx, by]) => [x + dx, y + by]);
}

/* How points stand in a chart: x and y of a value, its least and largest ones.
 * Infinite values stand above all others. */
function scaled(points, finding, width) {
  const infinite = points.some(([, v]) => !Number.isFinite(v));
  const values = points.map(([, v]) => v).filter(Number.isFinite);
  if (finding.baseline !== null) values.push(finding.baseline);
  if (!values.length) values.push(1);
  const least = Math.min(...values), most = Math.max(...values);
  const top = infinite ? 28 : 10;
  const left = Math.max(70, 10 + LETTER * Math.max(told(least).length, told(most).length));
  const log = least > 0 && most > 30 * least;
  const map = log ? Math.log10 : (v) => v;
  const low = map(least), span = map(most) - low || 1;
  const steps = points.map(([i]) => i);
  if (typeof finding.iteration === 'number') steps.push(finding.iteration);
  const from = Math.min(...steps), to = Math.max(...steps);
  return {infinite, least, most, top, left, log, from, to,
          x: (i) => left + (i - from) / (to - from || 1) * (width - left - EDGE),
          y: (v) => Number.isFinite(v)
              ? HEIGHT - BOTTOM - (map(v) - low) / span * (HEIGHT - BOTTOM - top) : 10};
}

/* How far a place is from a box, to each side of it and in all. */
const aside = (box, u, v) => [Math.max(box.left, Math.min(box.right, u)) - u,
                              Math.max(box.top, Math.min(box.bottom, v)) - v];
const gap = (box, u, v) => Math.hypot(...aside(box, u, v));

/* From the ring of a point to its label, which has no room beside it. */
function leader(box, u, v) {
  const [dx, dy] = aside(box, u, v), long = Math.hypot(dx, dy);
  return draw('path', {class: 'leader', d: `M${u + RING * dx / long} ${v + RING * dy / long}` +
      `L${u + dx} ${v + dy}`});
}

/* Draws a label where it covers least; that of the finding's point as near to
 * that as it covers nothing, above the chart or below its axis as well, with a
 * line to it where it is not beside it. */
function labels(places, left, width) {
  const boxes = [...taken(places, 4),
      {left, right: width, top: HEIGHT - BOTTOM - 1, bottom: HEIGHT},
      {left: 0, right: left + 1, top: 0, bottom: HEIGHT}];
  const made = {below: 0, above: 0, clear: (box) => boxes.push(box), add: (words, at) => {
    const inside = at.filter(([, v]) => v > 9 && v < HEIGHT - BOTTOM - 4);
    const [x, y] = place(words, inside, boxes, width);
    return draw('text', {class: 'label', x, y}, words);
  }, own: (words, u, v) => {
    const long = words.length * LETTER;
    const beside = Math.max(2, Math.min(width - long - 2, u - long / 2));
    const far = ([x, y]) => gap(boxOf(words, [x, y]), u, v);
    const at = [...around(u, v, long).filter(([, v]) => v > 9 && v < HEIGHT - BOTTOM - 4),
        [beside, -4], [beside, HEIGHT + 8]].sort((a, b) => far(a) - far(b));
    const [x, y] = place(words, at, boxes, width);
    made.above = y < 0 ? 16 : made.above;
    made.below = y > HEIGHT ? 16 : made.below;
    const text = draw('text', {class: 'label its', x, y}, words);
    return far([x, y]) > NEAR ? [leader(boxOf(words, [x, y]), u, v), text] : [text];
  }};
  return made;
}

/* The point of the finding in a ring, or a line where it has no number. */
function marked(finding, points, {x, y, top}, label) {
  const at = x(finding.iteration), {first} = finding.words;
  const own = points.find(([i]) => i === finding.iteration);
  if (own) {
    const v = y(own[1]);
    label.clear({left: at - 8, right: at + 8, top: v - 8, bottom: v + 8});
    return [draw('circle', {class: 'bad', cx: at, cy: v, r: RING}),
            ...label.own(first, at, v)];
  }
  const words = `${first}: no number`, middle = (top + HEIGHT - BOTTOM) / 2;
  label.clear({left: at - 2, right: at + 2, top, bottom: HEIGHT - BOTTOM});
  return [draw('path', {class: 'bad', 'stroke-dasharray': '4 3',
                        d: `M${at} ${top}V${HEIGHT - BOTTOM}`}),
          ...label.own(words, at, middle)];
}

function dotOf(i, v, finding, over, {x, y}) {
  const dot = draw('circle', {class: 'point', cx: x(i), cy: y(v), r: 2.5});
  dot.append(draw('title', {}, `${over} ${i}: ${Number.isFinite(v) ? told(v) : '∞'}` +
      (finding.name ? `, ${finding.name(i)}` : '')));
  return dot;
}

/* A figure of points [x, value]; `finding` has caption, metric, baseline or null,
 * iteration, words of these two, and `over`, what x is. */
function chart(points, finding, width) {
  const over = finding.over || 'iteration', base = finding.baseline;
  const scale = scaled(points, finding, width), {x, y, left, top, least, most} = scale;
  const places = points.map(([i, v]) => [x(i), y(v)]), label = labels(places, left, width);
  const svg = draw('svg', {width, role: 'img'},
      draw('title', {}, `${finding.metric} over ${over}s`),
      draw('path', {class: 'axis', fill: 'none',
                    d: `M${left} ${top}V${HEIGHT - BOTTOM}H${width - EDGE}`}),
      draw('polyline', {class: 'line', points: places.map((at) => at.join(',')).join(' ')}),
      ...points.map(([i, v]) => dotOf(i, v, finding, over, scale)));
  if (typeof finding.iteration === 'number')
    svg.append(...marked(finding, points, scale, label));
  if (base !== null)
    svg.append(draw('line', {x1: left, x2: width - EDGE, y1: y(base), y2: y(base),
                             class: 'axis', 'stroke-dasharray': '4 3'}),
               label.add(finding.words.baseline, alongLine(left, width - EDGE -
                   finding.words.baseline.length * LETTER, y(base))));
  const text = (x, y, words, more) => draw('text', {x, y, ...more}, words);
  svg.append(...(scale.infinite ? [text(left - 14, 14, '∞')] : []),
      text(2, y(most) + 8, told(most)), text(2, y(least), told(least)),
      text(left, HEIGHT - 6, `${over} ${scale.from}`),
      text(width - EDGE, HEIGHT - 6, String(scale.to), {'text-anchor': 'end'}));
  svg.setAttribute('viewBox', `0 ${-label.above} ${width} ` +
                   (HEIGHT + label.above + label.below));
  return make('figure', {class: 'shares'}, make('figcaption', {},
      finding.caption + (scale.log ? ', on a logarithmic scale' : '')), svg);
}

return {ready, chart};
}
