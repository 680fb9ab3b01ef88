/* SPDX-License-Identifier: MIT */
/*
 * What only pages of dumped tensors have: how the elements of a finding's
 * tensor are distributed, before and at its iteration; what its map is of:
 * layers or modules over iterations; and what each number format would cost
 * each place. `page` are the tools of report.js,
 * which calls this once.
 */
function tensorPage(page) {
const {make, draw, shown, load, View, number, distinct} = page;

/* --- distributions --------------------------------------------------------- */

/* The bins of one time, folded to half binades by sign: shares of all. */
function fold(bins) {
  const made = {shares: new Map(), all: 0, zero: 0, nan: 0, inf: 0};
  for (const {lower, upper, count} of bins) {
    made.all += count;
    if (Number.isNaN(lower)) made.nan += count;
    else if (!Number.isFinite(lower)) made.inf += count;
    else if (lower === 0 && upper === 0) made.zero += count;
    else {
      const inner = Math.min(Math.abs(lower), Math.abs(upper)) ||
          Math.max(Math.abs(lower), Math.abs(upper)) / 2;
      const half = Math.floor(2 * Math.log2(inner) + 1e-9);
      const key = upper > 0 ? `+${half}` : `-${half}`;
      made.shares.set(key, (made.shares.get(key) || 0) + count);
    }
  }
  return made;
}

/* Columns from the most negative half binade over zero to the most positive. */
function columnsOf(folded) {
  const halves = {'+': [], '-': []};
  for (const one of folded)
    for (const key of one.shares.keys())
      halves[key[0]].push(Number(key.slice(1)));
  const all = halves['+'].concat(halves['-']);
  const columns = [];
  if (!all.length) return [{key: '0'}];
  const low = Math.min(...all), high = Math.max(...all);
  for (let half = high; half >= low && halves['-'].length; half--)
    columns.push({key: `-${half}`, half, sign: -1});
  columns.push({key: '0'});
  for (let half = low; half <= high && halves['+'].length; half++)
    columns.push({key: `+${half}`, half, sign: 1});
  return columns;
}

const countIn = (one, key) => key === '0' ? one.zero : one.shares.get(key) || 0;
const percent = (share) => `${shown(Number((100 * share).toPrecision(3)))} %`;

function wordsOf(column) {
  if (column.key === '0') return 'zeros';
  const edge = (half) => shown(Number(2 ** (half / 2)).toPrecision(3) * column.sign);
  return `${edge(column.half)} to ${edge(column.half + 1)}`;
}

/* Which tensor, as far as it has labels. */
const NAMES = [['layer_idx', 'layer '], ['rank', 'rank '], ['ordinal', 'ordinal ']];
function nameOf(tensors, number) {
  const row = tensors && tensors.rows[number];
  return row ? NAMES.filter(([name]) => row[tensors.at.get(name)] !== null)
      .map(([name, words]) => `${words}${row[tensors.at.get(name)]}, `).join('') : '';
}

/* What each is beside the finding's own. */
const WHENS = {at: () => '', before: (first) => ', the last one before' + first,
    sibling: () => ': a tensor like it that loses no more than the limit'};

function captionOf(bins, one, at, tensors, first) {
  const {when: word, iteration, tensor} = bins[0];
  const when = (word === 'sibling' ? nameOf(tensors, tensor) : '') +
      (iteration === null ? 'now' : `iteration ${iteration}`);
  const odd = [[one.zero, 'zeros'], [one.nan, 'NaN'], [one.inf, 'infinite']]
      .filter(([count]) => count)
      .map(([count, word]) => `, ${count} ${count === 1 ? word.replace(/s$/, '') : word}`);
  return make('div', {},
      make('span', {class: at ? 'key at' : 'key before', 'aria-hidden': 'true'}),
      `${when}${WHENS[word](first)}: ${one.all} element${one.all === 1 ? '' : 's'}${odd.join('')}`);
}

/* Where the format ends, and what is lost there. */
function rangeOf(range, format, over, all) {
  const one = range.count === 1;
  return `${format} goes from ${shown(range.lower)} to ${shown(range.upper)}, dashed where the ` +
      `chart has it: ${range.count} element${one ? '' : 's'} (${percent(range.count / all)}) ` +
      (over ? `lie${one ? 's' : ''} beyond its end`
          : `${one ? 'is' : 'are'} so small that it has zero for ${one ? 'it' : 'them'}`);
}

/* Lines at the ends of the format, where they are within the chart. */
function addEnds(svg, range, columns, x, width, [top, base]) {
  for (const [value, words] of [[range.lower, 'least'], [range.upper, 'largest']]) {
    const half = 2 * Math.log2(value);
    columns.forEach(({half: its, sign}, i) => {
      if (!sign || its !== Math.floor(half)) return;
      const at = x(i) + width * (sign > 0 ? half - its : 1 - half + its);
      svg.append(draw('line', {class: 'bad', x1: at, x2: at, y1: top, y2: base,
                               'stroke-dasharray': '4 3'},
          draw('title', {}, `${words} magnitude of the format: ${shown(value)}`)));
    });
  }
}

/* Powers of ten, as many as have room. */
function addTicks(svg, columns, x, width, base) {
  const named = columns.filter((column) => column.sign)
      .map((column, i, list) => ({column, at: columns.indexOf(column)}));
  let free = -1;
  for (const {column, at} of named) {
    const ten = Math.ceil(column.half / 2 * Math.LOG10E * Math.LN2 - 1e-9);
    if (ten >= (column.half + 1) / 2 * Math.LOG10E * Math.LN2 - 1e-9) continue;
    const part = (2 * Math.log2(10 ** ten) - column.half) * width;
    const place = x(at) + (column.sign > 0 ? part : width - part);
    if (place < free) continue;
    svg.append(draw('line', {x1: place, x2: place, y1: base, y2: base + 4, class: 'axis'}),
               draw('text', {x: place, y: base + 15, 'text-anchor': 'middle'},
                    `${column.sign < 0 ? '-' : ''}1e${ten}`));
    free = place + 46;
  }
}

function outline(columns, one, x, y, width, base) {
  return columns.map((column, i) => {
    const share = countIn(one, column.key) / one.all;
    return `${i ? 'L' : 'M'}${x(i)} ${share ? y(share) : base}H${x(i) + width}`;
  }).join('');
}

/* Bars of the finding's iteration, a dashed line of the one before, or of a
 * tensor like it. */
function histogram(sets, range, width, {tensors, format, over, first}) {
  const height = 190, left = 52, bottom = 24, top = 10, base = height - bottom;
  const folded = sets.map(fold);
  const at = folded[folded.length - 1], before = folded.length > 1 ? folded[0] : null;
  const columns = columnsOf(folded);
  const wide = (width - left - 10) / columns.length;
  const x = (i) => left + i * wide;
  const least = Math.min(0.1, ...folded.map((one) => 1 / one.all));
  const floor = Math.floor(Math.log10(least));
  const y = (share) => top + (base - top) * Math.log10(share) / (floor - 0.3);
  const svg = draw('svg', {viewBox: `0 0 ${width} ${height}`, width, role: 'img'});
  svg.append(draw('title', {}, 'share of the elements by value, ' +
                  (!before ? 'of this tensor' : sets[0][0].when === 'sibling'
                      ? 'of a tensor like it and of this one'
                      : 'before and at the first bad iteration')));
  columns.forEach((column, i) => {
    const share = countIn(at, column.key) / at.all;
    const old = before ? countIn(before, column.key) / before.all : 0;
    if (!share && !old) return;
    const bar = draw('rect', {class: 'share', x: x(i), width: Math.max(1, wide - 0.5),
        y: share ? y(share) : base - 1, height: share ? base - y(share) : 1});
    bar.append(draw('title', {}, `${wordsOf(column)}: ${percent(share)}` +
                    (before ? `, ${sets[0][0].when === 'sibling' ? 'of the other' : 'before'} ` +
                         percent(old) : '')));
    svg.append(bar);
  });
  if (before)
    svg.append(draw('path', {class: 'before', fill: 'none',
                             d: outline(columns, before, x, y, wide, base)}));
  svg.append(draw('path', {class: 'axis', fill: 'none',
                           d: `M${left} ${top}V${base}H${width - 10}`}));
  for (const share of [1, 10 ** Math.round(floor / 2), 10 ** floor])
    svg.append(draw('text', {x: left - 4, y: y(share) + 4, 'text-anchor': 'end'},
                    share >= 0.001 ? `${share * 100} %` : `1e${Math.round(Math.log10(share)) + 2} %`));
  addTicks(svg, columns, x, wide, base);
  if (range) addEnds(svg, range, columns, x, wide, [top, base]);
  return make('figure', {class: 'shares'},
      make('figcaption', {}, 'Share of the elements by value'), svg,
      ...sets.map((bins, i) =>
          captionOf(bins, folded[i], i === sets.length - 1, tensors, first)),
      ...(range ? [make('div', {}, rangeOf(range, format, over, at.all))] : []));
}

async function distribution(place, finding, of) {
  const table = await load('histograms/findings');
  if (!table) return;
  const at = (name) => table.at.get(name);
  const sets = new Map();
  for (const row of page.ofFinding(table, finding)) {
    const when = row[at('when')];
    if (!sets.has(when)) sets.set(when, []);
    sets.get(when).push({when, iteration: row[at('iteration')], count: row[at('count')],
        tensor: row[at('tensor')], lower: number(row[at('lower')]),
        upper: number(row[at('upper')])});
  }
  const range = sets.get('range'), rule = of('rule'), tensors = await load('tensors');
  sets.delete('range');
  if (!sets.size) return;
  const its = tensors.rows[sets.get('at')[0].tensor];
  const format = its ? its[tensors.at.get('target_format')] : 'the format';
  place.append(histogram([...sets.values()], range && range[0], page.widthOf(place),
      {tensors, format, over: rule === 'overflow',
       first: page.ofPlaces(rule) ? ' the first that is bad' : ''}));
  if (page.ofPlaces(rule) && rule !== 'sqnr' && sets.size === 1)
    place.append(make('p', {class: 'soft'}, 'Nothing stands beside it: no tensor of its ' +
        'kind, before or elsewhere, loses no more than the limit' +
        (range ? '.' : `, and ${format} scales each block to its own ends.`)));
}

/* --- what the map is of -------------------------------------------------------- */

/* An axis of the map: names of the rows of tables that have the label. */
function axisOf(tables, label, words, more) {
  const plain = (cell) => cell === '' ? null : cell;
  const axis = {id: label, words, cell: plain, ...more};
  axis.of = (other) => {
    const at = other.at.get(label);
    return at === undefined ? null : (row) => axis.cell(row[at]);
  };
  axis.names = page.map.sorted(tables.flatMap((one) => one.rows.map(axis.of(one))));
  return axis;
}

/* The tables, once they are there. */
let findings = null, groups = null;

/* --- groups ------------------------------------------------------------------- */

/* The labels that a group is by. The formats of the page are of one grouping,
 * `by`; other tables say it row by row. */
function namesOf(table, row) {
  const by = table.by || row[table.at.get('group_by')] || '';
  return by === 'all' ? [] : by.split('/');
}

/* What a group has of these, as texts, null where it has none: columns, or parts
 * of a key. Undefined: a name in the key has the sign that is between parts. */
function valuesOf(table, row, names) {
  const plain = (value) => value === undefined || value === null || value === '' ? null
      : String(value);
  if (!table.at.has('key')) return names.map((name) => plain(row[table.at.get(name)]));
  const key = row[table.at.get('key')];
  const parts = names.length === 1 ? [key] : key.split('/');
  return parts.length === names.length
      ? parts.map((part) => part === '-' ? null : part) : undefined;
}

/* Groups that have tensors of what is wanted, where none is by its label, as of
 * modules. */
function membersOf(table, tensors, wanted) {
  const mine = tensors.rows.filter((row) =>
      wanted.every(({axis, name}) => axis.of(tensors)(row) === name));
  const keys = new Map();
  const keysOf = (names) => {
    const by = names.join('/'), its = new Set();
    if (!keys.has(by)) keys.set(by, its);
    else return keys.get(by);
    if (names.length && names.every((name) => tensors.at.has(name)))
      for (const row of mine) its.add(JSON.stringify(valuesOf({at: tensors.at}, row, names)));
    return its;
  };
  return (row) => {
    const names = namesOf(table, row);
    return keysOf(names).has(JSON.stringify(valuesOf(table, row, names)));
  };
}

/* Groups by a label that was chosen are narrowed to it: they go over all that
 * they are not by. */
function ofGroups(table, tensors, wanted) {
  const by = new Set(table.rows.flatMap((row) => namesOf(table, row)));
  const known = wanted.filter(({axis}) => by.has(axis.id));
  if (!known.length)
    return {words: `what has tensors of ${page.map.words(wanted)}`,
            rest: 'with all its other tensors', holds: membersOf(table, tensors, wanted)};
  const holds = (row) => {
    const names = namesOf(table, row), values = valuesOf(table, row, names);
    const asked = known.filter(({axis}) => names.includes(axis.id));
    return asked.length > 0 && !!values && asked.every(({axis, name}) => {
      const value = values[names.indexOf(axis.id)];
      return name === null ? value === null
          : value !== null && String(axis.cell(value)) === String(name);
    });
  };
  const others = wanted.filter((one) => !known.includes(one));
  return {words: known.map((one) => page.map.words([one])).join(' or '), holds,
          rest: page.map.overAll(others) ||
              (known.length > 1 ? 'each over all of the other' : '')};
}

/* --- what a click narrows to ---------------------------------------------------- */

/* What a click asks for: rows of a table that are of these names; tables of
 * casts and axes name the tensor's row instead, those beside findings theirs.
 * NULL: the table has neither. */
function scopeOf(tensors, wanted) {
  const hold = (table, row) => wanted.every(({axis, name}) =>
      !table.at.has(axis.id) || axis.of(table)(row) === name);
  const words = page.map.words;
  return {
    words: words(wanted),
    by: wanted.map(({axis}) => ({label: axis.id, axis})),
    lack: () => 'its rows are of no tensors',
    of: (table) => {
      const its = table.at.get('finding'), group = table.at.get('group');
      if (its !== undefined && findings)
        return {words: words(wanted), holds: (row) =>
            findings.rows[row[its]] !== undefined && hold(findings, findings.rows[row[its]])};
      if (table.by || table.at.has('group_by')) return ofGroups(table, tensors, wanted);
      if (group !== undefined && groups) {
        const of = ofGroups(groups, tensors, wanted);
        const held = groups.rows.map(of.holds); /* many rows are of each */
        return {...of, holds: (row) => held[row[group]]};
      }
      const known = wanted.filter(({axis}) => table.at.has(axis.id));
      if (known.length)
        return {words: words(known), holds: (row) => hold(table, row),
                rest: page.map.overAll(wanted.filter((one) => !known.includes(one)))};
      const at = table.at.get('tensor');
      return at === undefined ? null : {words: words(wanted), holds: (row) =>
          tensors.rows[row[at]] !== undefined && hold(tensors, tensors.rows[row[at]])};
    },
  };
}

/* What low, medium and high findings are. */
const SEVERITIES = ['a property of the format or of the tensor',
    'a measured change, or much lost in the format',
    'NaN or Inf where there was none, or where an incident began'];

/* Of the rows that are of one cell. `low`: the least is the worst. */
async function measures(tensors, worst) {
  const plain = (name, words, more) => tensors.at.has(name) &&
      {id: name, words, values: () => tensors.rows.map((row) =>
          [row, number(row[tensors.at.get(name)])]), table: tensors, ...more};
  const list = [];
  findings = await load('findings');
  groups = await load('groups');
  if (findings) list.push(page.map.ofFindings(findings, SEVERITIES, (row) => row));
  list.push(plain('abs_max', 'amax: largest magnitude', {log: true}),
            plain('total_overflow_ratio', 'overflow: largest share of elements', {log: true}),
            plain('underflow_ratio', 'underflow: largest share of elements', {log: true}));
  if (worst) list.push(...sqnrs(worst));
  list.push(plain('nan', 'NaN: most elements', {log: true}),
            plain('pos_inf', '+Inf: most elements', {log: true}),
            plain('std', 'standard deviation: largest', {log: true}));
  return list.filter(Boolean);
}

/* Of the worst of all casts, by cell and format. */
function sqnrs(worst) {
  const at = (name) => worst.at.get(name);
  const one = (id, words, column, holds) => ({id, words, table: worst, low: true,
      values: (by = worst.rows[0][at('by')]) => worst.rows
          .filter((row) => row[at('by')] === by && holds(row))
          .map((row) => [row, number(row[at(column)])])});
  return [one('sqnr', 'SQNR in the target format, dB: lowest', 'target_sqnr_db', () => true),
          ...distinct(worst.rows.map((row) => row[at('format')])).map((format) =>
              one(`sqnr:${format}`, `SQNR in ${format}, dB: lowest`, 'sqnr_db',
                  (row) => row[at('format')] === format))];
}

/* What a module's name is cut to: as deep as those of the worst casts, which are
 * of all tensors, where the page has not all. */
function cutterOf(tensors, worst) {
  const names = (table) => table.rows.map((row) => row[table.at.get('module')]);
  const deepest = worst && tensors.total > tensors.rows.length
      ? Math.max(...names(worst).map((name) => name.split('.').length)) : Infinity;
  return page.map.depthOf(names(tensors), deepest);
}

/* What the map can be of: layers, else modules; over iterations, else names. */
async function map(place) {
  const tensors = await load('tensors');
  if (!tensors) return;
  const has = (name) => tensors.at.has(name) &&
      tensors.rows.some((row) => row[tensors.at.get(name)] !== null &&
                                 row[tensors.at.get(name)] !== '');
  const worst = await load('quantization_worst');
  const both = worst ? [tensors, worst] : [tensors], rows = [];
  if (has('layer_idx')) rows.push(axisOf(both, 'layer_idx', 'layer'));
  if (has('module'))
    rows.push(axisOf(both, 'module', 'module', {cell: cutterOf(tensors, worst)}));
  page.map.draw(place, {rows,
      columns: [has('iteration')
          ? axisOf(both, 'iteration', 'iteration', {head: (name) => `it ${name}`})
          : axisOf(both, 'tensor_name', 'tensor')],
      measures: await measures(tensors, worst), things: 'tensors',
      narrows: document.getElementById('formats') ? 'findings, formats and tables' : '',
      scopeOf: (wanted) => scopeOf(tensors, wanted)});
}

/* --- formats -------------------------------------------------------------------- */

const PLACES = ['quant_type', 'layer_type', 'layer_idx', 'operation', 'tensor_name'];

/* What stands in the cells: a column, what it is of, and how it is written. */
const NUMBERS = [
  {id: 'sqnr_db', words: 'SQNR of all elements together', unit: 'dB'},
  {id: 'sqnr_worst_db', words: 'SQNR of the worst tensor', unit: 'dB'},
  {id: 'overflow_ratio', words: 'overflow: share of the elements', unit: '%'},
  {id: 'underflow_ratio', words: 'underflow: share of the elements', unit: '%'},
  {id: 'subnormal_ratio', words: 'subnormal: share of the elements', unit: '%'},
  {id: 'saturated_block_ratio', words: 'saturated blocks: share of all', unit: '%'},
];

function numberText(value, unit) {
  if (value === undefined || Number.isNaN(value)) return null;
  if (unit === '%') return Number((100 * value).toPrecision(4));
  return Number.isFinite(value) ? Number(value.toFixed(1)) : 'exact';
}

/* Which formats a place overflows, and what becomes of those elements. */
function overflowsOf(groups, rows) {
  const of = (row, name) => row[groups.at.get(name)];
  return rows.filter((row) => number(of(row, 'overflow_ratio')) > 0).map((row) => {
    const lost = of(row, 'nonfinite_out');
    return `${of(row, 'format')} ${percent(of(row, 'overflow_ratio'))}` +
        (lost > 0 ? `, ${lost} to Inf or NaN` : ', saturates');
  }).join('; ');
}

/* Places down, formats over, what is recommended beside. */
function formatTable(groups, advised, by, scale, what) {
  const of = (table, row, name) => row[table.at.get(name)];
  const mine = groups.rows.filter((row) => of(groups, row, 'group_by') === by &&
                                  of(groups, row, 'tensor_scale') === scale);
  const named = PLACES.filter((name) => mine.some((row) =>
      of(groups, row, name) !== null && of(groups, row, name) !== ''));
  const formats = distinct(mine.map((row) => of(groups, row, 'format')));
  const key = (table, row) => JSON.stringify(PLACES.map((name) => of(table, row, name)));
  const advice = new Map(advised ? advised.rows
      .filter((row) => of(advised, row, 'group_by') === by)
      .map((row) => [key(advised, row), row]) : []);
  const tells = advice.size > 0;
  const places = new Map();
  for (const row of mine) {
    if (!places.has(key(groups, row))) places.set(key(groups, row), new Map([['row', row]]));
    places.get(key(groups, row)).set(of(groups, row, 'format'), row);
  }
  const over = [...places.values()].map((place) => overflowsOf(groups,
      formats.map((name) => place.get(name)).filter(Boolean)));
  const columns = [...named.map((name) => ({name, unit: '', number: name === 'layer_idx'})),
      {name: 'tensors', unit: '', number: true},
      ...(tells ? [{name: 'recommended', unit: ''}, {name: 'because', unit: ''}] : []),
      ...formats.map((name) => ({name, unit: what.unit, number: true})),
      ...(over.some(Boolean) ? [{name: 'overflows', unit: ''}] : [])];
  const rows = [...places].map(([id, place], i) => {
    const row = place.get('row'), told = advice.get(id);
    return [...named.map((name) => of(groups, row, name)), of(groups, row, 'tensors'),
        ...(tells ? [told ? of(advised, told, 'advice') : '',
                       told ? of(advised, told, 'reason') : ''] : []),
        ...formats.map((name) => place.has(name)
            ? numberText(number(of(groups, place.get(name), what.id)), what.unit) : null),
        ...(over.some(Boolean) ? [over[i]] : [])];
  });
  return {name: 'formats', columns, rows, by,
          at: new Map(columns.map((column, i) => [column.name, i]))};
}

async function formats(place) {
  const groups = await load('quantization_groups');
  const advised = await load('recommendations');
  if (!groups) return;
  const values = (name) => distinct(groups.rows.map((row) => row[groups.at.get(name)]));
  const option = (words) => make('option', {value: words}, words);
  const body = make('div', {class: 'view'});
  const numbers = NUMBERS.filter(({id}) => groups.at.has(id) &&
      groups.rows.some((row) => !Number.isNaN(number(row[groups.at.get(id)]))));
  const paper = make('div', {class: 'soft paper'});
  const narrowed = make('div', {class: 'soft', role: 'status'});
  const show = () => {
    const number = numbers[what.selectedIndex];
    paper.textContent = `By ${by.value}; scale of the tensor: ${scale.value}; ` +
        `numbers: ${number.words}.`;
    page.replaceView('formats', new View(
        formatTable(groups, advised, by.value, scale.value, number), body));
  };
  const told = (by) => !!advised &&
      advised.rows.some((row) => row[advised.at.get('group_by')] === by);
  const kinds = values('group_by')
      .sort((a, b) => told(b) - told(a) || a.length - b.length);
  const by = make('select', {onchange: show}, ...kinds.map(option));
  const scale = make('select', {onchange: show}, ...values('tensor_scale').map(option));
  const what = make('select', {onchange: show},
      ...numbers.map(({id, words}) => make('option', {value: id}, words)));
  place.append(make('div', {class: 'tools'}, make('label', {}, 'By', by),
      make('label', {}, 'Scale of the tensor', scale),
      make('label', {}, 'Number', what)), paper, narrowed, body);
  if (groups.total > groups.rows.length)
    place.prepend(make('p', {class: 'soft'}, `Of the first ${groups.rows.length} of ` +
        `${groups.total} rows of quantization_groups only: places of later ones are not here.`));
  show();
  regroup(by, kinds, narrowed, show);
}

/* While a cell of the map is chosen the formats are by one of its labels, if
 * there is such a grouping; then by what they were, unless a reader chose. */
function regroup(by, kinds, told, show) {
  let before = '';
  by.addEventListener('change', () => {
    before = '';
    told.textContent = '';
  });
  page.onScope(() => {
    const scope = page.scope(), own = before || by.value;
    const of = (kind) => scope.by.filter(({label}) => kind.split('/').includes(label));
    const fits = (kind) => !scope || of(kind).length > 0;
    const wanted = fits(own) ? own : kinds.find(fits) || own;
    before = wanted === own ? '' : own;
    told.textContent = wanted === own ? '' : `By ${wanted} while ${scope.words} is chosen: ` +
        `by ${own} each row is ${page.map.overAll(of(wanted))}.`;
    if (by.value === wanted) return;
    by.value = wanted;
    show();
  });
}

/* --- the page -------------------------------------------------------------------- */

for (const [id, make] of [['map', map], ['formats-view', formats]]) {
  const place = document.getElementById(id);
  if (place) make(place);
}
return {distribution};
}
