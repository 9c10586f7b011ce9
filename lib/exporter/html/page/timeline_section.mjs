// SPDX-License-Identifier: MIT
// The timeline: threads, projected ranges, streams and counters over time.
import {make, make_button, show_hint} from './dom.mjs';
import {Found, matching_names} from './search.mjs';
import {TimeView} from './time_view.mjs';
import {describe_slice, describe_stretch, slice_lines} from './timeline_details.mjs';
import {HeldKeys, Pointers, kKeys} from './timeline_input.mjs';
import {kRowHeight, lay_out, place_at, place_of} from './timeline_layout.mjs';
import {TimelineModel} from './timeline_model.mjs';
import {Overview} from './timeline_overview.mjs';
import {TimelinePainter, kRulerHeight} from './timeline_painter.mjs';
import {count_text, duration_text} from './units.mjs';

const kMostFlows = 200;
const kNearPixels = 4;
const kMostHeight = 1400;

class TimelineSection {
  constructor(descriptor, page) {
    this.blocks_ = page.blocks;
    this.model = new TimelineModel(descriptor, page.names);
    this.view = new TimeView(page.duration_ns);
    this.closed_ = new Set();
    this.scene_ = {
      view: this.view,
      layout: null,
      scroll_top: 0,
      selected: null,
      flows: [],
      hovered: null,
      found: null,
      measured: null
    };
    this.place_ = -1;  // of the search's match
    this.dirty_ = false;
    this.build_();
    this.listen_();
  }

  build_() {
    this.search_ = make('input', {
      class: 'search',
      type: 'search',
      placeholder: 'Search names  ( / )',
      'aria-label': 'Search slices by name',
      autocomplete: 'off',
      spellcheck: 'false'
    });
    this.search_state_ = make('span', {class: 'search-state', role: 'status'});
    this.keys_ = make(
        'div', {class: 'keys', id: 'timeline-keys', hidden: true},
        ...kKeys.map(
            ([keys, what]) => make(
                'div', {}, ...keys.split(/(?<=\S)[ ](?=\S)/).flatMap((key) => [make('kbd', {}, key), ' ']), what)));
    this.keys_button_ = make_button(
        'Keys  ( ? )', () => this.toggle_keys_(), {'aria-expanded': 'false', 'aria-controls': 'timeline-keys'});
    const tools = make(
        'div', {class: 'tools'}, this.search_,
        make_button('‹', () => this.step_match_(-1), {'aria-label': 'Previous match'}),
        make_button('›', () => this.step_match_(1), {'aria-label': 'Next match'}), this.search_state_,
        make_button('−', () => this.zoom_(1.6), {'aria-label': 'Zoom out'}),
        make_button('+', () => this.zoom_(1 / 1.6), {'aria-label': 'Zoom in'}),
        make_button('Show all', () => this.show_all_()), this.keys_button_);
    const overview = make('canvas', {class: 'overview', 'aria-hidden': 'true'});
    this.canvas_ = make('canvas', {
      tabindex: '0',
      role: 'application',
      'aria-describedby': 'timeline-said',
      'aria-label':
          'Timeline. W and S zoom, A and D move, arrows go from slice to slice, question mark lists all keys.',
    });
    this.spacer_ = make('div', {class: 'spacer'});
    this.scroll_ = make('div', {class: 'scroll'}, this.canvas_, this.spacer_);
    this.details_ = make(
        'div', {class: 'selected'},
        make('p', {class: 'note'}, 'Select a slice to see it here. Drag with Shift to measure.'));
    this.said_ = make('div', {class: 'unseen', id: 'timeline-said', role: 'status'});
    this.overview_ = new Overview(overview, this.model, this.view, () => this.changed());
    this.node = make('div', {}, tools, this.keys_, overview, this.scroll_, this.details_, this.said_);
  }

  listen_() {
    this.held_ = new HeldKeys(this.view, () => this.pointers_.place, () => this.changed());
    this.pointers_ = new Pointers(this.canvas_, {
      view: this.view,
      painter: () => this.painter_,
      moved: () => this.changed(),
      select: (x, y) => this.click_(x, y),
      hover: (x, y, event) => this.hover_(x, y, event),
      measure: (begin_ns, end_ns, done) => this.measure_(begin_ns, end_ns, done),
    });
    this.canvas_.addEventListener('keydown', (event) => this.key_(event));
    this.canvas_.addEventListener('keyup', (event) => this.held_.release(event.key.toLowerCase()));
    this.canvas_.addEventListener('blur', () => this.held_.release_all());
    this.scroll_.addEventListener('scroll', () => this.changed());
    this.search_.addEventListener('input', () => this.search_changed_());
    this.search_.addEventListener('keydown', (event) => {
      if (event.key === 'Enter') this.step_match_(event.shiftKey ? -1 : 1);
      if (event.key === 'Escape') this.canvas_.focus();
    });
    new ResizeObserver(() => this.resized_()).observe(this.scroll_);
    addEventListener('resize', () => this.resized_());
  }

