// SPDX-License-Identifier: MIT
// Draws the timeline on a canvas: what is in sight, once per change.
import {name_color, pixel_of, theme_colors} from './colors.mjs';
import {SliceStrips} from './slice_strips.mjs';
import {items_between, kRowHeight, label_width, place_of} from './timeline_layout.mjs';
import {duration_text, round_step, shortened, value_text} from './units.mjs';

export const kRulerHeight = 28;
const kFont = '11.5px system-ui, "Segoe UI", Roboto, sans-serif';
const kCharacter = 6.1;  // mean width in that font: asking the canvas for each label costs more than drawing it
const kLeastLabel = 26;
const kOverviewPixel = pixel_of('#8895a8');

export class TimelinePainter {
  /// `need(track)` is called for tracks that are in sight and not decoded.
  constructor(canvas, model, need) {
    this.canvas = canvas;
    this.context = canvas.getContext('2d');
    this.model = model;
    this.need_ = need;
    this.strips_ = new SliceStrips(model.names);
    this.theme_changed();
    this.resize(canvas.clientWidth, canvas.clientHeight);
  }

  theme_changed() { this.colors_ = theme_colors(); }

  resize(width, height) {
    this.ratio_ = Math.min(Math.max(devicePixelRatio || 1, 1), 2);
    this.width = width;
    this.height = height;
    this.canvas.width = Math.round(width * this.ratio_);
    this.canvas.height = Math.round(height * this.ratio_);
    this.left = label_width(width);
    this.track_width = Math.max(1, width - this.left);
  }

  /// `scene`: {view, layout, scroll_top, selected, flows, hovered, found, measured}.
  draw(scene) {
    const {context} = this;
    const started = performance.now();
    context.setTransform(this.ratio_, 0, 0, this.ratio_, 0, 0);
    context.fillStyle = this.colors_.surface;
    context.fillRect(0, 0, this.width, this.height);
    context.font = kFont;
    context.textBaseline = 'middle';
    const top = scene.scroll_top;
    const items = items_between(scene.layout, top, top + this.height - kRulerHeight);
    const y_of = (y) => y - top + kRulerHeight;
    this.draw_grid_(scene.view);
    this.draw_tracks_(scene, items, y_of);
    this.draw_labels_(items, y_of);
    this.draw_flows_(scene, y_of);
    this.draw_outlines_(scene, y_of);
    this.draw_ruler_(scene);
    this.draw_measured_(scene);
    this.canvas.dataset.drawMs = (performance.now() - started).toFixed(2);
  }

  x_(view, time_ns) { return this.left + view.x_at(time_ns, this.track_width); }

  draw_grid_(view) {
    const {context} = this;
    context.fillStyle = this.colors_.line;
    for (const mark of view.marks(this.track_width))
      context.fillRect(Math.round(this.x_(view, mark)), kRulerHeight, 1, this.height);
    const {windows} = this.model;
    context.fillStyle = this.colors_.raised;
    for (let at = 0; windows.length > 0 && at <= windows.length; ++at) {
      const from = at === 0 ? 0 : windows[at - 1][1];
      const to = at === windows.length ? view.limit_ns : windows[at][0];
      const left = Math.max(this.left, this.x_(view, from));
      if (to > from) context.fillRect(left, kRulerHeight, Math.max(0, this.x_(view, to) - left), this.height);
    }
  }

  draw_tracks_(scene, items, y_of) {
    const tracks = items.filter((item) => item.kind === 'track');
    const rows = [];
    let waiting = 0;
    for (const item of tracks) {
      if (!item.track.loaded && !item.track.failure) {
        this.need_(item.track);
        ++waiting;
      }
      if (item.track.is_counter) continue;
      for (let depth = 0; depth < item.track.depth_count; ++depth) {
        const y = y_of(item.rows_y + depth * kRowHeight);
        if (y + kRowHeight > kRulerHeight && y < this.height) rows.push({track: item.track, depth, y});
      }
    }
    this.canvas.dataset.waiting = waiting;  // tracks in sight that are not decoded yet
    const labels = [];
    const strips = this.strips_;
    const width = Math.round(this.track_width * this.ratio_);
    strips.begin(width, rows.length);
    for (const {track, depth, y} of rows) {
      const row = track.rows?.[depth];
      if (row) {
        const keep = (left, right, index) => labels.push([left, right, y, track.names[index]]);
        strips.add_row(track, row, scene.view, y, scene.found, kLeastLabel * this.ratio_, keep);
      } else if (!track.rows && depth === 0 && track.overview) {
        strips.add_overview(track.overview, scene.view, scene.view.limit_ns, y, kOverviewPixel);
      }
    }
    strips.draw(this.context, this.left, this.track_width);
    this.draw_names_(labels, scene.found);
    for (const item of tracks)
      if (item.track.counter) this.draw_counter_(item, scene.view, y_of(item.rows_y));
  }

