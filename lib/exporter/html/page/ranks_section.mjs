// SPDX-License-Identifier: MIT
// Ranks by steps as a heat map: a slow rank is a row, a slow step a column.
import {heat_color, theme_colors} from './colors.mjs';
import {draw_to_width, make, make_choice, make_folded_table, show_hint} from './dom.mjs';
import {value_text} from './units.mjs';

const kLeft = 76;
const kTop = 4;
const kBottom = 22;

/// Where colors begin and end: between the 2nd and 98th of a hundred values, so that one extreme does not make all else alike.
export function heat_limits(values) {
  const sorted = Float64Array.from(values).filter((value) => !Number.isNaN(value)).sort();
  if (sorted.length === 0) return [0, 1];
  const at = (share) => sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))];
  const [low, high] = [at(0.02), at(0.98)];
  return high > low ? [low, high] : [low, low + 1];
}

/// The median of each rank, for the table: [rank, median, greatest], the greatest median first.
export function rank_medians(values, ranks, steps) {
  return ranks
      .map((rank, at) => {
        const own = Float64Array.from(values.subarray(at * steps, (at + 1) * steps))
                        .filter((value) => !Number.isNaN(value))
                        .sort();
        return [rank, own.length > 0 ? own[own.length >> 1] : NaN, own.length > 0 ? own[own.length - 1] : NaN];
      })
      .sort(([, one], [, other]) => other - one);
}

class HeatMap {
  constructor(descriptor, table) {
    this.descriptor_ = descriptor;
    this.table_ = table;
    this.canvas_ = make('canvas', {
      class: 'heat',
      tabindex: '0',
      role: 'application',
      'aria-label': 'Ranks by steps; arrows move, the value is read out'
    });
    this.said_ = make('p', {class: 'note', role: 'status'});
    this.folded_ = make('div');
    const metrics = descriptor.metrics.map(({label}, at) => [at, label]);
    this.node = make(
        'div', {},
        metrics.length > 1 ?
            make('div', {class: 'tools'}, make_choice('Value', metrics, 0, (metric) => this.choose(metric))) :
            null,
        this.canvas_, this.said_, this.folded_);
    this.cell_ = null;
    this.choose(0);
    draw_to_width(this.node, () => this.draw());
    this.canvas_.addEventListener('pointermove', (event) => this.point_(event));
    this.canvas_.addEventListener('pointerleave', () => show_hint(null));
    this.canvas_.addEventListener('keydown', (event) => this.key_(event));
  }

  choose(metric) {
    this.metric_ = this.descriptor_.metrics[metric];
    this.values_ = this.table_.column(this.metric_.column);
    this.limits_ = heat_limits(this.values_);
    const {ranks, steps} = this.descriptor_;
    const columns = [{label: 'Rank'}, {label: 'Median', number: true}, {label: 'Greatest', number: true}];
    const text = (value) => Number.isNaN(value) ? '' : value_text(value, this.metric_.unit);
    this.folded_.replaceChildren(make_folded_table(
        `${this.metric_.label} by rank`, columns,
        rank_medians(this.values_, ranks, steps.length).slice(0, 512).map(([
                                                                            rank, median, most
                                                                          ]) => [rank, text(median), text(most)])));
    const [low, high] = this.limits_;
    this.said_.textContent = `${this.metric_.label}: dark is ${text(low)} or less, bright is ${text(high)} or more.`;
    if (this.canvas_.clientWidth > 0) this.draw();
  }

  /// Cells are at least a pixel high and wide; a map of more ranks than pixels shows the greatest of those that share one.
  draw() {
    const {ranks, steps} = this.descriptor_;
    const width = this.canvas_.clientWidth;
    const cell_height = Math.max(1, Math.min(26, Math.floor(560 / ranks.length)));
    const height = kTop + cell_height * ranks.length + kBottom;
    const ratio = Math.min(devicePixelRatio || 1, 2);
    this.canvas_.style.height = `${height}px`;
    this.canvas_.width = Math.round(width * ratio);
    this.canvas_.height = Math.round(height * ratio);
    this.cell_width_ = (width - kLeft) / steps.length;
    this.cell_height_ = cell_height;
    const context = this.canvas_.getContext('2d');
    context.scale(ratio, ratio);
    const gap = this.cell_width_ > 6 && cell_height > 6 ? 1 : 0;
    this.draw_cells_(context, gap);
    this.draw_words_(context, width, height);
  }

