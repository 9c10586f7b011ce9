// SPDX-License-Identifier: MIT
// The tree of ranges, as a table that unfolds, and the flame graph of the same rows.
import {name_color, role_color} from './colors.mjs';
import {add_hint, draw_to_width, make, make_button, make_choice} from './dom.mjs';
import {RangeTree, flame_boxes} from './range_tree.mjs';
import {count_text, duration_text, share_text, shortened} from './units.mjs';

const kMostRows = 400;
const kFlameRow = 23;
const kLeastBox = 2;

/// One tree for both sections.
export async function load_range_tree(descriptor, page) {
  page.range_tree ??= page.blocks.table(descriptor.table).then((table) => new RangeTree(table, page.names));
  return page.range_tree;
}

function choices(tree) {
  return tree.has_device ? [['device', 'Device time'], ['host', 'Host time']] : [['host', 'Host time']];
}
const first_choice = (tree) => tree.has_device ? 'device' : 'host';

function lines_of(tree, row, what) {
  const total = tree.children(-1).reduce((sum, root) => sum + tree.values(what)[root], 0);
  const lines =
      [tree.path(row), `Host ${duration_text(tree.host_ns[row])}, self ${duration_text(tree.host_self_ns[row])}`];
  if (tree.has_device)
    lines.push(
        `GPU busy ${duration_text(tree.gpu_busy_ns[row])}, self ${duration_text(tree.gpu_self_ns[row])}, ` +
        `${count_text(tree.gpu_ops[row])} operations`);
  lines.push(
      `${count_text(tree.counts[row])} instances, ${share_text(tree.values(what)[row], total)} of the ${what} time`);
  return lines;
}

class TreeTable {
  constructor(tree, page) {
    this.tree_ = tree;
    this.page_ = page;
    this.what_ = first_choice(tree);
    this.open_ = tree.rows_to_open(this.what_, 0.02, 40);
    this.body_ = make('tbody');
    this.note_ = make('p', {class: 'note'});
    const columns = [
      ['Range', ''], ['Share', 'meter'],
      ...(tree.has_device ? [['GPU busy', 'number'], ['GPU self', 'number optional']] : []), ['Host', 'number'],
      ['Host self', 'number optional'], ['Count', 'number optional'],
      ...(tree.has_device ? [['GPU ops', 'number optional']] : []), ['', 'optional']
    ];
    const table = make(
        'table', {role: 'treegrid', 'aria-label': 'Ranges'},
        make('thead', {}, make('tr', {}, ...columns.map(([label, name]) => make('th', {class: name || null}, label)))),
        this.body_);
    this.body_.addEventListener('keydown', (event) => this.key_(event));
    const tools = make('div', {class: 'tools'}, make_choice('Time', choices(tree), this.what_, (what) => {
                         this.what_ = what;
                         this.draw_(0);
                       }), make_button('Unfold all', () => {
                         this.unfold_all_();
                       }), make_button('Fold all', () => {
                         this.open_.clear();
                         this.draw_(0);
                       }));
    this.node = make('div', {}, tools, make('div', {class: 'tree'}, table), this.note_);
    this.draw_(0);
  }

  unfold_all_() {
    for (let row = 0; row < this.tree_.count; ++row)
      if (this.tree_.has_children(row)) this.open_.add(row);
    this.draw_(0);
  }

  draw_(focused) {
    const rows = this.tree_.visible_rows(this.open_, this.what_);
    this.rows_ = rows.slice(0, kMostRows);
    const most = Math.max(1, ...this.tree_.children(-1).map((row) => this.tree_.values(this.what_)[row]));
    this.body_.replaceChildren(...this.rows_.map((row, at) => this.row_(row, most, at === focused)));
    this.note_.textContent =
        rows.length > kMostRows ? `${count_text(rows.length - kMostRows)} more rows: fold some of these.` : '';
  }

