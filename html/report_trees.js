/* SPDX-License-Identifier: MIT */
/*
 * Keys of a tree of places (lists in <details>, which read without scripts), as
 * WAI-ARIA's pattern of a tree has them: one item is reached by the Tab key,
 * arrows up and down go through the items in sight, right opens a place and then
 * goes into it, left closes it or goes to the one around it, Home and End go to
 * the ends, Enter opens and closes, letters go to the next that begins so. The
 * items of the lists become those of the tree; their lines stay what they are.
 */
function treeKeys(tree) {
const list = tree.querySelector(':scope > ul');
if (!list) return;
const items = [...list.querySelectorAll('li')];
const placeOf = (item) => item.querySelector(':scope > details');
const lineOf = (item) => (placeOf(item) || item).querySelector(':scope > div, :scope > summary');

/* The item of the place around one; null: there is none. */
function around(item) {
  const place = item.parentNode.closest('li');
  return place && list.contains(place) ? place : null;
}

const inSight = () => items.filter((item) => {
  for (let one = around(item); one; one = around(one))
    if (!placeOf(one).open) return false;
  return true;
});

/* What a line says: its name, then its numbers with what they are of. */
function words(line) {
  const [name, ...values] = line.children;
  return [name.textContent.trim(), ...values.filter((value) => value.textContent !== '')
      .map((value) => `${value.dataset.of} ${value.textContent}`)].join(', ');
}

function ready() {
  list.setAttribute('role', 'tree');
  list.setAttribute('aria-label', 'places, by arrow keys');
  for (const inner of list.querySelectorAll('ul')) inner.setAttribute('role', 'group');
  for (const item of items) {
    const place = placeOf(item), line = lineOf(item);
    item.setAttribute('role', 'treeitem');
    item.setAttribute('aria-label', words(line));
    item.tabIndex = -1;
    if (!place) continue;
    item.setAttribute('aria-expanded', String(place.open));
    line.tabIndex = -1;
  }
}

/* --- keys --------------------------------------------------------------------- */

let stop = null;
function stopAt(item) {
  if (stop) stop.tabIndex = -1;
  stop = item;
  if (stop) stop.tabIndex = 0;
}

function go(item) {
  if (!item) return;
  stopAt(item);
  item.focus({preventScroll: true}); /* an item is as tall as all in it */
  lineOf(item).scrollIntoView({block: 'nearest'});
}

/* Right opens, and goes in where that is open; left is the way back. */
function sideways(item, right, shown) {
  const place = placeOf(item);
  if (place && place.open !== right) place.open = right;
  else if (right) go(place && shown[shown.indexOf(item) + 1]);
  else go(around(item));
}

/* The next item that begins with a letter, with or without its kind. */
function find(letter, at, shown) {
  const begins = (item) => {
    const name = lineOf(item).children[0], kind = name.querySelector('i');
    const whole = name.textContent.trim();
    return [whole, kind ? whole.slice(kind.textContent.length).trim() : '']
        .some((one) => one.toLowerCase().startsWith(letter));
  };
  return [...shown.slice(at + 1), ...shown.slice(0, at)].find(begins);
}

/* Whether a key was one of ours. */
function pressed(item, key, itself) {
  const shown = inSight(), at = shown.indexOf(item), place = placeOf(item);
  const to = {ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: shown.length - 1}[key];
  if (to !== undefined) go(shown[to]);
  else if (key === 'ArrowRight' || key === 'ArrowLeft') sideways(item, key === 'ArrowRight', shown);
  else if (key === 'Enter' || key === ' ') {
    if (!itself) return false; /* a line opens by itself */
    if (place) place.open = !place.open;
  } else if (/^\S$/.test(key)) go(find(key.toLowerCase(), at, shown));
  else return false;
  return true;
}

function press(event) {
  const item = event.target.closest('[role=treeitem]');
  if (!item || event.altKey || event.ctrlKey || event.metaKey) return;
  if (pressed(item, event.key, event.target === item)) event.preventDefault();
}

/* Where the item that Tab reaches is folded away, it is the place in sight that
 * has it. */
function folded(event) {
  event.target.parentNode.setAttribute('aria-expanded', String(event.target.open));
  let at = stop;
  for (let one = around(stop); one; one = around(one))
    if (!placeOf(one).open) at = one;
  if (at !== stop) stopAt(at);
}

ready();
stopAt(items[0] || null);
list.addEventListener('keydown', press);
list.addEventListener('focusin', (event) => stopAt(event.target.closest('[role=treeitem]')));
list.addEventListener('toggle', folded, true); /* it does not bubble */
}
