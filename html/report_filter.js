/* SPDX-License-Identifier: MIT */
/*
 * What a reader types to narrow a table: words that a row has, or conditions,
 * "column=value", "column=one|other", "column!=value", "column>number" and the
 * like, blanks around the operator or not; all of them have to hold. Where no
 * row is left it is told which of them left none, and what there would be: the
 * labels, or the values of a column. A word with an operator whose left side is
 * no label is looked for as it stands, as names of kernels have such.
 */
function filterTools({number, distinct, shown}) {
/* One condition or word; behind an operator blanks are skipped, unless what
 * follows them is a condition itself: "problem!= rank=1" are two. */
const TERM = /([\w.]+)\s*(>=|<=|!=|=|>|<)(?:\s+(?![\w.]+\s*(?:[<>!]=|[=<>])))?(\S*)|\S+/g;
const VALUES_MOST = 12, LABELS_MOST = 16, VALUE_LONGEST = 40;

/* What words are looked for in, made once of each row. */
const texts = new WeakMap();
function textOf(row) {
  if (!texts.has(row))
    texts.set(row, row.filter((cell) => cell !== null).join('\n').toLowerCase());
  return texts.get(row);
}

/* The end of a long value, as of a path, tells it from others. */
const ended = (text) => text.length > VALUE_LONGEST ? `…${text.slice(1 - VALUE_LONGEST)}` : text;
const quoted = (words) => `\`${words}\``;
const listed = (words, most) => words.slice(0, most).join(', ') +
    (words.length > most ? ` and ${words.length - most} more` : '');

/* --- what there is instead ---------------------------------------------------- */

/* First the labels that have a part of the one that was asked for. */
function labelsLike(label, names) {
  const low = label.toLowerCase();
  const near = (name) => name.toLowerCase().includes(low) || low.includes(name.toLowerCase()) ||
      name.toLowerCase().split('_').some((part) => part.length > 2 && low.includes(part));
  return [...names.filter(near), ...names.filter((name) => !near(name))];
}

function noLabel(label, table) {
  const names = table.columns.map(({name}) => name);
  const same = names.find((name) => name.toLowerCase() === label.toLowerCase());
  return `no label ${quoted(label)}; ` + (same ? `there is ${quoted(same)}`
      : `there are: ${listed(labelsLike(label, names), LABELS_MOST)}`);
}

/* The values of a column, or from where to where its numbers go. */
function valuesOf(at, table) {
  const {name} = table.columns[at];
  const values = distinct(table.rows.map((row) => row[at]))
      .filter((value) => value !== null && value !== '');
  const numbers = values.map(number).filter((value) => !Number.isNaN(value));
  if (!values.length) return `${name} is empty in all rows`;
  if (values.length > VALUES_MOST && numbers.length === values.length) {
    const [least, most] = numbers.reduce(([low, high], value) =>
        [Math.min(low, value), Math.max(high, value)], [Infinity, -Infinity]);
    return `${name} is ${shown(least)} to ${shown(most)}`;
  }
  return `${name} is ${listed(values.map((value) => ended(String(shown(value)))), VALUES_MOST)}`;
}

/* --- conditions --------------------------------------------------------------- */

/* The value as it stands, one of several that bars are between, or a number. */
function equals(at, value) {
  const either = [value, ...value.split('|')];
  const numbers = either.filter((one) => one !== '').map(Number);
  return (row) => row[at] !== null && (either.includes(String(row[at])) ||
      (typeof row[at] === 'number' && numbers.includes(row[at])));
}

function ofColumn(words, at, operator, value, table) {
  const has = () => `${quoted(words)} leaves no row: ${valuesOf(at, table)}`;
  const same = equals(at, value);
  if (operator === '=') return {words, holds: same, lack: has};
  if (operator === '!=') return {words, holds: (row) => !same(row), lack: has};
  const limit = Number(value), sign = operator[0] === '>' ? 1 : -1;
  const least = operator.length > 1 ? 0 : Number.MIN_VALUE;
  /* one that is not finished narrows nothing yet */
  return {words, holds: (row) => value === '' || sign * (number(row[at]) - limit) >= least,
      lack: () => !table.columns[at].number ? `${table.columns[at].name} has no numbers`
          : Number.isNaN(limit) ? `${quoted(value)} is no number` : has()};
}

/* Of a label that is none the text is looked for. */
function ofWords(words, label, table) {
  const low = words.toLowerCase();
  return {words, holds: (row) => textOf(row).includes(low),
          lack: () => label ? noLabel(label, table) : `no row has ${quoted(words)}`};
}

/* What a text asks for: {words, holds(row), lack()} each. */
function parse(text, table) {
  return [...text.matchAll(TERM)].map(([words, label, operator, value]) => {
    const at = label === undefined ? undefined : table.at.get(label);
    return at === undefined ? ofWords(words, label, table)
                            : ofColumn(words, at, operator, value, table);
  });
}

/* Why no row is left, of all terms, the last of which may be the map's. */
function why(terms, table) {
  const alone = terms.filter((term) => !table.rows.some(term.holds));
  if (alone.length) return alone.map((term) => term.lack()).join('; ');
  let left = table.rows;
  for (const [i, term] of terms.entries()) {
    const next = left.filter(term.holds);
    if (!next.length)
      return `${quoted(term.words)} holds for none of the ${left.length} rows of ` +
          terms.slice(0, i).map(({words}) => quoted(words)).join(' and ');
    left = next;
  }
  return '';
}

return {parse, why};
}
