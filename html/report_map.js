/* SPDX-License-Identifier: MIT */
/*
 * The map of a page: places (layers, modules, operators) over what they go
 * through (iterations, steps, ranks), coloured by the worst that is in each
 * cell, which narrows all that stands below. What it is of is a `source` of
 * report_tensors.js, report_calls.js or report_content.js:
 *   rows, columns  axes to choose from: {id, words, names, of(table), head(name)};
 *                  of() gives the name that a row of a table has, null where
 *                  that has no such axis
 *   measures       {id, words, table, values(by)}: [row of the table, number] each,
 *                  of the axis that is its rows where the table differs by that;
 *                  `low` where the least is the worst, `log` where powers of ten
 *                  count, `levels` where numbers are words, from the best on:
 *                  {word, kind, means}
 *   things         what is in its cells; `narrows`: what a click narrows to them
 *   scopeOf(cell)  what a click narrows the page to, of [{axis, name}]
 * `page` are the tools of report.js.
 */
function mapPage(page) {
const {make, number, distinct} = page;
const MODULES_MOST = 60, NAME_MOST = 32, NONE = 'none';

/* --- axes ------------------------------------------------------------------- */

const known = (values) =>
    distinct(values).filter((name) => name !== null && name !== '');

/* Names of an axis in their order: layer 2 before layer 10. */
const inOrder = new Intl.Collator('en', {numeric: true}).compare;
function sorted(values) {
  const names = known(values);
  const text = names.some((name) => typeof name !== 'number');
  return names.sort(text ? (a, b) => inOrder(String(a), String(b)) : (a, b) => a - b);
}

/* Modules, as deep as there are few enough of them: what a name is cut to. */
function depthOf(values, deepest = 12) {
  const modules = known(values);
  const above = (name, depth) => name.split('.').slice(0, depth).join('.');
  let depth = 1;
  while (depth < Math.min(12, deepest) && distinct(modules.map((name) => above(name, depth + 1))).length <=
             MODULES_MOST)
    depth++;
  return (name) => name ? above(name, depth) : null;
}

const words = (wanted) =>
    wanted.map(({axis, name}) => `${axis.words} ${name ?? NONE}`).join(', ');

/* What all of an axis are called: "layers", "calls". */
const plural = ({words}) => words.endsWith('s') ? words : `${words}s`;

/* Of what was wanted, what rows are not narrowed to; "": nothing. */
const overAll = (wanted) => wanted.length
    ? `over all ${wanted.map(({axis}) => plural(axis)).join(' and ')}` : '';

/* --- measures ------------------------------------------------------------------ */

const SEVERITIES = [['low', 'low'], ['medium', 'medium'], ['high', 'high']];

/* Findings by severity, what each means from low to high; `rowOf` gives what an
 * axis knows of one. */
function ofFindings(findings, means, rowOf) {
  const at = findings.at.get('severity');
  const levelOf = (word) => Math.max(0, SEVERITIES.findIndex(([one]) => one === word));
  return {id: 'finding', words: 'findings: the worst and how many', table: findings,
      levels: SEVERITIES.map(([word, kind], i) => ({word, kind, means: means[i]})),
      none: 'no finding',
      values: () => findings.rows.map((row) => [rowOf(row), levelOf(row[at])])};
}

/* Words of a column by how bad they are. */
function ofWords(id, words, levels, more) {
  const order = new Map(levels.map(({word}, i) => [word, i]));
  return {id, words, levels, alike: true, ...more,
      values: () => more.pairs().map(([row, word]) => [row, order.get(word) ?? NaN])};
}

/* What a measure does not know, where its table is cut in the page. */
function cutOf({table}) {
  const all = table.rows.length;
  return table.total > all ? `Of the first ${all} of ${table.total} ${table.name} only. ` : '';
}

/* --- cells -------------------------------------------------------------------- */

/* The worst value of each cell, and how many there are; of words so many as are
 * as bad. */
function cellsOf(measure, axes) {
  const cells = new Map();
  const [down, over] = axes.map((axis) => axis.of(measure.table));
  if (!down || !over) return cells;
  for (const [row, value] of measure.values(axes[0].id)) {
    if (Number.isNaN(value)) continue;
    const key = JSON.stringify([down(row), over(row)]);
    const cell = cells.get(key);
    const worse = !cell || (measure.low ? value < cell.value : value > cell.value);
    if (!cell) cells.set(key, {value, count: 1});
    else if (measure.alike && worse) Object.assign(cell, {value, count: 1});
    else {
      cell.count += !measure.alike || value === cell.value;
      if (worse) cell.value = value;
    }
  }
  return cells;
}

/* How far a value is from the best to the worst, from 0 to 1. */
function shareOf(measure, cells) {
  const scale = measure.log ? Math.log : (v) => v;
  const all = [...cells.values()].map((cell) => cell.value)
      .filter((v) => Number.isFinite(v) && (!measure.log || v > 0)).map(scale);
  const least = Math.min(...all), span = Math.max(...all) - least || 1;
  return (value) => {
    if (!Number.isFinite(value)) return measure.low ? 0 : 1;
    if (measure.log && value <= 0) return 0;
    const share = (scale(value) - least) / span;
    return measure.low ? 1 - share : 0.15 + 0.85 * share;
  };
}

function textOf(measure, cell) {
  if (measure.levels) {
    const {word} = measure.levels[cell.value];
    return cell.count > 1 ? `${word} ×${cell.count}` : word;
  }
  if (!Number.isFinite(cell.value)) return cell.value > 0 ? '∞' : '-∞';
  const told = Number(cell.value.toPrecision(3));
  return told === 1 && cell.value < 1 ? `1 - ${(1 - cell.value).toPrecision(1)}` : String(told);
}

const cut = (name) => String(name ?? NONE).length > NAME_MOST
    ? `${String(name).slice(0, NAME_MOST - 1)}…` : String(name ?? NONE);

/* The worst of cells, the first of several; null: there is none. */
function worstOf(measure, cells) {
  let found = null;
  for (const [button, {value, count}] of cells) {
    const order = measure.low ? -value : value;
    if (!found || order > found.order ||
        (order === found.order && measure.levels && count > found.count))
      found = {button, order, count};
  }
  return found && found.button;
}

class Heat {
  /* Paper has the columns in bands as wide as it is. */
  print(starts) {
    if (starts && !this.kept) this.kept = [...this.body.childNodes];
    if (this.kept) this.body.replaceChildren(...(starts ? this.bands() : this.kept));
    if (!starts) this.kept = null;
  }

  constructor(source, measure, axes) {
    Object.assign(this, {source, axes, measure});
    this.body = make('div', {class: 'map', onkeydown: (event) => this.move(event)});
    this.key = make('p', {class: 'soft'});
    this.paper = make('div', {class: 'soft paper'});
    this.levels = make('dl', {class: 'levels'});
  }

  /* What the words of the cells mean, the worst first, beside their colour. */
  told(cells) {
    const seen = new Set([...cells.values()].map(({value}) => value));
    const {levels = [], none} = this.measure;
    const there = levels.filter((level, i) => seen.has(i)).reverse();
    if (none) there.push({word: '·', kind: '', means: `${none} begins there`});
    this.levels.replaceChildren(...there.flatMap(({word, kind, means}) =>
        [make('dt', {class: kind || false}, word), make('dd', {}, means)]));
  }

  cell(cells, share, down, over) {
    const cell = cells.get(JSON.stringify([down, over]));
    if (!cell && !this.measure.none) return make('td');
    const text = cell ? textOf(this.measure, cell) : '·';
    const wanted = [{axis: this.axes[0], name: down}, {axis: this.axes[1], name: over}];
    const scope = this.source.scopeOf(wanted);
    const chosen = page.scope() !== null && page.scope().words === scope.words;
    const press = (event) => {
      const on = event.currentTarget.getAttribute('aria-pressed') === 'true';
      page.narrow(on ? null : scope);
      this.press(event.currentTarget);
    };
    const levels = this.measure.levels;
    const kind = levels && cell ? levels[cell.value].kind : '';
    const button = make('button', {type: 'button', class: kind || false, tabindex: -1,
        'aria-pressed': String(chosen), title: `${scope.words}: ${cell ? text : 'none'}`,
        'aria-label': `${scope.words}: ${cell ? text : this.measure.none}`,
        onclick: press}, text);
    if (cell) {
      button.style.setProperty('--share', kind ? '0.3' : levels ? '0'
          : share(cell.value).toFixed(3));
      this.drawn.set(button, cell);
    }
    return make('td', {}, button);
  }

  /* Only the chosen cell is pressed. */
  press(button) {
    const scope = page.scope();
    for (const one of this.body.querySelectorAll('button[aria-pressed="true"]'))
      one.setAttribute('aria-pressed', 'false');
    if (scope && button) button.setAttribute('aria-pressed', 'true');
  }

  /* One cell is reached by the Tab key, the others from it by arrows. */
  stop(button) {
    if (this.at) this.at.tabIndex = -1;
    this.at = button;
    button.tabIndex = 0;
  }

  move(event) {
    const steps = {ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0],
                   ArrowDown: [1, 0], Home: [0, -Infinity], End: [0, Infinity]};
    const step = steps[event.key];
    if (!step || event.altKey || event.metaKey || !event.target.closest('button'))
      return;
    const td = event.target.closest('td'), row = td.parentNode;
    const [rows, cells] = [[...row.parentNode.rows], [...row.cells]];
    const line = step[0] ? rows.map((one) => one.cells[td.cellIndex]) : cells;
    const at = step[0] ? rows.indexOf(row) : td.cellIndex;
    let way = step[0] + step[1] < 0 ? line.slice(0, at).reverse() : line.slice(at + 1);
    if (!Number.isFinite(step[1])) {
      way = event.ctrlKey ? rows.flatMap((one) => [...one.cells]) : cells;
      if (step[1] > 0) way = [...way].reverse();
    }
    const next = way.map((one) => one.querySelector('button')).find(Boolean);
    event.preventDefault();
    if (!next) return;
    this.stop(next);
    next.focus();
  }

  /* Shows the cell that is worst, the first of several; only the map moves. */
  toWorst() {
    if (!this.worst) return;
    const {body, worst} = this;
    const inner = worst.getBoundingClientRect(), outer = body.getBoundingClientRect();
    const head = body.querySelector('th'); /* covers what is left of it and above */
    body.scrollTop += inner.top - outer.top -
        (outer.height + head.offsetHeight - inner.height) / 2;
    body.scrollLeft += inner.left - outer.left -
        (outer.width + head.offsetWidth - inner.width) / 2;
    body.style.scrollPadding =
        `${head.offsetHeight + 4}px 4px 4px ${head.offsetWidth + 4}px`;
  }

  table(cells, share, downs, overs) {
    const head = make('tr', {}, make('th', {scope: 'col'}, this.axes[0].words),
        ...overs.map((name) => make('th', {scope: 'col', title: name ?? NONE},
            cut(name === null || !this.axes[1].head ? name : this.axes[1].head(name)))));
    const rows = downs.map((down) => make('tr', {},
        make('th', {scope: 'row', title: down ?? `no ${this.axes[0].words}`}, cut(down)),
        ...overs.map((over) => this.cell(cells, share, down, over))));
    return make('table', {role: 'grid',
        'aria-label': this.axes.map(plural).join(' over ')},
        make('thead', {}, head), make('tbody', {}, ...rows));
  }

  /* What has no layer is a row of its own. */
  paint() {
    const cells = cellsOf(this.measure, this.axes);
    const share = shareOf(this.measure, cells);
    const keys = [...cells.keys()].map((key) => JSON.parse(key));
    const [downs, overs] = this.axes.map(({names}, k) =>
        keys.some((key) => key[k] === null) ? [...names, null] : names);
    this.drawn = new Map();
    this.body.replaceChildren(this.table(cells, share, downs, overs));
    this.worst = worstOf(this.measure, this.drawn);
    const first = this.worst || this.body.querySelector('button');
    this.at = null;
    if (first) this.stop(first);
    this.bands = () => page.bands(overs.map((over) => 2 + Math.max(
        Math.min(12, cut(over).length + 3), ...downs.map((down) => {
          const cell = cells.get(JSON.stringify([down, over]));
          return cell ? textOf(this.measure, cell).length : 1;
        }))), 2 + Math.max(...downs.map((down) => cut(down).length)))
        .map((band) => this.table(cells, share, downs, band.map((i) => overs[i])));
    const {measure, source} = this;
    this.told(cells);
    this.key.textContent = measure.levels ? ''
        : `More colour is ${measure.low ? 'lower' : 'higher'}. `;
    this.key.append(source.cutOf && source.cutOf(measure) || cutOf(measure),
        make('span', {class: 'screen'},
             `A cell narrows ${source.narrows || 'findings and tables'} to its ` +
             `${source.things}; once more, or the button of the line below, ` +
             'shows all again.'));
    this.paper.textContent = `Coloured by ${measure.words}; rows are ` +
        `${plural(this.axes[0])}, columns ${plural(this.axes[1])}.`;
  }
}

