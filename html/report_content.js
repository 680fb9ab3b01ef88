/* SPDX-License-Identifier: MIT */
/*
 * The map of a page of two sides that were matched by content: layers over the
 * tensors that each has, by the names of A, and what became of each in B. A row
 * may be of several tensors, as of shards. `page` are the tools of report.js.
 */
function contentPage(page) {
const {load} = page;

const SAME = 'equal', NAMED = 'other name', MOVED = 'moved', A = 'only in A', B = 'only in B';
const LEVELS = [
  {word: SAME, kind: '', means: 'B has it under the same name'},
  {word: NAMED, kind: '', means: 'B has it under another name'},
  {word: 'reshaped', kind: 'low', means: 'the same elements in another shape'},
  {word: 'transposed', kind: 'low', means: 'axes in another order'},
  {word: 'split', kind: 'low', means: 'one side has shards of it'},
  {word: 'fused', kind: 'low', means: 'one side has several tensors in one'},
  {word: 'resharded', kind: 'low', means: 'several of one side make several of the other'},
  {word: 'same_elements', kind: 'low', means: 'another order of rows or elements'},
  {word: B, kind: 'medium', means: 'nothing of A holds the same'},
  {word: A, kind: 'medium', means: 'nothing of B holds the same'},
  {word: MOVED, kind: 'high', means: 'B has it under another name, and has its name, too'}];
const SEVERITIES = ['any other difference', 'names that mean other tensors, or that one side lacks',
                    'tensors that changed places'];

/* A layer is the first number in a name, what is behind it the tensor. */
function placeOf(name) {
  const found = /(?:^|\.)(\d+)\.(.*)$/.exec(name);
  return found ? {layer: Number(found[1]), tensor: found[2]} : {layer: null, tensor: name};
}

const cell = (table, row, name) => table.at.has(name) ? row[table.at.get(name)] : null;

/* Names that a row is of; NULL: the table has none. */
const NAMED_BY = {content_matches: ['left', 'right'], content_alone: ['name'], findings: ['name']};
const MORE = /^and \d+ more$/;
const namesOf = (table, row, columns = NAMED_BY[table.name]) =>
    columns.flatMap((column) => (cell(table, row, column) || '').split(', '))
        .filter((name) => name && !MORE.test(name));

/* What became of a tensor of a row. */
function wordOf(table, row, name, ofB) {
  if (table.name === 'content_alone') return cell(table, row, 'side') === 'A' ? A : B;
  const relation = cell(table, row, 'relation');
  if (relation !== SAME || name === cell(table, row, 'right')) return relation;
  return ofB.has(name) ? MOVED : NAMED;
}

/* A tensor once, by the worst that became of it: B may have copies of it. */
function worstOf(list) {
  const order = (word) => LEVELS.findIndex((level) => level.word === word);
  const made = new Map();
  for (const one of list)
    if (!made.has(one.name) || order(one.word) > order(made.get(one.name).word))
      made.set(one.name, one);
  return [...made.values()];
}

/* Those of A, then what only B has. */
function tensorsOf(matches, alone) {
  const onlyB = (row) => cell(alone, row, 'side') === 'B';
  const ofB = new Set([...matches.rows.flatMap((row) => namesOf(matches, row, ['right'])),
      ...(alone ? alone.rows.filter(onlyB).flatMap((row) => namesOf(alone, row)) : [])]);
  const of = (table, columns) => table ? table.rows.flatMap((row) =>
      namesOf(table, row, columns).map((name) =>
          ({name, side: cell(table, row, 'side'), ...placeOf(name),
            word: wordOf(table, row, name, ofB)}))) : [];
  const lone = of(alone);
  return [...worstOf([...of(matches, ['left']), ...lone.filter(({side}) => side === 'A')]),
          ...lone.filter(({side}) => side === 'B')];
}

/* What a click asks for; of files what their findings are of. */
function scopeOf(findings, wanted) {
  const holds = (table) => (row) => namesOf(table, row).some((name) => {
    const place = placeOf(name);
    return wanted.every(({axis, name: one}) => place[axis.id] === one);
  });
  const words = page.map.words(wanted);
  return {words, lack: () => 'its rows name no tensor', of: (table) => {
    if (NAMED_BY[table.name]) return {words, holds: holds(table)};
    const at = table.at.get('finding');
    return at === undefined || !findings ? null
        : {words, holds: (row) => holds(findings)(findings.rows[row[at]])};
  }};
}

async function map(place) {
  const [matches, alone, findings] =
      await Promise.all(['content_matches', 'content_alone', 'findings'].map(load));
  const tensors = tensorsOf(matches, alone);
  const axis = (id, order) => ({id, words: id, of: () => (one) => one[id],
                                names: order(tensors.map((one) => one[id]))});
  page.map.draw(place, {rows: [axis('layer', page.map.sorted)],
      columns: [axis('tensor', page.map.known)],
      measures: [page.map.ofWords('content', 'what B has of it: the worst and how many', LEVELS,
                     {table: matches, pairs: () => tensors.map((one) => [one, one.word])}),
                 ...(findings ? [page.map.ofFindings(findings, SEVERITIES, (row) =>
                     placeOf(cell(findings, row, 'name') || ''))] : [])],
      cutOf: () => matches.rows.some((row) => /, and \d+ more$/.test(cell(matches, row, 'left')))
          ? 'Of rows of many tensors only those that the table names. ' : '',
      things: 'tensors', scopeOf: (wanted) => scopeOf(findings, wanted)});
}

const place = document.getElementById('map');
if (place) map(place);
}