  draw_names_(labels, found) {
    const {context, ratio_: ratio} = this;
    for (const [left, right, y, name] of labels) {
      context.fillStyle = found && found.matches[name] === 0 ? this.colors_.faint : this.colors_.ink;
      const from = left / ratio + 4;
      const text = shortened(this.model.names[name] ?? '', Math.floor((right / ratio - from - 3) / kCharacter));
      if (text) context.fillText(text, this.left + from, y + kRowHeight / 2 + 0.5);
    }
  }

  draw_counter_(item, view, y) {
    const {context} = this;
    const {counter, descriptor} = item.track;
    const height = 40;
    const low = Math.min(0, counter.least);
    const range = counter.greatest - low || 1;
    const color = name_color(item.track.label);
    const y_at = (value) => y + height - ((value - low) / range) * (height - 4);
    context.fillStyle = `${color}55`;
    context.beginPath();
    const width = Math.round(this.track_width);
    const tops = [];
    counter.for_each_pixel(view.begin_ns, view.end_ns, width, (x, least, greatest) => {
      context.rect(this.left + x, y_at(greatest), 1, y + height - y_at(greatest));
      tops.push([this.left + x, y_at(greatest), Math.max(1.5, y_at(least) - y_at(greatest))]);
    });
    context.fill();
    context.fillStyle = color;
    for (const [x, from, size] of tops) context.fillRect(x, from, 1, size);
    context.fillStyle = this.colors_.faint;
    context.textAlign = 'right';
    if (counter.values.length > 0)
      context.fillText(value_text(counter.greatest, descriptor.unit ?? ''), this.width - 6, y + 8);
    context.textAlign = 'left';
  }

  draw_flows_(scene, y_of) {
    const {context} = this;
    context.lineWidth = 1.5;
    context.strokeStyle = this.colors_.accent;
    context.fillStyle = this.colors_.accent;
    context.save();
    context.beginPath();
    context.rect(this.left, kRulerHeight, this.track_width, this.height);
    context.clip();
    for (const {from, to} of scene.flows) {
      const start = place_of(scene.layout, from.track, from.depth);
      const end = place_of(scene.layout, to.track, to.depth);
      if (!start || !end) continue;
      const x0 = this.x_(scene.view, from.begin_ns);
      const x1 = this.x_(scene.view, to.begin_ns);
      if (Math.max(x0, x1) < this.left - 50 || Math.min(x0, x1) > this.width + 50) continue;
      const y0 = y_of(start.top + kRowHeight / 2);
      const y1 = y_of(end.top + kRowHeight / 2);
      const bend = Math.min(Math.max(Math.abs(x1 - x0) / 2, 16), 160);
      context.globalAlpha = 0.8;
      context.beginPath();
      context.moveTo(x0, y0);
      context.bezierCurveTo(x0 + bend, y0, x1 - bend, y1, x1, y1);
      context.stroke();
      context.beginPath();
      context.moveTo(x1, y1);
      context.lineTo(x1 - 6, y1 - 3.5);
      context.lineTo(x1 - 6, y1 + 3.5);
      context.fill();
    }
    context.restore();
  }

  draw_outlines_(scene, y_of) {
    const {context} = this;
    for (const [slice, color, line] of [
             [scene.hovered, this.colors_.faint, 1], [scene.selected, this.colors_.text, 2]]) {
      const place = slice && place_of(scene.layout, slice.track, slice.depth);
      if (!place) continue;
      const from = Math.max(this.x_(scene.view, slice.begin_ns), this.left);
      const to = Math.min(this.x_(scene.view, slice.end_ns), this.width);
      if (to < this.left || from > this.width || y_of(place.top) < kRulerHeight - kRowHeight) continue;
      context.strokeStyle = color;
      context.lineWidth = line;
      context.strokeRect(from, y_of(place.top) + 1, Math.max(to - from, 3), kRowHeight - 2);
    }
  }