  row_(row, most, reachable) {
    const {tree_: tree} = this;
    const open = this.open_.has(row);
    const fold = tree.has_children(row) ?
        make_button(
            open ? '▾' : '▸', () => this.toggle_(row),
            {class: 'fold', tabindex: '-1', 'aria-label': `${open ? 'Fold' : 'Unfold'} ${tree.name(row)}`}) :
        make('span', {class: 'fold'});
    const name = make('td', {class: 'name', role: 'gridcell'}, fold, tree.name(row));
    name.style.paddingLeft = `${10 + tree.depths[row] * 16}px`;
    const time = (values, type) => make('td', {class: type, role: 'gridcell'}, duration_text(values[row]));
    const line = make(
        'tr', {
          role: 'row',
          tabindex: reachable ? '0' : '-1',
          'aria-level': tree.depths[row] + 1,
          'aria-expanded': tree.has_children(row) ? String(open) : null
        },
        name, this.meter_(row, most),
        ...(tree.has_device ? [time(tree.gpu_busy_ns, 'number'), time(tree.gpu_self_ns, 'number optional')] : []),
        time(tree.host_ns, 'number'), time(tree.host_self_ns, 'number optional'),
        make('td', {class: 'number optional', role: 'gridcell'}, count_text(tree.counts[row])),
        tree.has_device ? make('td', {class: 'number optional', role: 'gridcell'}, count_text(tree.gpu_ops[row])) :
                          null,
        make('td', {class: 'optional', role: 'gridcell'}, this.link_(row)));
    line.addEventListener('dblclick', () => this.toggle_(row));
    add_hint(name, () => lines_of(tree, row, this.what_));
    return line;
  }

  meter_(row, most) {
    const {tree_: tree} = this;
    const bar = (value, color) => {
      const node = make('div');
      node.style.width = `${Math.min(100, (value / most) * 100)}%`;
      node.style.background = color;
      return node;
    };
    const device = tree.has_device ? bar(tree.gpu_busy_ns[row], role_color('computation', 0)) : null;
    const host = bar(tree.host_ns[row], role_color('input', 0));
    const bars = this.what_ === 'device' ? [device, host] : [host, device];
    return make(
        'td', {class: 'meter', role: 'gridcell', 'aria-label': share_text(tree.values(this.what_)[row], most)},
        ...bars);
  }

  link_(row) {
    if (!this.page_.timeline_there || this.tree_.duration_ns[row] === 0) return null;
    return make_button(
        'longest', () => this.page_.show_interval(this.tree_.begin_ns[row], this.tree_.duration_ns[row]),
        {class: 'link', tabindex: '-1', 'aria-label': `Longest instance of ${this.tree_.name(row)} in the timeline`});
  }

  toggle_(row) {
    if (!this.tree_.has_children(row)) return;
    if (!this.open_.delete(row)) this.open_.add(row);
    const at = this.tree_.visible_rows(this.open_, this.what_).indexOf(row);
    this.draw_(at);
    this.body_.children[at]?.focus();
  }

  key_(event) {
    const at = [...this.body_.children].indexOf(event.target.closest('tr'));
    const row = this.rows_[at];
    const moves = {ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: this.rows_.length - 1};
    if (event.key in moves) {
      this.focus_(moves[event.key]);
    } else if (event.key === 'ArrowRight' && !this.open_.has(row)) {
      this.toggle_(row);
    } else if (event.key === 'ArrowLeft') {
      if (this.open_.has(row))
        this.toggle_(row);
      else
        this.focus_(this.rows_.indexOf(this.tree_.parents[row]));
    } else if (event.key === 'Enter' && event.target.tagName === 'TR') {
      this.page_.show_interval(this.tree_.begin_ns[row], this.tree_.duration_ns[row]);
    } else {
      return;
    }
    event.preventDefault();
  }

  focus_(at) {
    const next = this.body_.children[at];
    if (!next) return;
    for (const line of this.body_.children) line.tabIndex = -1;
    next.tabIndex = 0;
    next.focus();
  }
}

function accounts_note(accounts) {
  const total = accounts.reduce((sum, [, ns]) => sum + ns, 0);
  return make(
      'p', {class: 'note'},
      'Device time: ' +
          accounts.map(([label, ns]) => `${label} ${duration_text(ns)} (${share_text(ns, total)})`).join(' · '));
}

export async function ranges_section(descriptor, page) {
  const table = new TreeTable(await load_range_tree(descriptor, page), page);
  if (descriptor.accounts) table.node.append(accounts_note(descriptor.accounts));
  return table.node;
}