  resized_() {
    const width = this.scroll_.clientWidth;
    if (width === 0) return;
    const layout = lay_out(this.model.tracks, width, this.closed_);
    const room = Math.max(280, Math.min(innerHeight * 0.66, kMostHeight));
    const height = Math.max(120, Math.min(room, layout.height + kRulerHeight + 4));
    this.scroll_.style.height = `${height + 1}px`;
    this.canvas_.style.height = `${height}px`;
    this.spacer_.style.height = `${Math.max(0, layout.height + kRulerHeight - height)}px`;
    this.scene_.layout = layout;
    this.painter_ ??= new TimelinePainter(this.canvas_, this.model, (track) => {
      track.load(this.blocks_).then(() => this.changed());
    });
    this.painter_.resize(width, height);
    this.draw_();
  }

  theme_changed() {
    if (!this.painter_) return;
    this.painter_.theme_changed();
    this.draw_();  // at once: a print does not wait for the next frame
  }

  /// Draws with the next frame; once, however often it is called.
  changed() {
    if (this.dirty_ || !this.painter_) return;
    this.dirty_ = true;
    requestAnimationFrame(() => this.draw_());
  }

  draw_() {
    this.dirty_ = false;
    this.scene_.scroll_top = this.scroll_.scrollTop;
    this.painter_.draw(this.scene_);
    this.overview_.draw();
  }

  slice_at_(x, y) {
    const place = y < kRulerHeight ? null : place_at(this.scene_.layout, y - kRulerHeight + this.scroll_.scrollTop);
    if (!place || x < this.painter_.left || !place.item.track?.rows) return null;
    const {track} = place.item;
    const row = track.rows[place.depth];
    const time_ns = this.view.ns_at(x - this.painter_.left, this.painter_.track_width);
    const position = row ? row.nearest(time_ns) : -1;
    if (position < 0) return null;
    const far_ns = (kNearPixels * this.view.span_ns) / this.painter_.track_width;
    if (row.begins[position] - time_ns > far_ns || time_ns - row.ends[position] > far_ns) return null;
    return track.slice(row.first + position);
  }

  hover_(x, y, event) {
    const slice = event ? this.slice_at_(x, y) : null;
    const counter = event && !slice && y >= kRulerHeight ? this.counter_lines_(x, y) : null;
    show_hint(slice ? slice_lines(this.model, slice) : counter, event?.clientX ?? 0, event?.clientY ?? 0);
    if (slice?.number === this.scene_.hovered?.number) return;
    this.scene_.hovered = slice;
    this.changed();
  }

  counter_lines_(x, y) {
    const track = place_at(this.scene_.layout, y - kRulerHeight + this.scroll_.scrollTop)?.item.track;
    if (!track?.counter || x < this.painter_.left) return null;
    const time_ns = this.view.ns_at(x - this.painter_.left, this.painter_.track_width);
    const value = track.counter.value_at(time_ns);
    if (Number.isNaN(value)) return null;
    return [`${track.label}: ${count_or_digits(value)} ${track.descriptor.unit ?? ''}`, `at ${duration_text(time_ns)}`];
  }

  click_(x, y) {
    const place = y < kRulerHeight ? null : place_at(this.scene_.layout, y - kRulerHeight + this.scroll_.scrollTop);
    if (place?.item.kind === 'group') {
      this.fold_(place.item.label);
      return;
    }
    this.select(this.slice_at_(x, y));
  }

  fold_(group) {
    if (!this.closed_.delete(group)) this.closed_.add(group);
    this.resized_();
  }

  /// Selects a slice, or nothing, and shows what it belongs to once the tracks are decoded.
  async select(slice) {
    this.scene_.selected = slice;
    this.scene_.flows = [];
    this.scene_.measured = null;
    this.changed();
    if (!slice) {
      this.details_.replaceChildren(
          make('p', {class: 'note'}, 'Select a slice to see it here. Drag with Shift to measure.'));
      return;
    }
    this.said_.textContent = slice_lines(this.model, slice).join(', ');
    await this.model.load_all(this.blocks_);
    if (this.scene_.selected !== slice) return;  // another one meanwhile
    const cause = this.model.cause_of(slice);
    const effects = this.model.effects_of(slice, kMostFlows);
    this.scene_.flows = [...(cause ? [{from: cause, to: slice}] : []), ...effects.map((to) => ({from: slice, to}))];
    const go = (other) => this.go_to(other);
    this.details_.replaceChildren(...describe_slice(this.model, slice, cause, effects, go));
    this.changed();
  }

  /// Selects a slice and brings it into sight.
  go_to(slice) {
    if (this.closed_.has(slice.track.group)) this.fold_(slice.track.group);
    this.view.reveal(slice.begin_ns, slice.end_ns);
    const place = place_of(this.scene_.layout, slice.track, slice.depth);
    const room = this.canvas_.clientHeight - kRulerHeight;
    if (place && place.top < this.scroll_.scrollTop)
      this.scroll_.scrollTop = place.top - kRowHeight;
    else if (place && place.bottom > this.scroll_.scrollTop + room)
      this.scroll_.scrollTop = place.bottom - room + kRowHeight;
    this.select(slice);
  }

