/* SPDX-License-Identifier: MIT */
/*
 * The page of a report: tables that sort, filter and scroll, and what a finding
 * shows when it is opened. report_charts.js draws its chart, report_evidence.js
 * leads from it to rows, report_map.js draws the map; report_tensors.js,
 * report_calls.js, report_content.js and report_traces.js have what only pages of
 * tensors, of calls in dumps, of two checkpoints by content and of traces have.
 * Rows stand in the page as base64 of deflated JSON,
 * a list a row, and are unpacked when their table is opened. Only rows that can
 * be seen are in the document, so that 50 000 of them scroll; without this script
 * the first rows of each table stand there.
 * Everything that came from a file becomes text, never markup.
 */
'use strict';
(() => {
const ROW_PX = 26, AROUND = 12, CELLS_MOST = 4000, FILE_MOST = 40;
/* Of paper: rows of a table, letters of a line and of a column. */
const PRINTED = 40, PAPER = 168, COLUMN = 40, KEY = 24;
const loaded = new Map();

function make(name, props, ...children) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(props || {})) {
    if (key.startsWith('on')) node.addEventListener(key.slice(2), value);
    else if (value === true) node.setAttribute(key, '');
    else if (value !== false && value !== null) node.setAttribute(key, value);
  }
  node.append(...children);
  return node;
}

function draw(name, props, ...children) {
  const node = document.createElementNS('http://www.w3.org/2000/svg', name);
  for (const [key, value] of Object.entries(props)) node.setAttribute(key, value);
  node.append(...children);
  if (name === 'svg') queueMicrotask(() => keys.ready(node));
  return node;
}

/* Numbers that JSON cannot say are words. */
function number(cell) {
  if (cell === 'inf') return Infinity;
  if (cell === '-inf') return -Infinity;
  return typeof cell === 'number' ? cell : NaN;
}

const distinct = (values) => [...new Set(values)];

function shown(value) {
  if (value === null) return '';
  if (typeof value !== 'number' || Number.isInteger(value)) return String(value);
  return String(Number(value.toPrecision(5)));
}

const keys = chartKeys({make, draw, shown});
const {parse, why} = filterTools({number, distinct, shown});

/* --- rows ---------------------------------------------------------------- */