class FlameGraph {
  constructor(tree, page) {
    this.tree_ = tree;
    this.page_ = page;
    this.what_ = first_choice(tree);
    this.root_ = -1;
    this.boxes_ = make(
        'div',
        {class: 'flame', role: 'group', 'aria-label': 'Flame graph; arrows move, Enter zooms, Escape shows all'});
    this.said_ = make('p', {class: 'note', role: 'status'}, 'Select a box to zoom into it.');
    this.show_ = make_button(
        'Longest in the timeline',
        () => this.page_.show_interval(this.tree_.begin_ns[this.root_], this.tree_.duration_ns[this.root_]),
        {hidden: true});
    const tools = make('div', {class: 'tools'}, make_choice('Time', choices(tree), this.what_, (what) => {
                         this.what_ = what;
                         this.draw_();
                       }), make_button('Show all', () => this.zoom_(-1)), this.show_);
    this.boxes_.addEventListener('keydown', (event) => this.key_(event));
    this.node = make('div', {}, tools, this.boxes_, this.said_);
    draw_to_width(this.boxes_, () => this.draw_());
  }

  draw_() {
    const width = this.boxes_.clientWidth;
    this.shown_ = flame_boxes(this.tree_, this.what_, this.root_, width, kLeastBox);
    const depth = this.shown_.reduce((most, box) => Math.max(most, box.depth), 0);
    this.boxes_.style.height = `${(depth + 1) * kFlameRow}px`;
    this.boxes_.replaceChildren(...this.shown_.map((box, at) => this.box_(box, at === 0)));
    if (this.shown_.length === 0) this.said_.textContent = `No range has ${this.what_} time.`;
  }

  box_({row, depth, left, width}, reachable) {
    const name = this.tree_.name(row);
    const above = this.root_ >= 0 && row !== this.root_ && row < this.root_;
    const box = make_button(width > 26 ? shortened(name, Math.floor((width - 10) / 6.2)) : '', () => this.zoom_(row), {
      class: above ? 'above' : null,
      tabindex: reachable ? '0' : '-1',
      'aria-label': `${name}, ${duration_text(this.tree_.values(this.what_)[row])}`
    });
    const room = this.boxes_.clientWidth;  // shares, not pixels: paper is narrower
    box.style.left = `${(left / room) * 100}%`;
    box.style.top = `${depth * kFlameRow}px`;
    box.style.width = `max(1px, ${(width / room) * 100}% - 1px)`;
    if (width < 14) box.style.padding = '0';
    box.style.background = name_color(name);
    add_hint(box, () => lines_of(this.tree_, row, this.what_));
    return box;
  }

  zoom_(row) {
    this.root_ = row;
    this.draw_();
    this.show_.hidden = row < 0 || !this.page_.timeline_there || this.tree_.duration_ns[row] === 0;
    this.said_.textContent =
        row < 0 ? 'Select a box to zoom into it.' : lines_of(this.tree_, row, this.what_).join(' · ');
    this.focus_(this.shown_.findIndex((box) => box.row === row));
  }

  focus_(at) {
    const next = this.boxes_.children[at];
    if (!next) return;
    for (const box of this.boxes_.children) box.tabIndex = -1;
    next.tabIndex = 0;
    next.focus();
  }

  key_(event) {
    const at = [...this.boxes_.children].indexOf(event.target);
    const from = this.shown_[at];
    if (!from) return;
    const find = (wanted) => this.shown_.findIndex(wanted);
    const near = (box) => box.left >= from.left - 0.5 && box.left < from.left + from.width;
    const moves = {
      ArrowUp: () => find((box) => box.row === this.tree_.parents[from.row]),
      ArrowDown: () => find((box) => box.depth === from.depth + 1 && near(box)),
      ArrowRight: () => find((box) => box.depth === from.depth && box.left > from.left),
      ArrowLeft: () => this.shown_.findLastIndex((box) => box.depth === from.depth && box.left < from.left),
    };
    if (event.key === 'Escape')
      this.zoom_(-1);
    else if (event.key in moves)
      this.focus_(moves[event.key]());
    else
      return;
    event.preventDefault();
  }
}

export async function flame_section(descriptor, page) {
  return new FlameGraph(await load_range_tree(descriptor, page), page).node;
}
