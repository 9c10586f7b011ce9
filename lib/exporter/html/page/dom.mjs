// SPDX-License-Identifier: MIT
// Makes elements. Texts become text nodes and attributes are set one by one, so that a name is never read as markup.

const kSvg = 'http://www.w3.org/2000/svg';

function fill(node, attributes, children) {
  for (const [key, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith('on') || key === 'style' || key === 'src')
      throw new Error(`attribute ${key} is not for names to reach`);
    if (key === 'href' && !String(value).startsWith('#')) throw new Error('the page links to itself alone');
    node.setAttribute(key, value === true ? '' : String(value));
  }
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}

/// `make('p', {class: 'note'}, 'text', other_node)`: null attributes and children are left out.
export function make(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

export function make_svg(tag, attributes = {}, ...children) {
  return fill(document.createElementNS(kSvg, tag), attributes, children);
}

/// The root of a drawing of `width` x `height` CSS pixels. Where there is less room, as on paper, it shrinks.
export function make_drawing(width, height, attributes) {
  return make_svg('svg', {width, height, viewBox: `0 0 ${width} ${height}`, ...attributes});
}

export function make_button(label, action, attributes = {}) {
  const button = make('button', {type: 'button', ...attributes}, label);
  button.addEventListener('click', action);
  return button;
}

const kMostChoices = 8;
const kMostChoiceLetters = 120;

/// A row of buttons of which one is chosen, or a list where they would take too much room. `options` are [value, label].
export function make_choice(label, options, chosen, choose) {
  const letters = options.reduce((sum, [, text]) => sum + text.length, 0);
  return options.length > kMostChoices || letters > kMostChoiceLetters ? make_list(label, options, chosen, choose) :
                                                                         make_row(label, options, chosen, choose);
}

function make_list(label, options, chosen, choose) {
  const list = make(
      'select', {class: 'search', 'aria-label': label},
      ...options.map(([value, text], at) => make('option', {value: at, selected: value === chosen}, text)));
  list.addEventListener('change', () => choose(options[Number(list.value)][0]));
  return list;
}

function make_row(label, options, chosen, choose) {
  const buttons = options.map(([value, text]) => make_button(text, () => {
                                for (const [at, button] of buttons.entries())
                                  button.setAttribute('aria-pressed', String(options[at][0] === value));
                                choose(value);
                              }, {'aria-pressed': String(value === chosen)}));
  return make('div', {class: 'choice', role: 'group', 'aria-label': label}, ...buttons);
}

/// The Tab key reaches one of these nodes and the arrow keys go to the others: a chart is one stop, not a hundred.
export function make_one_stop(group, nodes) {
  for (const [at, node] of nodes.entries()) node.setAttribute('tabindex', at === 0 ? '0' : '-1');
  group.addEventListener('keydown', (event) => {
    const at = nodes.indexOf(event.target);
    const next = {ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: nodes.length - 1}[event.key];
    if (at < 0 || next === undefined) return;
    event.preventDefault();
    if (!nodes[next]) return;
    nodes[at].setAttribute('tabindex', '-1');
    nodes[next].setAttribute('tabindex', '0');
    nodes[next].focus();
  });
}

/// A table of texts: `columns` are {label, number}; a cell is a text or a node.
export function make_table(caption, columns, rows) {
  const cell = (tag, {number, label}, content) => make(
      tag,
      {class: number ? 'number' : null, scope: tag === 'th' ? 'col' : null, 'data-label': tag === 'td' ? label : null},
      content);
  return make(
      'table', {}, make('caption', {class: 'unseen'}, caption),
      make('thead', {}, make('tr', {}, ...columns.map((column) => cell('th', column, column.label)))),
      make(
          'tbody', {},
          ...rows.map((row) => make('tr', {}, ...row.map((content, at) => cell('td', columns[at], content))))));
}

/// The same, folded away below a figure: what the figure shows, for eyes that cannot see it and for copying.
export function make_folded_table(caption, columns, rows) {
  return make('details', {class: 'as-table'}, make('summary', {}, 'As a table'), make_table(caption, columns, rows));
}

/// Calls `draw(width)` now and whenever the width of the node, CSS pixels, changes.
export function draw_to_width(node, draw) {
  let drawn = -1;
  new ResizeObserver(() => {
    const width = Math.floor(node.clientWidth);
    if (width === drawn || width === 0) return;
    drawn = width;
    draw(width);
  }).observe(node);
}

/// One box for the whole page that follows the pointer and the focus; `null` hides it.
export function show_hint(lines, x, y) {
  let hint = document.getElementById('hint');
  if (!lines) {
    if (hint) hint.hidden = true;
    return;
  }
  if (!hint) {
    hint = make('div', {id: 'hint', 'aria-hidden': 'true'});
    document.body.append(hint);
  }
  hint.replaceChildren(...lines.map((line, at) => make('div', {class: at === 0 ? 'hint-head' : null}, line)));
  hint.hidden = false;
  const room = 14;
  const left = x + room + hint.offsetWidth > innerWidth ? x - room - hint.offsetWidth : x + room;
  const top = y + room + hint.offsetHeight > innerHeight ? y - room - hint.offsetHeight : y + room;
  hint.style.left = `${Math.max(4, left)}px`;
  hint.style.top = `${Math.max(4, top)}px`;
}

/// Shows a hint while the pointer is on the node or the node has the focus.
export function add_hint(node, lines) {
  node.addEventListener('pointermove', (event) => show_hint(lines(), event.clientX, event.clientY));
  node.addEventListener('pointerleave', () => show_hint(null));
  node.addEventListener('focus', () => {
    const box = node.getBoundingClientRect();
    show_hint(lines(), box.left + Math.min(box.width / 2, 60), box.bottom);
  });
  node.addEventListener('blur', () => show_hint(null));
}