/* --- choosing ----------------------------------------------------------------- */

const sizeOf = ([down, over]) => down.names.length * over.names.length;
const fits = (axes) => sizeOf(axes) > 0 && sizeOf(axes) <= page.CELLS_MOST;

/* A label and a choice, which calls change(index). */
function choice(label, list, change) {
  const select = make('select', {onchange: () => change(select.selectedIndex)},
      ...list.map(([value, words]) => make('option', {value}, words)));
  return make('label', {}, label, select);
}

/* The map of a source in its place: nothing where it would be too large. */
function draw(place, source) {
  const list = source.measures.filter((measure) =>
      measure.values().some(([, value]) => !Number.isNaN(value)));
  const over = source.columns.find((axis) => source.rows.some((down) => fits([down, axis])));
  const rows = source.rows.filter((down) => over && fits([down, over]));
  if (!rows.length || !list.length) return;
  const columns = source.columns.filter((axis) => rows.every((down) => fits([down, axis])));
  const body = make('div');
  const heat = new Heat(source, list[0], [rows[0], over]);
  const show = () => {
    heat.paint();
    body.replaceChildren(heat.paper, heat.key, heat.body, heat.levels);
    heat.toWorst();
  };
  const along = (k, axes) => (i) => {
    heat.axes = heat.axes.map((axis, at) => at === k ? axes[i] : axis);
    show();
  };
  const named = (axes) => axes.map((axis) => [axis.id, axis.title || plural(axis)]);
  const either = (list) =>
      list.map(([, title]) => title).join(', ').replace(/, ([^,]*)$/, ' or $1');
  place.append(make('h2', {}, `Map: ${either(named(rows))} over ${either(named(columns))}`),
      make('div', {class: 'tools'},
           choice('Colour by', list.map(({id, words}) => [id, words]),
                  (i) => { heat.measure = list[i]; show(); }),
           ...(rows.length > 1 ? [choice('Rows', named(rows), along(0, rows))] : []),
           ...(columns.length > 1
               ? [choice('Columns', named(columns), along(1, columns))] : [])), body);
  page.onWiden(() => heat.press(null));
  page.onPrint((starts) => heat.print(starts));
  page.name();
  show();
}

return {draw, sorted, depthOf, words, plural, overAll, ofFindings, ofWords, known};
}