  draw_cells_(context, gap) {
    const {ranks, steps} = this.descriptor_;
    const [low, high] = this.limits_;
    const columns = Math.min(steps.length, Math.max(1, Math.floor(this.cell_width_ * steps.length)));
    const column_width = (this.cell_width_ * steps.length) / columns;
    for (let rank = 0; rank < ranks.length; ++rank) {
      for (let column = 0; column < columns; ++column) {
        let most = NaN;
        const to = Math.floor(((column + 1) * steps.length) / columns);
        for (let step = Math.floor((column * steps.length) / columns); step < to; ++step) {
          const value = this.values_[rank * steps.length + step];
          if (!(value <= most)) most = Number.isNaN(value) ? most : value;
        }
        if (Number.isNaN(most)) continue;
        context.fillStyle = heat_color((most - low) / (high - low));
        context.fillRect(
            kLeft + column * column_width, kTop + rank * this.cell_height_, column_width - gap + (gap ? 0 : 0.5),
            this.cell_height_ - gap);
      }
    }
  }

  draw_words_(context, width, height) {
    const {ranks, steps} = this.descriptor_;
    const colors = theme_colors();
    context.font = '12px system-ui, sans-serif';
    context.textBaseline = 'middle';
    context.fillStyle = colors.faint;
    const every_rank = Math.ceil(14 / this.cell_height_);
    for (let rank = 0; rank < ranks.length; rank += every_rank)
      context.fillText(ranks[rank], 0, kTop + (rank + 0.5) * this.cell_height_, kLeft - 8);
    const every_step = Math.ceil(56 / this.cell_width_);
    for (let step = 0; step < steps.length; step += every_step)
      context.fillText(
          `${step === 0 ? 'step ' : ''}${steps[step]}`, kLeft + step * this.cell_width_, height - 9, width);
    if (!this.cell_) return;
    context.strokeStyle = colors.text;
    context.lineWidth = 2;
    context.strokeRect(
        kLeft + this.cell_.step * this.cell_width_, kTop + this.cell_.rank * this.cell_height_,
        Math.max(3, this.cell_width_), Math.max(3, this.cell_height_));
  }

  lines_(rank, step) {
    const value = this.values_[rank * this.descriptor_.steps.length + step];
    const text = Number.isNaN(value) ? 'no such step' : value_text(value, this.metric_.unit);
    return [`${this.descriptor_.ranks[rank]}, step ${this.descriptor_.steps[step]}`, `${this.metric_.label}: ${text}`];
  }

  point_(event) {
    const box = this.canvas_.getBoundingClientRect();
    const step = Math.floor((event.clientX - box.left - kLeft) / this.cell_width_);
    const rank = Math.floor((event.clientY - box.top - kTop) / this.cell_height_);
    const inside =
        step >= 0 && step < this.descriptor_.steps.length && rank >= 0 && rank < this.descriptor_.ranks.length;
    show_hint(inside ? this.lines_(rank, step) : null, event.clientX, event.clientY);
  }

  key_(event) {
    const moves = {ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0]};
    if (!(event.key in moves)) return;
    event.preventDefault();
    const [down, right] = this.cell_ ? moves[event.key] : [0, 0];
    const clamp = (value, count) => Math.min(Math.max(value, 0), count - 1);
    this.cell_ = {
      rank: clamp((this.cell_?.rank ?? 0) + down, this.descriptor_.ranks.length),
      step: clamp((this.cell_?.step ?? 0) + right, this.descriptor_.steps.length)
    };
    this.said_.textContent = this.lines_(this.cell_.rank, this.cell_.step).join('. ');
    this.draw();
  }
}

export async function ranks_section(descriptor, page) {
  const map = new HeatMap(descriptor, await page.blocks.table(descriptor.table));
  page.on_theme(() => map.draw());
  return map.node;
}
