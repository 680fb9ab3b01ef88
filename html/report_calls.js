/* SPDX-License-Identifier: MIT */
/*
 * What pages have whose main table is of calls in a dump, in two, or replayed:
 * what their map is of, modules or operators over steps, ranks, directions or
 * the order of calls; and what a finding's call and those around it gave. All
 * other tables of such a page name their call: by its place in the order of its
 * step and rank, or by its name alone. `page` are the tools of report.js.
 */
function callPage(page) {
const {make, shown, load, number, distinct} = page;
const PARTS = 12;   /* of the order of calls: as many columns have room        */
const AROUND = 12;  /* calls before and behind that of a finding               */
const NAMES = ['api_name', 'name', 'call', 'consumer'];

/* --- calls ----------------------------------------------------------------- */

/* "Functional.linear.0.forward" is one of Functional.linear, a module of its
 * class; a tensor of a checkpoint, which has no direction, is what its layer
 * calls it: "mlp.up_proj.weight". */
function ofName(name) {
  const module = /^(?:Module|Cell)\.(?:.*\.)?([^.]+)\.(forward|backward|parameters_grad)(?:\.|$)/
      .exec(name);
  if (module) return {operator: module[1], direction: module[2], tensor: null};
  const call = /^(.*?)(?:[._]\d+)?[._](forward|backward)(?:\.|$)/.exec(name);
  if (call) return {operator: call[1], direction: call[2], tensor: null};
  const [, inside] = /(?:^|\.)\d+\.(.*)$/.exec(name) || [name, name];
  return {operator: null, direction: null, tensor: inside || null};
}

/* A layer is the first number in the path of a module, or "L2" in a name. */
function layerOf(module, name) {
  const found = /(?:^|\.)(\d+)(?:\.|$)/.exec(module) || /(?:^|\.)L(\d+)(?:\.|$)/.exec(name);
  return found ? Number(found[1]) : null;
}

const cell = (table, row, name) => table.at.has(name) ? row[table.at.get(name)] : null;
const nameOf = (table, row) => cell(table, row, NAMES.find((name) => table.at.has(name)));

/* What is known of the row of a call; of one that is of none, its place. */
function callOf(table, row) {
  const name = nameOf(table, row) || '';
  const made = ofName(name), direction = cell(table, row, 'direction');
  if (direction && !made.direction) /* a call whose name does not say so */
    Object.assign(made, {operator: name, direction, tensor: null});
  const module = cell(table, row, 'module') ||
      (made.direction ? '' : name.slice(0, Math.max(0, name.lastIndexOf('.'))));
  return {row, name, step: cell(table, row, 'step'), rank: cell(table, row, 'rank'),
          order: cell(table, row, 'order'), module, layer: layerOf(module, name), ...made};
}

/* Of rows that are of no call only the place is known, and what a name says. */
const ofPlace = (table, row) =>
    ({...callOf(table, row), order: null, part: null});

/* The table, its calls, and where they are found by their place and name. */
let table = null, calls = [], findings = null;
const byOrder = new Map(), byName = new Map();
/* What a row is: of two checkpoints a tensor, which is no argument and no result. */
let thing = 'call';
const keyOf = (of) => `${of.step}|${of.rank}|${of.order}`;

const push = (map, key, value) => map.has(key) ? map.get(key).push(value)
                                               : map.set(key, [value]);

async function read() {
  if (table) return;
  const all = await load(page.main);
  findings = await load('findings');
  if (table || !all) return;
  table = all;
  calls = table.rows.map((row) => callOf(table, row));
  if (table.at.has('error_out') && !calls.some((call) => call.direction)) thing = 'tensor';
  for (const call of calls) {
    push(byOrder, keyOf(call), call);
    push(byName, call.name, call);
  }
}

/* Calls of a name, or of the one that it is an item of. */
function callsNamed(name) {
  for (let long = name; long; long = long.slice(0, Math.max(0, long.lastIndexOf('.'))))
    if (byName.has(long)) return byName.get(long);
  return [];
}

/* Those that a row of another table is of: a function, or null where that says
 * nothing of calls. */
function callsOf(other) {
  if (other === table) {
    const at = new Map(table.rows.map((row, i) => [row, calls[i]]));
    return (row) => [at.get(row)];
  }
  if (other.at.has('finding') && findings) {
    const inner = callsOf(findings);
    return (row) => {
      const its = findings.rows[cell(other, row, 'finding')];
      return its ? inner(its) : [];
    };
  }
  const order = ['order', 'consumer_order'].find((name) => other.at.has(name));
  const same = (a, b) => a === null || b === null || a === b;
  const inPlace = (row) => (call) => same(cell(other, row, 'step'), call.step) &&
      same(cell(other, row, 'rank'), call.rank);
  if (!order && !NAMES.some((name) => other.at.has(name))) return null;
  return (row) => {
    const name = nameOf(other, row) || '';
    const at = order ? cell(other, row, order) : null;
    const all = at === null ? callsNamed(name).filter(inPlace(row))
        : byOrder.get(keyOf({step: cell(other, row, 'step'), rank: cell(other, row, 'rank'),
                             order: at})) || [];
    const found = order && at === null ? all.slice(0, 1) : all; /* of one call */
    /* places that are alike are told apart by names */
    const named = found.length > 1 ? found.filter((call) => name.startsWith(call.name)) : [];
    return named.length ? named : found.length ? found : [ofPlace(other, row)];
  };
}

/* --- the map ------------------------------------------------------------------ */

function axis(id, words, names, more) {
  const known = new Set(names);
  return {id, words, names, of: () => (call) => known.has(call[id]) ? call[id] : null,
          ...more};
}

/* Parts of the order of calls, which every dump has. */
function orderAxis() {
  const most = calls.reduce((last, call) => Math.max(last, call.order), 0);
  const size = Math.ceil((most + 1) / PARTS);
  const name = (order) => size === 1 ? String(order)
      : `${order - order % size}-${order - order % size + size - 1}`;
  for (const call of calls) call.part = call.order === null ? null : name(call.order);
  const names = Array.from({length: Math.floor(most / size) + 1}, (_, i) => name(i * size));
  return axis('part', `${thing}s`, names, {title: `the order of ${thing}s`,
      head: (name) => `${thing} ${name}`});
}

/*
 * Rows stand in the order of their first calls: that of the network. Columns
 * that are all one would only list the rows again, so that a dump of one step
 * and one rank is shown by direction, and one that has a single direction by
 * the order of calls: where in the run an operator goes wrong. A checkpoint is
 * shown as layers over the tensors that each has.
 */
function axes() {
  const of = (id) => page.map.known(calls.map((call) => call[id]));
  const cut = page.map.depthOf(calls.map((call) => call.module));
  for (const call of calls) call.module = cut(call.module);
  const order = orderAxis();
  const several = ([id, words, more]) => axis(id, words,
      id === 'step' || id === 'rank' || id === 'layer' ? page.map.sorted(of(id)) : of(id), more);
  const numbered = (words) => ({head: (name) => `${words} ${name}`});
  const rows = [['module', 'module'], ['operator', 'operator'], ['layer', 'layer']]
      .map(several).filter(({id, names}) => names.length > (id === 'layer'));
  const columns = [['step', 'step', numbered('step')], ['rank', 'rank', numbered('rank')],
                   ['direction', 'direction'], ['tensor', 'tensor']]
      .map(several).filter(({names}) => names.length > 1);
  if (columns.some(({id}) => id === 'tensor')) /* layers first */
    rows.sort((a, b) => (b.id === 'layer') - (a.id === 'layer'));
  return {rows, columns: [...columns, order]};
}

/* What words of a column mean, from the best on. */
const RESULTS = [
  {word: 'pass', kind: '', means: 'no rule of msprobe\'s comparison says anything'},
  {word: 'warning', kind: 'medium', means: 'one of its rules warns'},
  {word: 'error', kind: 'high', means: 'one of its rules calls it an error, or it was not compared'}];
const NOT_JUDGED = 'not judged', DROPOUT = 'dropout', MAKES_NAN = 'makes NaN',
    UNDEFINED = 'undefined', OVERFLOWS = 'overflows';
const JUDGEMENTS = [
  {word: NOT_JUDGED, kind: '', means: 'not computed again; the table says why'},
  {word: 'explained', kind: '', means: 'rounding explains its results'},
  {word: 'narrow', kind: 'medium',
   means: 'only steps in the tensors\' own dtype explain its results'},
  {word: OVERFLOWS, kind: 'medium', means: 'a result is finite, but not in its dtype'},
  {word: MAKES_NAN, kind: 'medium', means: 'NaN or infinities of arguments that are finite'},
  {word: UNDEFINED, kind: 'high', means: 'NaN or infinities where the function is not defined'},
  {word: DROPOUT, kind: 'high', means: 'elements, or a share of zeros, that are not those of its p'},
  {word: 'wrong', kind: 'high', means: 'rounding does not explain a result'}];
const ANOMALIES = [
  {word: 'meant', kind: '', means: 'only infinities as a mask has them'},
  {word: 'medium', kind: 'low', means: 'NaN or Inf in arguments only'},
  {word: 'high', kind: 'medium', means: 'in arguments and results, or a norm that grew 100-fold'},
  {word: 'critical', kind: 'high', means: 'in results only: it came up here'}];
/* What low, medium and high findings are: of a replay, a dump, a comparison. */
const SEVERITIES = {
  replay: ['rounding grows, or equal arguments gave other results',
      'a wider dtype would be better, or zeros make NaN and infinities',
      'a wrong result, or NaN where the function is not defined'],
  dump: ['a note', 'what follows from such, or may be meant',
      'data that cannot be trusted, or where NaN or Inf began'],
  compare: ['any other difference',
      'a difference that msprobe\'s rules count, or of what was asked for',
      'NaN or Inf that only A has, or error that an operator adds']};
const severitiesOf = () => SEVERITIES[page.main === 'replay' ? 'replay'
    : findings.at.has('check') ? 'dump' : 'compare'];

/* Calls that findings of a rule name, and that are high. */
function highOf(rule) {
  const of = findings && callsOf(findings);
  return findings ? findings.rows.filter((row) => cell(findings, row, 'rule') === rule &&
      cell(findings, row, 'severity') === 'high').flatMap(of) : [];
}

/* The worst that is said of each row of a replay. Only findings tell dropouts,
 * and of an operator that makes NaN, one finding for all its calls, why. */
async function judgements() {
  if (!table.at.has('judgement')) return null;
  const dropouts = new Set(highOf('dropout').map((call) => call.row));
  const own = callsOf(table);
  const undefineds = new Set(highOf('makes_nan').map((call) => call.operator));
  const wordOf = (of, row) => {
    const judgement = cell(of, row, 'judgement');
    if (judgement === 'wrong') return judgement;
    if (dropouts.has(row)) return DROPOUT;
    if (number(cell(of, row, 'nonfinite')) > 0)
      return undefineds.has(own(row)[0].operator) ? UNDEFINED : MAKES_NAN;
    return number(cell(of, row, 'overflows')) > 0 ? OVERFLOWS : judgement || NOT_JUDGED;
  };
  return ofWordsOf(page.main, 'verdict: the worst and how many', JUDGEMENTS, wordOf);
}

/* Numbers of the main table. Where no result was compared, as of gradients of
 * parameters, which are themselves what comes out, arguments were; the words of
 * the measure say so. */
function numberOf(call, column) {
  const value = number(cell(table, call.row, column));
  return column === 'error_out' && Number.isNaN(value)
      ? number(cell(table, call.row, 'error_in')) : value;
}

const ofOwn = (column, words) => table.at.has(column) && {id: column, words, table, log: true,
    values: () => calls.map((call) => [call, numberOf(call, column)])};

/* A number of another table's rows, by their calls. */
async function ofTable(name, column, words, more) {
  const other = await load(name);
  if (!other || !other.at.has(column)) return null;
  const owners = callsOf(other), at = other.at.get(column);
  return {id: column, words, table: other, ...more, values: () => other.rows.flatMap((row) =>
      owners(row).map((call) => [call, number(row[at])]))};
}

/* The same of words. */
async function ofWordsOf(name, words, levels, wordOf) {
  const other = await load(name);
  if (!other) return null;
  const owners = callsOf(other);
  return page.map.ofWords(name === page.main ? 'result' : name, words, levels,
      {table: other, pairs: () => other.rows.flatMap((row) =>
          owners(row).map((call) => [call, wordOf(other, row)]))});
}

function findingLevels() {
  const of = callsOf(findings);
  return page.map.ofFindings(findings, severitiesOf(), (row) => of(row)[0]);
}

/* First what the page is mostly looked at for. */
async function measures() {
  const log = {log: true}, low = {low: true};
  const pair = (column, words, more) => ofTable('pairs', column, words, more);
  const list = await Promise.all([
    ofOwn('error_out', 'largest relative error of results, of arguments where none was compared'),
    judgements(),
    findings && findingLevels(),
    table.at.has('result') && ofWordsOf(page.main, 'msprobe\'s verdict: the worst and how many',
        RESULTS, (of, row) => cell(of, row, 'result')),
    ofWordsOf('overflow', 'NaN and Inf: the worst call and how many', ANOMALIES,
        (of, row) => cell(of, row, 'mask') ? 'meant' : cell(of, row, 'level')),
    ofOwn('abs_max', 'amax: largest magnitude of results'),
    ofOwn('nonfinite', 'NaN and Inf: most elements of results'),
    ofOwn('excess', 'error over what rounding explains'),
    ofOwn('error', 'relative error'),
    ofOwn('amplification', 'amplification of rounding: largest'),
    pair('cosine', 'cosine: lowest', low),
    pair('max_relative_err', 'largest relative error of an element', log),
    pair('sqnr_db', 'SQNR, dB: lowest', low),
    pair('ulp_max', 'largest difference in units of the last place', log),
  ]);
  return list.filter(Boolean);
}

/* What a click asks for; NULL: a table has neither calls nor places. */
function scopeOf(wanted) {
  const {words} = page.map;
  return {
    words: words(wanted),
    lack: () => 'its rows are of no calls',
    of: (other) => {
      const owners = callsOf(other);
      if (owners)
        return {words: words(wanted), holds: (row) => owners(row).some((call) =>
            wanted.every(({axis, name}) => axis.of()(call) === name))};
      const known = wanted.filter(({axis}) => other.at.has(axis.id));
      return known.length ? {words: words(known), holds: (row) =>
          known.every(({axis, name}) => cell(other, row, axis.id) === name),
          rest: page.map.overAll(wanted.filter((one) => !known.includes(one)))} : null;
    },
  };
}

async function map(place) {
  await read();
  if (!calls.length) return;
  page.map.draw(place, {...axes(), measures: await measures(), things: `${thing}s`, scopeOf});
}

/* --- the calls around one -------------------------------------------------------- */

/* What a chart is of: the first column that the main table has. */
const CHARTED = [
  ['error_out', 'largest relative error of the results, of arguments where none was compared'],
  ['abs_max', 'largest magnitude of the results, ∞ where they have NaN or Inf'],
  ['excess', 'error of the results over what rounding explains, ∞ where NaN is made']];

function valueOf(call, column) {
  return number(cell(table, call.row, 'nonfinite')) > 0 ? Infinity
      : numberOf(call, column);
}

/* A chart of calls by what they are told apart by, the finding's own marked, also
 * where it has no number. */
function addChart(place, list, by, own, [column, words]) {
  const points = list.map((call) => [call[by], valueOf(call, column)])
      .filter(([, value]) => !Number.isNaN(value));
  const names = new Map(list.map((call) => [call[by], call.name]));
  const values = distinct(points.map(([, value]) => value));
  const told = (value) => Number.isFinite(value) ? shown(value) : '∞';
  if (points.length < 2) return false;
  const lost = list.length - points.length;
  const without = Number.isNaN(valueOf(own, column)) ? ', that of this finding among them' : '';
  const what = thing === 'call' ? words : 'largest relative error';
  const caption = (by === 'order' ? `${what}, ${thing} by ${thing}`
      : `${what}, of this ${thing} by ${by}`) +
      (lost ? `; ${lost} without a number left out${without}` : '');
  const line = (text) => place.append(make('p', {class: 'soft'}, `${caption}: ${text}.`));
  if (values.length === 1) line(`${told(values[0])} in all ${points.length}`);
  else if (by !== 'order' && points.length === 2) /* two points are no course */
    line(points.map(([at, value]) => `${told(value)} in ${by} ${at}`).join(', '));
  else place.append(page.chart(points, {caption, metric: words, baseline: null,
      iteration: own[by], over: by === 'order' ? thing : by,
      name: by === 'order' ? (i) => names.get(i) : null,
      words: {first: 'this finding'}}, page.widthOf(place)));
  return true;
}

/* The call of a finding, by its place or, of one that a side lacks, its name. */
function ownOf(of) {
  const name = of('name') || '';
  if (of('order') === null) return callsNamed(name)[0];
  const found = byOrder.get(keyOf({step: of('step'), rank: of('rank'), order: of('order')})) || [];
  return found.find((call) => callsNamed(name).includes(call)) || found[0];
}

/* The finding's call among those before and behind it, and in all steps. */
async function around(place, of) {
  await read();
  const lack = (words) => place.append(make('p', {class: 'soft'}, `No chart of it: ${words}.`));
  const charted = table && CHARTED.find(([column]) => table.at.has(column));
  const own = charted && ownOf(of);
  if (!charted || (!own && of('order') === null))
    return lack(charted && of('rule') === 'unmatched' ? `only B has its ${thing}`
                                                       : `it is about no ${thing}`);
  if (!own) return lack(table.total > table.rows.length
      ? `its ${thing} is beyond the rows that are in this page`
      : `its ${thing} was not looked at`);
  const near = calls.filter((call) => call.step === own.step && call.rank === own.rank &&
      Math.abs(call.order - own.order) <= AROUND);
  const steps = byName.get(own.name).filter((call) => call.rank === own.rank);
  const drawn = [addChart(place, near, 'order', own, charted),
                 distinct(steps.map((call) => call.step)).length > 1 &&
                     addChart(place, steps, 'step', own, charted)];
  if (!drawn.some(Boolean))
    lack(`of fewer than two ${thing}s around it a number is known, ${charted[1]}` +
         (Number.isNaN(valueOf(own, charted[0])) ? '' : `; of its own ${shown(valueOf(own, charted[0]))}`));
}

const place = document.getElementById('map');
if (place) map(place);
return {around};
}