  async measure_(begin_ns, end_ns, done) {
    const measured = {begin_ns, end_ns};
    this.scene_.measured = measured;
    this.changed();
    if (!done) return;
    await this.model.load_all(this.blocks_);
    if (this.scene_.measured !== measured) return;
    this.details_.replaceChildren(...describe_stretch(this.model, begin_ns, end_ns));
    this.said_.textContent = `Measured ${duration_text(end_ns - begin_ns)}`;
  }

  /// Called by links of other sections.
  show_interval(begin_ns, duration_ns) {
    this.view.show_around(begin_ns, duration_ns);
    this.node.closest('section').scrollIntoView({block: 'start'});
    this.canvas_.focus({preventScroll: true});
    this.measure_(begin_ns, begin_ns + duration_ns, true);
  }

  zoom_(factor) {
    this.view.zoom(factor, 0.5);
    this.changed();
  }

  show_all_() {
    this.view.show_all();
    this.changed();
  }

  toggle_keys_() {
    this.keys_.hidden = !this.keys_.hidden;
    this.keys_button_.setAttribute('aria-expanded', String(!this.keys_.hidden));
  }

  async search_changed_() {
    const query = this.search_.value;
    if (query.trim() === '') {
      this.scene_.found = null;
      this.search_state_.textContent = '';
      this.changed();
      return;
    }
    this.search_state_.textContent = 'searching';
    await this.model.load_all(this.blocks_);
    if (this.search_.value !== query) return;
    const found = new Found(this.model.slice_tracks, matching_names(this.model.names, query));
    this.scene_.found = found;
    this.place_ = -1;
    this.search_state_.textContent =
        found.count === 0 ? 'no match' : `${count_text(found.count)} matches, ${duration_text(found.sum_ns)}`;
    this.changed();
  }

  step_match_(direction) {
    const {found} = this.scene_;
    if (!found || found.count === 0) return;
    this.place_ = this.place_ < 0 ? found.first_from(this.view.begin_ns) : found.step(this.place_, direction);
    const slice = this.model.slice_of_number(found.numbers[this.place_]);
    this.search_state_.textContent = `${count_text(this.place_ + 1)} of ${count_text(found.count)}`;
    if (slice) this.go_to(slice);
  }

  key_(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    if (!this.held_.press(key) && !this.act_(key, event.shiftKey)) return;
    event.preventDefault();
  }

  act_(key, shift) {
    const {selected} = this.scene_;
    const actions = {
      'ArrowLeft': () => this.step_slice_(-1),
      'ArrowRight': () => this.step_slice_(1),
      'ArrowUp': () => this.step_row_(-1),
      'ArrowDown': () => this.step_row_(1),
      'Enter': () => selected && this.zoom_to_(selected),
      'f': () => selected && this.zoom_to_(selected),
      '[': () => this.follow_((flow) => flow.to === selected && flow.from),
      ']': () => this.follow_((flow) => flow.from === selected && flow.to),
      '/': () => this.search_.focus(),
      'n': () => this.step_match_(shift ? -1 : 1),
      'm': () => selected && this.measure_(selected.begin_ns, selected.end_ns, true),
      'c': () => selected && this.fold_(selected.track.group),
      '0': () => this.show_all_(),
      'Escape': () => this.select(null),
      '?': () => this.toggle_keys_(),
    };
    if (!Object.hasOwn(actions, key)) return false;
    actions[key]();
    return true;
  }

  zoom_to_(slice) {
    this.view.show_around(slice.begin_ns, slice.duration_ns);
    this.changed();
  }

  follow_(target_of) {
    const target = this.scene_.flows.map(target_of).find(Boolean);
    if (target) this.go_to(target);
  }

  /// Rows with slices, from the top: where the up and down keys go.
  open_rows_() {
    return this.model.slice_tracks.filter((track) => track.rows && !this.closed_.has(track.group))
        .flatMap((track) => track.rows.map((row, depth) => ({track, row, depth})))
        .filter(({row}) => row.count > 0);
  }

  select_near_(place, time_ns) {
    if (place) this.go_to(place.track.slice(place.row.first + place.row.nearest(time_ns)));
  }

  step_slice_(direction) {
    const {selected} = this.scene_;
    if (!selected) {
      this.select_near_(this.open_rows_()[0], this.view.begin_ns);
      return;
    }
    const row = selected.track.rows[selected.depth];
    const position = selected.position + direction;
    if (position >= 0 && position < row.count) this.go_to(selected.track.slice(row.first + position));
  }

  step_row_(direction) {
    const {selected} = this.scene_;
    const rows = this.open_rows_();
    const at = rows.findIndex(({track, depth}) => track === selected?.track && depth === selected?.depth);
    const middle_ns = selected ? (selected.begin_ns + selected.end_ns) / 2 : this.view.begin_ns;
    this.select_near_(rows[at < 0 ? 0 : at + direction], middle_ns);
  }
}

const count_or_digits = (value) => Number.isInteger(value) ? count_text(value) : value.toPrecision(5);

export function timeline_section(descriptor, page) { return new TimelineSection(descriptor, page); }
