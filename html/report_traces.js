/* SPDX-License-Identifier: MIT */
/*
 * What only pages of traces have: bars for the rows of their tables, ranks and
 * steps as bars of several parts, before and after side by side, and buttons
 * for the trees of places. `page` are the tools of report.js, which calls this
 * once.
 */
function tracePage(page) {
const {make, draw, shown, load} = page;

/* --- names ---------------------------------------------------------------------- */

/* What time goes into has one name and one colour in all charts, those of the
 * figures, and a letter, as colour alone says nothing. */
const KINDS = {
  compute: ['K', 'computation'],
  comm: ['C', 'communication not hidden'],
  copy: ['M', 'copies and sets'],
  idle: ['I', 'idle'],
  busy: ['B', 'device busy'],
  queued: ['W', 'work pending'],
  alloc: ['A', 'driver allocations'],
  call: ['R', 'runtime calls'],
  loader: ['D', 'DataLoader'],
  blocking: ['S', 'blocking calls'],
  launch: ['L', 'launch calls'],
  operator: ['O', 'operators on the host'],
  nothing: ['N', 'nothing recorded but Python'],
};
const nameOf = (kind) => KINDS[kind][1];

/* Where tables have it: columns of /idle and of /steps by kind. */
const IDLE = {busy: 'busy', queued: 'queued', alloc: 'alloc', loader: 'dataloader',
    blocking: 'blocking', launch: 'launch', operator: 'cpu_op', nothing: 'none'};
const COSTS = {compute: ['kernel'], copy: ['memcpy', 'memset'],
    comm: ['communication'], call: ['runtime'], loader: ['dataloader'],
    operator: ['cpu_exec'], nothing: ['other']};
const FIRST = 'first launches';

const columns = (table, of, kinds) => `In /${table}, in this order: ` +
    kinds.filter((kind) => of[kind]).map((kind) => [of[kind]].flat().join(' and '))
        .join(', ') + '.';

const idleWords = (kinds) => 'Each moment counts once. Device busy: it computes or copies' +
    (kinds.includes('blocking') ? '; blocking calls: they wait for the device' : '') +
    (kinds.includes('queued') ? '; work pending: launched long before, it does not begin'
                              : '') + '. ' + columns('idle', IDLE, kinds);

/* --- bars ---------------------------------------------------------------------- */

/* What a table of a trace is looked at for: a bar for each of its rows, the
 * longest first, or (`parts`) for columns of its first row. */
const BARS = [
  {table: 'idle', title: 'Where the window goes', unit: '%', factor: 100,
   parts: Object.fromEntries([...Object.entries(IDLE).map(
       ([kind, column]) => [column, nameOf(kind)]), ['first_launch', FIRST]]),
   told: (used) => idleWords(used.map((words) => Object.keys(IDLE).find(
       (kind) => nameOf(kind) === words))) + (used.includes(FIRST)
           ? ' First launches load code, and are some of the launch calls.' : '')},
  {table: 'what_if', title: 'What could be won, by replay', label: ['change',
   'name'], value: 'won', unit: '% of the step', factor: 100, ofOne: true,
   words: {operator: 'half of', host: 'no host', communication: 'no communication',
       first_launch: `no ${FIRST}`, ...Object.fromEntries(Object.entries(IDLE).map(
           ([kind, column]) => [column, kind === 'nothing' ? 'no time between calls'
                                                           : `no ${nameOf(kind)}`]))},
   told: (used) => 'How much shorter a step were if that took no time, or half of it; ' +
       'parts are not independent.' + (used.includes('no host') ?
           ' No host: only loading data and code, allocating and waiting are left.' : '')},
  {table: 'ops', title: 'Operators, self device time', label: ['name'],
   only: ['device_type', 'CPU'], value: 'self_cuda_time_total_us', unit: 'ms', factor: 1e-3},
  {table: 'ops', title: 'Operators, self CPU time', label: ['name'],
   only: ['device_type', 'CPU'], value: 'self_cpu_time_total_us', unit: 'ms', factor: 1e-3},
  {table: 'kernels', title: 'Kernels', label: ['name'], value: 'total_us',
   unit: 'ms', factor: 1e-3},
];
const BARS_MOST = 12;

/* Charts are as wide as has room, so that letters keep their size; names take
 * two fifths of it. */
const place = document.getElementById('charts');
const WIDTH = Math.max(280, Math.min(560, place.clientWidth || 560));
const LETTER = 6.7; /* px */
const NAMES = Math.round(WIDTH * .43), LABEL_MOST = Math.floor((NAMES - 8) / LETTER);

/* How many traces a table is of. */
function tracesOf(table) {
  const at = table.at.get('trace');
  return at === undefined ? 1 : new Set(table.rows.map((row) => row[at])).size;
}

/* Of several traces shares are means and times sums; what belongs to the steps
 * of one has no bars. `whole`: words of ours, which are not cut. */
function itemsOf(kind, table) {
  const at = (name) => table.at.get(name);
  if (kind.parts)
    return Object.entries(kind.parts)
        .filter(([name]) => table.at.has(name))
        .map(([name, label]) => ({label, whole: true, value: table.rows.reduce(
            (sum, row) => sum + row[at(name)], 0) / table.rows.length}));
  const traces = tracesOf(table);
  if (!table.at.has(kind.value) || (kind.ofOne && traces > 1)) return [];
  if (traces > 1) {
    const [column, word] = kind.only || [];
    const sums = new Map();
    for (const row of table.rows) {
      if (column && row[at(column)] !== word) continue;
      const label = String(row[at(kind.label[0])]);
      sums.set(label, (sums.get(label) || 0) + row[at(kind.value)]);
    }
    return [...sums].map(([label, value]) => ({label, value}));
  }
  const [column, word] = kind.only || [];
  return table.rows.filter((row) => !column || row[at(column)] === word)
      .map((row) => ({
    label: kind.label.filter((name) => table.at.has(name))
        .map((name) => shown(row[at(name)])).filter(Boolean)
        .map((word) => kind.words && kind.words[word] || word).join(' '),
    whole: Boolean(kind.words) && !row[at(kind.label[1])],
    value: row[at(kind.value)]}));
}

/* A kernel without what it returns and takes, which is what many end in. */
function kernel(words) {
  let at = words.length, depth = 0;
  if (!words.startsWith('void ') || !words.endsWith(')')) return words;
  do {
    at--;
    depth += (words[at] === ')') - (words[at] === '(');
  } while (depth > 0 && at > 5);
  return words.slice(5, at);
}

/* What stands before a bar: a name, which a tooltip has in full. */
function name(words, left, y) {
  return draw('text', {x: left - 6, y, 'text-anchor': 'end'},
              middle(kernel(words), Math.floor((left - 8) / LETTER)), draw('title', {}, words));
}

async function bars(kind) {
  const table = await load(kind.table);
  if (!table) return null;
  let items = itemsOf(kind, table)
      .filter((item) => typeof item.value === 'number' && item.value > 0);
  if (!items.length) return null;
  if (!kind.inOrder) items.sort((a, b) => b.value - a.value);
  const all = items.length;
  items = items.slice(0, BARS_MOST);
  const most = Math.max(...items.map((item) => item.value));
  const longest = 9 + LETTER * Math.max(0, ...items.filter((item) => item.whole)
      .map((item) => item.label.length));
  const width = WIDTH, line = 20;
  const left = kind.parts ? Math.min(longest, width * .6) : Math.max(NAMES, longest);
  const svg = draw('svg', {viewBox: `0 0 ${width} ${items.length * line + 4}`,
                           width, role: 'img'});
  svg.append(draw('title', {}, `${kind.title} [${kind.unit}]`));
  items.forEach((item, i) => {
    const y = i * line, long = item.value / most * (width - left - 70);
    svg.append(name(item.label, left, y + 14), draw('rect', {class: 'bar', x: left, y: y + 3,
                                   width: Math.max(1, long), height: line - 6},
                    draw('title', {}, `${item.label}: ` + shown(Number(
                        (item.value * kind.factor).toPrecision(4))) + ` ${kind.unit}`)),
               draw('text', {x: left + long + 4, y: y + 14},
                    shown(Number((item.value * kind.factor).toPrecision(4)))));
  });
  const traces = tracesOf(table);
  const of = traces < 2 ? '' : `, ${kind.parts ? 'mean' : 'sum'} of ${traces} traces`;
  const more = all > items.length ? `, the first ${items.length} of ${all}` : '';
  return make('section', {}, make('h3', {}, `${kind.title} [${kind.unit}]${of}${more}`),
              svg, kind.told && !of ? make('p', {class: 'soft'},
                                    kind.told(items.map((item) => item.label))) : '');
}

/* --- bars of several parts --------------------------------------------------------- */

/* Each is one bar a row, of parts, whose letters stand in them where they have
 * room. `rows` gives {label, note, parts}, in units of `unit`, or null where the
 * tables do not have it. */
const STACKS_MOST = 64;

/* Cells of a row by name. */
const reader = (table) => (row) => (name) => row[table.at.get(name)];

/* What of a path tells it from others: its last names, as many as are needed,
 * without what trace files end in. */
function ownName(path, paths) {
  const parts = path.split('/'), ends = /(\.pt)?(\.trace)?\.json(\.gz)?$/;
  let from = parts.length - 1;
  const last = (one) => one.split('/').slice(from - parts.length).join('/');
  while (from > 0 && paths.filter((one) => last(one) === last(path)).length > 1) from--;
  return last(path).replace(ends, '') || path;
}

/* A trace is called by its rank, if no other one has that, else by its file. */
function labelOf(ranks, trace) {
  const of = ranks && ranks.rows[trace] && reader(ranks)(ranks.rows[trace]);
  if (!of) return `trace ${trace}`;
  const all = (column) => ranks.rows.map((row) => reader(ranks)(row)(column));
  const rank = of('rank');
  if (rank !== null && all('rank').filter((one) => one === rank).length === 1)
    return `rank ${rank}`;
  return of('file') ? ownName(of('file'), all('file')) : `trace ${trace}`;
}

/* Of two names that begin alike the ends differ: the middle goes. */
const middle = (words, most) => words.length <= most ? words
    : `${words.slice(0, (most - 1) >> 1)}…${words.slice(((most - 1) >> 1) - most + 1)}`;

async function rankStacks() {
  const [ranks, busy] = [await load('ranks'), await load('busy')];
  if (!ranks || !busy || ranks.rows.length < 2) return null;
  const rows = busy.rows.map(reader(busy))
      .filter((of) => of('definition') === 'window' && of('total_us') > 0)
      .map((of) => {
        const rank = reader(ranks)(ranks.rows[of('trace')]);
        const wait = rank('wait_us');
        return {label: labelOf(ranks, of('trace')),
            note: [rank('straggler') === 1 ? 'straggler' : '',
                wait === null ? '' : `waits ${shown(Number((wait / 1e3).toPrecision(4)))}`]
                .filter(Boolean).join(', '),
            parts: [of('compute_us'), of('exposed_communication_us'),
                of('exposed_memory_us'), of('idle_us')].map((us) => us / 1e3)};
      });
  return {title: 'Ranks side by side', unit: 'ms of the window',
      parts: ['compute', 'comm', 'copy', 'idle'], rows,
      words: () => 'Behind each bar: for how many ms the rank waits in collectives ' +
          'for the last one to begin (part of its communication); a straggler ' +
          'begins them later than the others.'};
}

async function idleStacks() {
  const [ranks, idle] = [await load('ranks'), await load('idle')];
  if (!idle || idle.rows.length < 2) return null;
  const rows = idle.rows.map(reader(idle)).map((of) => ({
      label: labelOf(ranks, of('trace')), note: '',
      parts: Object.values(IDLE).map((column) => of(column) * 100)}));
  return {title: 'Where the window of each rank goes', unit: '%',
      parts: Object.keys(IDLE), rows,
      words: idleWords};
}

const STEP_WORDS = 'Each moment, up to the end of what the device does for the step, is ' +
    'in one part, the first that holds. ';

async function stepStacks() {
  const steps = await load('steps');
  if (!steps || tracesOf(steps) > 1) return null;
  const rows = steps.rows.map(reader(steps))
      .filter((of) => of('step') !== null)
      .map((of) => ({label: `step ${of('step')}`,
          note: shown(of('window_us') / 1e3) + (of('typical') ? '' : ', not typical'),
          parts: Object.values(COSTS).map((names) => names.reduce(
              (sum, name) => sum + of(`${name}_us`), 0) / 1e3)}));
  return {title: 'Steps', unit: 'ms', parts: Object.keys(COSTS), rows,
      words: (used) => STEP_WORDS + columns('steps', COSTS, used)};
}

async function changeStacks() {
  const steps = await load('compare/steps');
  if (!steps) return null;
  const at = new Map(steps.rows.map(reader(steps)).map((of) => [of('metric'), of]));
  const rows = [['before', 'base'], ['after', 'test']].map(([label, side]) => ({
      label, parts: Object.values(COSTS).map((names) => names.reduce((sum, name) =>
          sum + (at.has(`cost: ${name}`) ? at.get(`cost: ${name}`)(side) / 1e3 : 0), 0))}));
  for (const row of rows)
    row.note = shown(Number(row.parts.reduce((sum, part) => sum + part).toPrecision(4)));
  return {title: 'A step before and after', unit: 'ms', parts: Object.keys(COSTS), rows,
      words: (used) => `Means of the typical steps. ${STEP_WORDS}` +
          columns('steps', COSTS, used)};
}

/* The numbers of a chart, for who cannot see it or wants them. */
function numbers(stack, used) {
  const cell = (value) => make('td', {class: 'number'}, shown(value));
  return make('details', {}, make('summary', {}, 'Numbers'),
      make('div', {class: 'rows', tabindex: 0, role: 'region',
                   'aria-label': `numbers of ${stack.title}`},
      make('table', {}, make('thead', {}, make('tr', {},
          make('th', {scope: 'col'}, `[${stack.unit}]`),
          ...used.map((k) => make('th', {scope: 'col', class: 'number'},
                                  nameOf(stack.parts[k]))))),
      make('tbody', {}, ...stack.rows.map((row) => make('tr', {},
          make('th', {scope: 'row'}, row.label),
          ...used.map((k) => cell(Number(row.parts[k].toPrecision(7))))))))));
}

function legend(stack, used) {
  return make('ul', {class: 'legend'}, ...used.map((k) => {
    const kind = stack.parts[k];
    const swatch = draw('svg', {width: 22, height: 16, 'aria-hidden': 'true'},
        draw('rect', {class: `part t-${kind}`, width: 22, height: 16}),
        draw('text', {class: `t-${kind}`, x: 11, y: 12, 'text-anchor': 'middle'},
             KINDS[kind][0]));
    return make('li', {}, swatch, nameOf(kind));
  }));
}

function stackBar(stack, used, row, y, scale, left, line) {
  const bar = draw('g', {});
  let x = left;
  for (const k of used) {
    const long = row.parts[k] * scale, kind = stack.parts[k];
    if (!(long > 0)) continue;
    const rect = draw('rect', {class: `part t-${kind}`, x, y: y + 3,
        width: Math.max(.5, long), height: line - 6});
    rect.append(draw('title', {}, `${row.label}, ${nameOf(kind)}: ` +
        `${shown(row.parts[k])} ${stack.unit}`));
    bar.append(rect);
    if (long > 14)
      bar.append(draw('text', {class: `t-${kind}`, x: x + long / 2, y: y + 14,
                               'text-anchor': 'middle'}, KINDS[kind][0]));
    x += long;
  }
  bar.append(draw('text', {x: x + 5, y: y + 14}, row.note));
  return bar;
}

function stackChart(stack) {
  const all = stack.rows.length;
  const rows = stack.rows.slice(0, STACKS_MOST);
  const used = stack.parts.map((part, k) => k)
      .filter((k) => rows.some((row) => row.parts[k] > 0));
  const sum = (row) => used.reduce((s, k) => s + row.parts[k], 0);
  const most = Math.max(...rows.map(sum));
  if (!(most > 0)) return null;
  const width = WIDTH, line = 20;
  const letters = (words) => Math.max(...words.map((word) => word.length)) * LETTER;
  const labels = rows.map((row) => middle(row.label, LABEL_MOST));
  const left = 8 + letters(labels);
  const right = 8 + letters(rows.map((row) => row.note));
  const svg = draw('svg', {viewBox: `0 0 ${width} ${rows.length * line + 4}`,
                           width, role: 'img'});
  svg.append(draw('title', {}, `${stack.title} [${stack.unit}]: ${rows.length} bars, ` +
                  'whose numbers stand below'));
  rows.forEach((row, i) => {
    svg.append(draw('text', {x: left - 6, y: i * line + 14, 'text-anchor': 'end'},
                    labels[i], draw('title', {}, row.label)),
               stackBar(stack, used, row, i * line, (width - left - right) / most,
                        left, line));
  });
  const more = all > rows.length ? `, the first ${rows.length} of ${all}` : '';
  return make('section', {}, make('h3', {}, `${stack.title} [${stack.unit}]${more}`),
      svg, legend(stack, used), make('p', {class: 'soft'},
          stack.words(used.map((k) => stack.parts[k]))),
      numbers({...stack, rows}, used));
}

/* --- before and after -------------------------------------------------------------- */

const PAIRS = [
  {table: 'compare/ops', title: 'Operators, self CPU time of a step',
   base: 'base_self_cpu_us', test: 'test_self_cpu_us'},
  {table: 'compare/ops', title: 'Operators, self device time of a step',
   base: 'base_self_cuda_us', test: 'test_self_cuda_us'},
  {table: 'compare/kernels', title: 'Kernels, time of a step', base: 'base_us',
   test: 'test_us'},
];

/* Two bars a row, those that changed most first. */
async function pairs(kind) {
  const table = await load(kind.table);
  if (!table) return null;
  let items = table.rows.map(reader(table)).map((of) => ({name: of('name'),
      base: of(kind.base) / 1e3, test: of(kind.test) / 1e3}))
      .filter((item) => item.base > 0 || item.test > 0);
  items.sort((a, b) => Math.abs(b.test - b.base) - Math.abs(a.test - a.base));
  const all = items.length;
  items = items.slice(0, BARS_MOST);
  if (!all) return null;
  const most = Math.max(...items.map((item) => Math.max(item.base, item.test)));
  const width = WIDTH, left = NAMES, line = 36;
  const svg = draw('svg', {viewBox: `0 0 ${width} ${items.length * line + 4}`,
                           width, role: 'img'});
  svg.append(draw('title', {}, `${kind.title} [ms], before and after`));
  items.forEach((item, i) => {
    const y = i * line, scale = (width - left) * .4 / most;
    const change = Number((item.test - item.base).toPrecision(4));
    svg.append(name(item.name, left, y + 20));
    for (const [side, at] of [['base', 3], ['test', 18]])
      svg.append(draw('rect', {class: `pair ${side}`, x: left, y: y + at,
          width: Math.max(.5, item[side] * scale), height: 13}, draw('title', {},
              `${item.name}, ${side === 'base' ? 'before' : 'after'}: ` +
              `${shown(Number(item[side].toPrecision(4)))} ms`)),
          draw('text', {x: left + item[side] * scale + 4, y: y + at + 11},
               shown(Number(item[side].toPrecision(4))) +
               (side === 'base' ? '' : ` (${change > 0 ? '+' : ''}${shown(change)})`)));
  });
  const more = all > items.length ? `, ${items.length} of ${all} that change most` : '';
  return make('section', {}, make('h3', {}, `${kind.title} [ms]${more}`),
      make('p', {class: 'soft'}, 'Upper bar: before; lower bar: after (change).'), svg);
}

/* --- trees -------------------------------------------------------------------------- */

async function trees() {
  for (const tree of document.querySelectorAll('.tree')) {
    const all = (open) => () => {
      for (const node of tree.querySelectorAll('details')) node.open = open;
    };
    tree.before(make('div', {class: 'tools'},
        make('button', {type: 'button', onclick: all(true)}, 'Open all'),
        make('button', {type: 'button', onclick: all(false)}, 'Close all')));
    for (const node of tree.querySelectorAll('[data-share]')) {
      node.style.backgroundImage = 'linear-gradient(var(--band), var(--band))';
      node.style.backgroundSize = `${node.dataset.share}% 100%`;
    }
  }
  const named = document.querySelectorAll('summary[data-trace]');
  const ranks = named.length && await load('ranks');
  for (const node of named)
    if (ranks) node.textContent = labelOf(ranks, Number(node.dataset.trace));
}

/* --- the page ----------------------------------------------------------------------- */

async function charts() {
  const add = (made) => {
    if (made && !place.childNodes.length)
      place.before(make('h2', {id: 'time'}, 'Where the time goes'));
    if (made) place.append(made);
  };
  for (const stack of [rankStacks, idleStacks, stepStacks, changeStacks]) {
    const found = await stack();
    add(found && found.rows.length && stackChart(found));
  }
  for (const kind of BARS) add(await bars(kind));
  for (const kind of PAIRS) add(await pairs(kind));
  page.name();
}

trees();
charts();
}
