/* SPDX-License-Identifier: MIT */
/*
 * From a finding to the rows that it stands on: a button for each table that
 * has some, which narrows it to these. Which rows those are follows from what
 * the finding names: labels of a tensor, a call of a dump by its place in it, a
 * name, or a trace; of traces the rule tells which table and what to sort by.
 * The filter that a button sets is one that a reader could have typed. `page`
 * are the tools of report.js.
 */
function evidencePage(page) {
const {make, load, parse} = page;
const BUTTONS_MOST = 3;

const PLACE = ['layer_type', 'layer_idx', 'operation', 'phase', 'component',
    'quant_type', 'tensor_name', 'ordinal', 'rank', 'module', 'expert'];

/* Tables about single tensors, which name the tensor's row. */
const OF_TENSORS = {sqnr: ['quantization'], overflow: ['quantization'],
    underflow: ['quantization'], dims: ['dims'], scales: ['quantised']};

/* Tables of a dump, of two and of its replay, as they are asked; a call is
 * known by step, rank and order, and by its name where a column has it. */
const OF_CALLS = ['pairs', 'dump_entries', 'replay', 'autodiff', 'calls', 'flow',
    'overflow', 'copies', 'content_matches', 'content_alone', 'places'];
const NAMES = ['name_a', 'name_b', 'name', 'api_name', 'left', 'right',
    'data_name', 'consumer', 'producer'];

/* What a rule about traces looked at, and the column that tells most. */
const OF_TRACES = {
  dataloader: [['idle', 'dataloader'], ['steps', 'data_wait_us']],
  queued: [['idle', 'queued'], ['streams', 'busy_us']],
  sync: [['syncs', 'total_us'], ['idle', 'blocking']],
  launch: [['launches', 'count'], ['kernels', 'total_us']],
  first_launch: [['idle', 'first_launch'], ['launches', 'max_delay_us']],
  host: [['idle', 'cpu_op'], ['frames', 'host_idle_us']],
  cpu_time: [['frames', 'self_us'], ['ops', 'self_cpu_time_total_us']],
  tiny_operators: [['ops', 'count']],
  host_churn: [['memory', 'allocated_per_step_b'], ['ops', 'self_cpu_mem_b']],
  allocation: [['memory', 'allocations'], ['idle', 'alloc']],
  cold_start: [['memory', 'allocations']],
  churn: [['memory', 'reserved_swings']],
  memory_full: [['memory', 'peak_reserved_b'], ['memory_peaks', 'total_b']],
  communication: [['collectives', 'exposed_us'], ['busy', 'exposed_communication_us']],
  straggler: [['ranks', 'late'], ['matched_collectives', 'wait_us']],
  slow_rank: [['ranks', 'late'], ['matched_collectives', 'skew_us']],
  slow_link: [['collective_sizes', 'latency_us']],
  copies: [['copies', 'total_us'], ['busy', 'exposed_memory_us']],
  turns: [['busy', 'busy_us']],
  rising_steps: [['steps', 'step']], first_step: [['steps', 'window_us']],
  uneven_steps: [['steps', 'window_us']], rising_traces: [['ranks', 'step_us']],
  attention: [['roofline', 'device_us']], tf32: [['roofline', 'device_us']],
  alignment: [['roofline', 'device_us']], no_roof: [['roofline', 'device_us']],
  fusion: [['fusions', 'saved_us']], optimizer: [['optimizers', 'idle_us']],
  incomplete: [['skipped', 'offset'], ['ranks', 'step_us']],
  not_recorded: [['ranks', 'step_us']],
};
/* All rows of these say something, of whatever trace. */
const OF_ALL = ['matched_collectives', 'collective_sizes'];

const known = (value) => value !== null && value !== '';
const plain = (value) => known(value) && !/\s/.test(String(value));

/* Filters for names that a table and a finding both have. */
const shared = (table, of, names) => names
    .filter((name) => table.at.has(name) && plain(of(name)))
    .map((name) => `${name}=${of(name)}`);

const hits = (table, words) => {
  const terms = parse(words.join(' '), table);
  return table.rows.filter((row) => terms.every(({holds}) => holds(row))).length;
};

/* Tensors of the finding's place, and what tables say of the one it names. */
async function ofTensors(of) {
  const tensors = await load('tensors'), list = [];
  const labels = page.ofPlaces(of('rule'))
      ? PLACE.filter((name) => name !== 'rank' && name !== 'ordinal').concat('path') : PLACE;
  const words = shared(tensors, of, labels);
  list.push({name: 'tensors', words: words.every((word) => word.startsWith('ordinal='))
      ? shared(tensors, of, ['file']) : words}); /* any tensor may be the first */
  const row = tensors.rows.findIndex((one) =>
      one[tensors.at.get('file')] === of('file') &&
      one[tensors.at.get('path')] === of('path'));
  for (const name of OF_TENSORS[of('rule')] || [])
    if (row >= 0) list.push({name, words: [`tensor=${row}`]});
  return list;
}

/* Of a trace the rows of its file. */
async function ofTraces(of) {
  const ranks = await load('ranks');
  const number = ranks ? ranks.rows.findIndex((row) =>
      row[ranks.at.get('file')] === of('file')) : -1;
  return (OF_TRACES[of('rule')] || []).map(([name, by]) => ({name, by,
      words: (table) => {
        if (OF_ALL.includes(name)) return [];
        const step = shared(table, of, ['step']);
        if (table.at.has('file')) return shared(table, of, ['file']);
        return number >= 0 && table.at.has('trace') ? [`trace=${number}`, ...step] : null;
      }}));
}

/* Names that come back to themselves when followed. */
function cyclesOf(next) {
  const found = new Set(), seen = new Set();
  for (const begin of next.keys()) {
    const way = new Set();
    let one = begin;
    while (next.has(one) && !seen.has(one)) {
      seen.add(one);
      way.add(one);
      one = next.get(one);
    }
    let cyclic = false;
    for (const name of way) {
      cyclic = cyclic || name === one;
      if (cyclic) found.add(name);
    }
  }
  return found;
}

/* Names that changed places, or were counted from elsewhere: both sides have
 * them, and what A has under one B has under another. Without all of them, as
 * where rows are not in this page, the two that the finding names. */
function movedNames(table, of) {
  const cells = (name) => table.rows.map((row) => row[table.at.get(name)]);
  const [left, right, lefts, rights, copy, constant] = ['left', 'right', 'left_count',
      'right_count', 'copy', 'constant'].map(cells);
  const ofA = new Set(left), ofB = new Set(right);
  const next = new Map(left.map((name, i) => [name, right[i]]).filter(([name, other], i) =>
      lefts[i] === 1 && rights[i] === 1 && !copy[i] && !constant[i] && name !== other &&
      ofA.has(other) && ofB.has(name)));
  const cycles = cyclesOf(next);
  const names = [...next.keys()].filter((name) => cycles.has(name) === (of('rule') === 'swapped'));
  return names.length === of('count') && names.includes(of('a')) ? names : [of('a'), of('b')];
}

/* Of two sides that were matched by content. */
function contentWords(table, of) {
  if (of('rule') === 'lost' && table.name === 'content_alone') return ['kind='];
  if (!['swapped', 'moved'].includes(of('rule')) || table.name !== 'content_matches') return null;
  const names = movedNames(table, of);
  return names.every((name) => plain(name) && !name.includes('|')) ? [`left=${names.join('|')}`] : null;
}

/* What got slower between two runs of traces, by its name. */
const OF_CHANGES = {
  slower_step: ['compare/steps'], slower_kernel: ['compare/kernels', 'compare/why'],
  slower_host: ['compare/ops', 'compare/why'], longer_gap: ['compare/why'],
  new_work: ['compare/kernels', 'compare/ops', 'compare/why'],
};
const ofChanges = (of) => OF_CHANGES[of('rule')].map((name) => ({name,
    words: (table) => {
      if (of('rule') === 'slower_step') return [];
      const column = ['name', 'test_name'].find((one) => table.at.has(one));
      return column && plain(of('name')) ? [`${column}=${of('name')}`] : of('name').split(/\s+/);
    }}));

/* Of a call, or of whatever has the finding's name. Where a row has exactly
 * that name, it is the one. */
function callWords(table, of) {
  if (of('rule') === 'unread' && table.at.has('problem')) return ['problem!='];
  const content = contentWords(table, of);
  if (content) return content;
  const place = shared(table, of, ['step', 'rank', 'order']);
  const name = plain(of('name')) ? NAMES.filter((one) => table.at.has(one))
      .map((one) => [...place, `${one}=${of('name')}`])
      .find((words) => hits(table, words)) : null;
  if (name) return name;
  if (table.name === 'places') return of('order') === null ? place : null;
  return table.at.has('order') && of('order') !== null ? place : null;
}

async function add(place, of) {
  if (page.has('scripts')) return; /* a finding about a script has its line */
  const list = page.has('compare/why') ? ofChanges(of)
      : page.has('tensors') ? await ofTensors(of)
      : page.has('ops') || page.has('ranks') ? await ofTraces(of)
      : OF_CALLS.map((name) => ({name, words: (table) => callWords(table, of)}));
  const line = make('p', {class: 'tools'});
  for (const {name, words, by} of list) {
    const table = page.has(name) && line.children.length < BUTTONS_MOST
        ? await load(name) : null;
    const wanted = table && (typeof words === 'function' ? words(table) : words);
    const count = wanted ? hits(table, wanted) : 0;
    if (count)
      line.append(make('button', {type: 'button',
          onclick: (event) => page.filter(name, wanted.join(' '), by, event.currentTarget)},
          `Show its ${count === 1 ? 'row' : `${count} rows`} of ` + (table.total > table.rows.length
              ? `the first ${table.rows.length} of ${name}` : name)));
  }
  if (!line.children.length)
    line.append('No table of this page has rows of it: what there is stands here.');
  place.append(line);
}

return {add};
}