async function unpack(name) {
  const node = document.querySelector(`script[data-rows="${name}"]`);
  if (!node) return null;
  const bytes = Uint8Array.from(atob(node.textContent.trim()),
                                (c) => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream()
      .pipeThrough(new DecompressionStream('deflate'));
  const table = await new Response(stream).json();
  table.at = new Map(table.columns.map((column, i) => [column.name, i]));
  return table;
}

/* While rows are unpacked the page is busy, and until what waited for them has
 * drawn. */
let unpacking = 0;
const busyPart = document.querySelector('main');
function load(name) {
  if (!loaded.has(name)) {
    unpacking++;
    busyPart.setAttribute('aria-busy', 'true');
    loaded.set(name, unpack(name).finally(() => setTimeout(() => {
      if (!--unpacking) busyPart.removeAttribute('aria-busy');
    })));
  }
  return loaded.get(name);
}

function compare(a, b) {
  if (a === b) return 0;
  if (a === null || a === '') return 1;
  if (b === null || b === '') return -1;
  if (typeof a === 'number' && typeof b === 'number') return a - b;
  return String(a) < String(b) ? -1 : 1;
}

/* --- a table -------------------------------------------------------------- */

const unitOf = (column) =>
    column.unit && column.unit !== '1' ? ` [${column.unit}]` : '';

/* Of a path the end says most. */
const ending = (text, most) =>
    text.length > most ? `…${text.slice(1 - most)}` : text;

/* Columns of so many letters, beside `before` of them in each line of paper. */
function bands(widths, before) {
  const made = [[]];
  let used = before;
  widths.forEach((width, i) => {
    if (used + width > PAPER && made[made.length - 1].length) {
      made.push([]);
      used = before;
    }
    made[made.length - 1].push(i);
    used += width;
  });
  return made;
}

/* What all tables are narrowed to: {words, of}, where of(table) gives {words,
 * holds}, a test of its rows, with `rest` what it is over all the same, or null
 * where that says nothing about them, and lack(table) why. */
let scope = null;

/* What a filter of a table may look like, by labels that it has. */
function exampleOf({columns}) {
  const has = (name) => columns.some((column) => column.name === name);
  const numbers = columns.filter(({number}) => number).map(({name}) => name);
  const one = has('layer_idx') ? 'layer_idx' : numbers[0];
  const other = has('abs_max') ? 'abs_max' : numbers.find((name) => name !== one);
  return `words${one ? `, or ${one}=3` : ''}${other ? ` ${other}>100` : ''}`;
}

class View {
  constructor(table, place) {
    this.table = table;
    /* At first the columns that say something. */
    this.chosen = table.columns.map((column, i) => !table.rows.length ||
        table.rows.some((row) => row[i] !== null && row[i] !== ''));
    this.order = null;
    this.rows = table.rows;
    this.filter = make('input', {type: 'search', size: 34,
        placeholder: exampleOf(table), oninput: () => this.apply()});
    this.count = make('span', {class: 'soft', role: 'status'});
    this.all = make('button', {type: 'button', hidden: true,
        onclick: () => narrow(null)}, 'Show all');
    this.back = make('button', {type: 'button', hidden: true,
        onclick: () => this.goBack()}, 'Back to the finding');
    this.stop = 0;
    this.head = make('thead', {onkeydown: (event) => this.alongHeads(event)});
    this.body = make('tbody');
    this.scroll = make('div', {class: 'rows', tabindex: 0, role: 'region',
        'aria-label': `rows of ${table.name}`, onscroll: () => this.scrolled()},
        this.grid = make('table', {'aria-rowcount': table.rows.length + 1},
                         this.head, this.body));
    place.replaceChildren(
        make('div', {class: 'tools'},
             make('label', {}, 'Filter', this.filter), this.back, this.columns(),
             make('button', {type: 'button', onclick: () => this.copy()},
                  'Copy as TSV'), this.count, this.all),
        this.scroll);
    this.heads();
    this.apply();
  }

  columns() {
    const list = make('div', {class: 'columns'});
    this.table.columns.forEach((column, i) => {
      list.append(make('label', {}, make('input', {type: 'checkbox',
          checked: this.chosen[i], onchange: (event) => {
            this.chosen[i] = event.target.checked;
            this.heads();
            this.paint();
          }}), column.name));
    });
    const menu = make('details', {onkeydown: (event) => {
      if (event.key !== 'Escape' || !menu.open) return;
      menu.open = false;
      menu.firstChild.focus();
    }}, make('summary', {}, 'Columns'), list);
    return menu;
  }

  heads() {
    const row = make('tr', {'aria-rowindex': 1});
    this.table.columns.forEach((column, i) => {
      if (!this.chosen[i]) return;
      const mine = this.order && this.order.at === i;
      row.append(make('th', {scope: 'col',
          class: column.number ? 'number' : false,
          'aria-sort': !mine ? 'none'
              : this.order.sign > 0 ? 'ascending' : 'descending'},
          make('button', {type: 'button', tabindex: -1, onclick: () => this.sort(i)},
               column.name + unitOf(column) + (!mine ? '' : this.order.sign > 0 ? ' ▲' : ' ▼'))));
    });
    this.head.replaceChildren(row);
    this.stopAt(this.stop);
  }

  /* One head is reached by the Tab key, the others from it by arrows. */
  stopAt(at) {
    const heads = [...this.head.querySelectorAll('button')];
    if (!heads.length) return null;
    this.stop = Math.max(0, Math.min(heads.length - 1, at));
    heads.forEach((head, i) => { head.tabIndex = i === this.stop ? 0 : -1; });
    return heads[this.stop];
  }

  alongHeads(event) {
    const heads = [...this.head.querySelectorAll('button')];
    const at = heads.indexOf(event.target);
    const to = {ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0,
                End: heads.length - 1}[event.key];
    if (to === undefined || at < 0 || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    this.stopAt(to).focus();
  }

  /* The first click puts the largest numbers first, and A before B. */
  sort(at) {
    const first = this.table.columns[at].number ? -1 : 1;
    const again = this.order && this.order.at === at;
    this.order = {at, sign: again ? -this.order.sign : first};
    this.heads();
    this.apply();
    this.stopAt(this.kept().indexOf(at)).focus();
  }

  apply() {
    const terms = parse(this.filter.value, this.table);
    const narrow = scope && scope.of(this.table);
    if (narrow)
      terms.push({...narrow, lack: () => 'no row is of what was chosen in the map'});
    this.rows = this.table.rows.filter((row) => terms.every(({holds}) => holds(row)));
    if (this.order) {
      const {at, sign} = this.order;
      const empty = (cell) => cell === null || cell === '';
      this.rows.sort((a, b) => empty(a[at]) || empty(b[at])
          ? compare(a[at], b[at]) : sign * compare(a[at], b[at]));
    }
    this.count.textContent = this.told(narrow, terms);
    this.all.hidden = !narrow;
    this.scroll.scrollTop = 0;
    this.paint();
  }

  /* How many rows stand there, of what, and why none does. */
  told(narrow, terms) {
    const {rows, total} = this.table;
    const lack = scope && scope.lack && scope.lack(this.table);
    return `${this.rows.length} of ${rows.length} rows` +
        (total > rows.length ? `, the first of ${total}` : '') +
        (narrow ? `: ${narrow.words}${narrow.rest ? `, ${narrow.rest}` : ''}`
            : scope ? `: not narrowed${lack ? `, as ${lack}` : ''}` : '') +
        (this.rows.length || !rows.length ? '' : `. None is left: ${why(terms, this.table)}` +
            (total > rows.length ? '; rows behind these are not in this page.' : '.'));
  }

  /* To the button of a finding that led here, which is shown again. */
  async goBack() {
    const finding = this.from.closest('details.finding');
    if (finding.hidden) await narrow(null);
    finding.open = true;
    this.from.focus({preventScroll: true});
    finding.scrollIntoView();
    this.back.hidden = true;
  }

  /* What is seen may move within what is drawn; rows that stay are kept. */
  scrolled() {
    const {first, end, lines} = this.drawn, near = AROUND / 2;
    const top = this.scroll.scrollTop / ROW_PX;
    const below = top + this.scroll.clientHeight / ROW_PX;
    if ((first && top < first + near) || (end < this.rows.length && below > end - near))
      this.paint(lines);
  }

  line(i) {
    const row = make('tr', {'aria-rowindex': i + 2});
    this.table.columns.forEach((column, k) => {
      if (!this.chosen[k]) return;
      const text = shown(this.rows[i][k]);
      const cell = document.createElement('td');
      if (column.number) cell.className = 'number';
      if (text.length >= FILE_MOST) cell.title = text;
      cell.textContent = column.name === 'file' ? ending(text, FILE_MOST) : text;
      row.append(cell);
    });
    return row;
  }

  paint(known = new Map()) {
    const first = Math.max(0, Math.floor(this.scroll.scrollTop / ROW_PX) - AROUND);
    const seen = Math.ceil((this.scroll.clientHeight || 500) / ROW_PX);
    const end = Math.min(this.rows.length, first + seen + 2 * AROUND);
    const space = (count) => {
      const row = make('tr', {class: 'space', 'aria-hidden': 'true'},
                       make('td', {colspan: this.table.columns.length}));
      row.firstChild.style.height = `${count * ROW_PX}px`;
      return row;
    };
    const lines = new Map();
    for (let i = first; i < end; i++) lines.set(i, known.get(i) || this.line(i));
    this.drawn = {first, end, lines};
    this.body.replaceChildren(...(first ? [space(first)] : []), ...lines.values(),
        ...(end < this.rows.length ? [space(this.rows.length - end)] : []));
  }

  kept() {
    return this.table.columns.map((column, i) => i).filter((i) => this.chosen[i]);
  }

  /* On paper the columns stand in bands as wide as it is; each begins with the
   * rows' numbers, and those below the first repeat the first that has words. */
  paper() {
    const kept = this.kept(), rows = this.rows.slice(0, PRINTED);
    const name = (i) => this.table.columns[i].name + unitOf(this.table.columns[i]);
    const widths = kept.map((i) => 2 + Math.min(COLUMN, Math.max(name(i).length,
        ...rows.map((row) => shown(row[i]).length))));
    const words = Math.max(0, kept.findIndex((i) => !this.table.columns[i].number));
    const all = bands(widths, 4 + String(rows.length).length +
                      Math.min(KEY, widths[words] || 0));
    const cell = (i, row) => make('td',
        {class: this.table.columns[i].number ? 'number' : false}, shown(row[i]));
    const made = all.map((band, at) => make('table', {}, make('thead', {}, make('tr', {},
        make('th', {scope: 'col', class: 'number'}, '#'),
        at ? make('th', {scope: 'col'}, name(kept[words])) : '',
        ...band.map((k) => make('th', {scope: 'col'}, name(kept[k]))))),
        make('tbody', {}, ...rows.map((row, i) => make('tr', {},
            make('td', {class: 'number'}, String(i + 1)),
            at ? make('td', {}, ending(shown(row[kept[words]]), KEY)) : '',
            ...band.map((k) => cell(kept[k], row)))))));
    const asked = this.filter.value.trim();
    const notes = [scope || asked ? `${this.count.textContent}.` : '',
        asked ? `Filter: ${asked}.` : '', rows.length < this.rows.length
            ? `The first ${rows.length} of ${this.rows.length} rows.` : ''].filter(Boolean);
    return notes.length ? [make('p', {class: 'soft'}, notes.join(' ')), ...made] : made;
  }

  print(starts) {
    this.scroll.replaceChildren(...(starts ? this.paper() : [this.grid]));
    if (!starts) this.paint();
  }

  text() {
    const kept = this.kept();
    const clean = (cell) => {
      const text = cell === null ? '' : String(cell).replace(/[\t\r\n]/g, ' ');
      const formula = /^[=+\-@]/.test(text) && text !== '-inf' &&
          Number.isNaN(Number(text)); /* of a spreadsheet: see csv.c */
      return formula ? `'${text}` : text;
    };
    return [kept.map((i) => this.table.columns[i].name),
            ...this.rows.map((row) => kept.map((i) => clean(row[i])))]
        .map((cells) => cells.join('\t')).join('\n') + '\n';
  }

  async copy() {
    try {
      await navigator.clipboard.writeText(this.text());
      this.count.textContent = `${this.rows.length} rows copied`;
    } catch (error) { /* a page of a file may not: show it to be copied */
      const area = make('textarea', {rows: 8, cols: 60, 'aria-label': 'TSV'});
      area.value = this.text();
      this.scroll.before(area);
      area.select();
    }
  }
}

const section_of = (name) =>
    document.querySelector(`details[data-table="${name}"]`);

const views = new Map();
async function open(name) {
  const section = section_of(name);
  if (!section) return null;
  section.open = true;
  if (!views.has(name)) {
    const table = await load(name);
    if (table && !views.has(name))
      views.set(name, new View(table, section.querySelector('.view')));
  }
  return views.get(name);
}

const widened = [], scoped = [], printed = [];
const leadTo = (id, words) => make('button', {type: 'button',
    onclick: () => document.getElementById(id).scrollIntoView()}, words);
const showAll = () =>
    make('button', {type: 'button', onclick: () => narrow(null)}, 'Show all');

/* Only the findings that are of the scope stand in their list, and a line above
 * it says so; what is being looked at stays where it is. */
async function narrowFindings() {
  const head = document.getElementById('findings');
  const map = document.getElementById('map');
  const table = head && await load('findings');
  if (!table) return;
  const of = scope && scope.of(table), all = document.querySelectorAll('details.finding');
  const before = map.getBoundingClientRect().top;
  document.documentElement.style.overflowAnchor = 'none';
  let left = 0;
  for (const node of all) {
    const row = table.rows[Number(node.dataset.row)];
    node.hidden = !!of && !(row && of.holds(row));
    left += !node.hidden;
  }
  let told = document.getElementById('findings-scope');
  if (!told) {
    told = make('div', {id: 'findings-scope', role: 'status', class: 'tools'});
    head.after(told);
  }
  told.replaceChildren(...(of ? [`${left} of ${all.length} findings: ${of.words}. `,
                                 showAll()] : []));
  scrollBy(0, map.getBoundingClientRect().top - before);
}

/* Narrows findings and all tables, or shows all of them again. */
function narrow(to) {
  scope = to;
  for (const tell of scoped) tell();
  for (const view of views.values()) view.apply();
  const line = document.getElementById('scope');
  const formats = document.getElementById('formats');
  line.replaceChildren();
  if (to)
    line.append(`Findings${formats ? ', formats' : ''} and tables: only ${to.words}. `,
        leadTo('tables', 'To the tables'), showAll(), leadTo('findings', 'To the findings'));
  else for (const tell of widened) tell();
  return narrowFindings();
}

/* Leads to the rows of a table that meet a filter, the largest of a column
 * first, and from there back to the button. */
async function filter(name, words, by, button) {
  const view = await open(name);
  if (!view) return;
  if (scope) await narrow(null);
  view.filter.value = words;
  if (by && view.table.at.has(by)) view.order = {at: view.table.at.get(by), sign: -1};
  view.from = button;
  view.back.hidden = false;
  view.heads();
  view.apply();
  section_of(name).scrollIntoView();
  view.filter.focus({preventScroll: true});
}

/* --- the chart of a finding ------------------------------------------------ */

/* As wide as has room, so that letters keep their size. */
const widthOf = (place) => Math.max(260, Math.min(640, place.clientWidth || 640));

async function enrich(node) {
  const findings = await load('findings');
  const place = node.querySelector('.chart');
  if (!findings || !place || place.dataset.drawn) return;
  place.dataset.drawn = 'true';
  const row = findings.rows[Number(node.dataset.row)];
  const of = (name) => findings.at.has(name) ? row[findings.at.get(name)] : null;
  await evidence.add(place, of);
  await addSeries(place, of, Number(node.dataset.row));
  if (tensors) await tensors.distribution(place, Number(node.dataset.row), of);
  if (calls) await calls.around(place, of);
}

/* The rows of a table that are of one finding, in their order; they stand by
 * finding. */
function ofFinding(table, finding) {
  const at = table.at.get('finding');
  let low = 0, high = table.rows.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (table.rows[middle][at] < finding) low = middle + 1;
    else high = middle;
  }
  let end = low;
  while (end < table.rows.length && table.rows[end][at] === finding) end++;
  return table.rows.slice(low, end);
}

/* Rules that judge a place: all its ranks, iterations and samples. */
const ofPlaces = (rule) => ['sqnr', 'overflow', 'underflow'].includes(rule);

/* What a chart of rates shows as the usual value, and marks: the first of a
 * place may be another tensor than the worst, whose series this is. */
const wordsOf = (rule) => !ofPlaces(rule)
    ? {baseline: 'baseline', first: 'first bad'}
    : {baseline: rule === 'sqnr' ? 'median of the place' : 'median of the place before',
       first: 'worst of the place'};
/* Why a chart has no baseline. */
const noBaseline = (rule, iteration) => ofPlaces(rule)
    ? `of the place nothing was judged before iteration ${iteration}, the first bad one`
    : 'this is not measured against what is usual';

/* The number of a finding over iterations, or why there is no such chart. */
async function addSeries(place, of, finding) {
  const series = await load('finding_series');
  if (!series) return;
  const at = (name) => series.at.get(name);
  const rows = ofFinding(series, finding), metric = of('metric');
  const rank = rows.length ? rows[0][at('rank')] : null; /* a rule may be of all */
  const points = rows
      .map((row) => [row[at('iteration')], row[at('value')]])
      .filter((p) => typeof p[0] === 'number' && typeof p[1] === 'number');
  const lack = (words) => place.append(make('p', {class: 'soft'},
      `No chart of ${metric || 'it'} over iterations: ${words}.`));
  if (!rows.length) lack('it is beyond the rows that are in this page');
  else if (rows[0][at('note')]) lack(rows[0][at('note')]);
  else if (!points.length) lack('it is infinite throughout');
  else if (points.length < 2)
    lack(`only iteration ${points[0][0]} has it, ${shown(points[0][1])}`);
  else {
    const rule = of('rule'), ofPlace = ofPlaces(rule);
    const worst = ofPlace && points.find((point) => point[1] === of('value'));
    place.append(keys.chart(points, {metric, baseline: of('baseline'),
        iteration: ofPlace ? worst && worst[0] : of('iteration'),
        caption: `${metric} over iterations` + (rank === null ? '' : ` of rank ${rank}`),
        words: wordsOf(rule)}, widthOf(place)));
    if (of('baseline') === null)
      place.append(make('p', {class: 'soft'},
          `No baseline: ${noBaseline(rule, of('iteration'))}.`));
  }
}

/* --- the page ----------------------------------------------------------------- */

const evidence = evidencePage({make, load, parse, filter, ofPlaces,
    has: (name) => !!section_of(name)});

/* Links to the parts that are there: those that are drawn come late. */
function name() {
  document.querySelector('nav').replaceChildren(
      ...[...document.querySelectorAll('main h2')].map((head) =>
          make('a', {href: `#${head.closest('[id]').id}`},
               head.textContent.split(':')[0])));
}

const heat = mapPage({make, number, distinct, CELLS_MOST, narrow, name, bands,
    scope: () => scope, onWiden: (tell) => widened.push(tell),
    onPrint: (tell) => printed.push(tell)});
const tensors = section_of('tensors') && tensorPage({make, draw, shown, load, View,
    number, distinct, widthOf, ofFinding, ofPlaces, map: heat,
    scope: () => scope, onScope: (tell) => scoped.push(tell),
    replaceView: (name, view) => views.set(name, view)});
const main = ['calls', 'replay'].find((name) => section_of(name));
const calls = main && callPage({main, make, shown, load, number, distinct,
    chart: keys.chart, widthOf, map: heat});

if (section_of('content_matches')) contentPage({load, map: heat});

for (const node of document.querySelectorAll('details[data-table]')) {
  const name = node.dataset.table;
  node.addEventListener('toggle', () => { if (node.open) open(name); });
  if (node.open) open(name);
}
for (const node of document.querySelectorAll('details.finding')) {
  node.addEventListener('toggle', () => { if (node.open) enrich(node); });
  if (node.open) enrich(node);
}
if (!tensors) tracePage({make, draw, shown, load, name});
for (const tree of document.querySelectorAll('.tree')) treeKeys(tree);
/* On paper all findings are open, and of each open table the first rows stand
 * there. */
function print(starts) {
  for (const view of views.values()) view.print(starts);
  for (const tell of printed) tell(starts);
}
addEventListener('beforeprint', () => {
  for (const node of document.querySelectorAll('details.finding'))
    node.open = true;
  print(true);
});
addEventListener('afterprint', () => print(false));
})();