  draw_labels_(items, y_of) {
    const {context, colors_: colors} = this;
    if (this.left > 0) {
      context.fillStyle = colors.surface;
      context.fillRect(0, kRulerHeight, this.left, this.height);
      context.fillStyle = colors.line;
      context.fillRect(this.left - 1, 0, 1, this.height);
    }
    for (const item of items) {
      const y = y_of(item.y);
      if (item.kind === 'group') {
        context.fillStyle = colors.raised;
        context.fillRect(0, y, this.width, item.height - 2);
        context.fillStyle = colors.text;
        context.font = `600 ${kFont}`;
        context.fillText(shortened(`${item.closed ? '▸' : '▾'}  ${item.label}`, Math.floor(this.width / 7)), 8, y + 12);
        context.font = kFont;
        continue;
      }
      context.fillStyle = item.track.failure ? colors.accent : colors.faint;
      const text = item.track.failure ? `${item.track.label}: ${item.track.failure}` : item.track.label;
      const most = this.left > 0 ? (this.left - 22) / kCharacter : this.width / kCharacter;
      context.fillText(shortened(text, Math.floor(most)), this.left > 0 ? 14 : 6, this.left > 0 ? y + 10 : y + 8);
    }
  }

  draw_ruler_(scene) {
    const {context, colors_: colors} = this;
    const {view, found} = scene;
    context.fillStyle = colors.surface;
    context.fillRect(0, 0, this.width, kRulerHeight);
    context.fillStyle = colors.line;
    context.fillRect(0, kRulerHeight - 1, this.width, 1);
    if (found) this.draw_matches_(view, found);
    context.fillStyle = colors.faint;
    const marks = view.marks(this.track_width);
    // Deep inside, all marks begin with the same digits: the distance to the left edge's mark says more.
    const step = round_step(view.span_ns / Math.max(2, Math.floor(this.track_width / 110)));
    const near = marks.length > 0 && marks[0] > step * 2000;
    for (const [at, mark] of marks.entries()) {
      const text = near && at > 0 ? `+${duration_text(mark - marks[0])}` : ruler_text(mark, step);
      context.fillText(text, this.x_(view, mark) + 4, 12);
    }
    if (this.left > 0) {
      context.fillStyle = colors.surface;
      context.fillRect(0, 0, this.left - 1, kRulerHeight - 1);
      context.fillStyle = colors.text;
      context.fillText(`${duration_text(view.span_ns)} in sight`, 14, 13);
    }
  }

  draw_matches_(view, found) {
    this.context.fillStyle = this.colors_.accent;
    const width = this.track_width;
    for (let place = found.first_from(view.begin_ns); place >= 0;) {
      const x = Math.floor(view.x_at(found.begins[place], width));
      if (x < 0 || x > width) break;
      this.context.fillRect(this.left + x, kRulerHeight - 6, 1.5, 6);
      const next = found.first_from(view.ns_at(x + 1, width));  // one mark a pixel
      if (next <= place) break;
      place = next;
    }
  }

  draw_measured_({view, measured}) {
    if (!measured) return;
    const {context} = this;
    const from = Math.max(this.x_(view, measured.begin_ns), this.left);
    const to = Math.min(this.x_(view, measured.end_ns), this.width);
    if (to < from) return;
    context.fillStyle = this.colors_.accent;
    context.globalAlpha = 0.14;
    context.fillRect(from, kRulerHeight, to - from, this.height);
    context.globalAlpha = 1;
    context.fillRect(from, 0, 1, this.height);
    context.fillRect(to - 1, 0, 1, this.height);
    const text = duration_text(measured.end_ns - measured.begin_ns);
    const size = context.measureText(text).width + 12;
    const left = Math.min(Math.max((from + to - size) / 2, this.left), this.width - size);
    context.fillRect(left, 4, size, 19);
    context.fillStyle = this.colors_.surface;
    context.fillText(text, left + 6, 14);
  }
}

/// A mark of the ruler with as many digits as its neighbours differ by: "1.204 s".
function ruler_text(mark_ns, step_ns) {
  for (const [size, unit] of [[1e9, 's'], [1e6, 'ms'], [1e3, 'µs']]) {
    if (mark_ns < size) continue;
    const digits = Math.min(9, Math.max(0, Math.ceil(Math.log10(size / step_ns) - 1e-9)));
    return `${(mark_ns / size).toFixed(digits)} ${unit}`;
  }
  return duration_text(mark_ns);
}
