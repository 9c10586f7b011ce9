// SPDX-License-Identifier: MIT
// Keys and pointers of the timeline. W, S, A and D move as long as they are held.
import {kRulerHeight} from './timeline_painter.mjs';

/// Per second, while a key is held.
const kZoomPerSecond = 6.5;
const kPanPerSecond = 1.3;
const kFirstStepSeconds = 0.03;  // a tap moves too
const kLeastDrag = 4;

const kHeldKeys = {
  w: 'in',
  s: 'out',
  a: 'left',
  d: 'right'
};

/// The keys of the timeline, for the list that the page shows.
export const kKeys = [
  ['W S', 'zoom in, out'],
  ['A D', 'move left, right'],
  ['← →', 'slice before, after'],
  ['↑ ↓', 'row above, below'],
  ['Enter', 'zoom to the selected slice'],
  ['[ ]', 'to its launch, to what it launched'],
  ['/', 'search'],
  ['N, Shift+N', 'next, previous match'],
  ['M', 'measure the selected slice'],
  ['C', 'fold the group of the slice'],
  ['0', 'show all'],
  ['Escape', 'clear'],
  ['?', 'show and hide these keys'],
  ['Drag', 'move'],
  ['Shift+drag', 'measure: time, and sums by name'],
  ['Ctrl+wheel, pinch', 'zoom'],
  ['Shift+wheel', 'move'],
];

/// Moves the view while keys are held. `moved()` is called after each change.
export class HeldKeys {
  constructor(view, place, moved) {
    this.view_ = view;
    this.place_ = place;
    this.moved_ = moved;
    this.held_ = new Set();
    this.last_ms_ = 0;
  }

  press(key) {
    const motion = kHeldKeys[key];
    if (!motion) return false;
    if (this.held_.has(motion)) return true;
    this.held_.add(motion);
    this.advance_(kFirstStepSeconds);
    if (this.held_.size === 1) {
      this.last_ms_ = performance.now();
      requestAnimationFrame(() => this.frame_());
    }
    return true;
  }

  release(key) { this.held_.delete(kHeldKeys[key]); }
  release_all() { this.held_.clear(); }

  frame_() {
    if (this.held_.size === 0) return;
    const now_ms = performance.now();
    this.advance_(Math.min((now_ms - this.last_ms_) / 1000, 0.1));
    this.last_ms_ = now_ms;
    requestAnimationFrame(() => this.frame_());
  }

  advance_(seconds) {
    const zoom = (this.held_.has('out') ? 1 : 0) - (this.held_.has('in') ? 1 : 0);
    const pan = (this.held_.has('right') ? 1 : 0) - (this.held_.has('left') ? 1 : 0);
    if (zoom !== 0) this.view_.zoom(kZoomPerSecond ** (zoom * seconds), this.place_());
    if (pan !== 0) this.view_.pan(pan * kPanPerSecond * seconds);
    this.moved_();
  }
}

/// Pointers on the canvas. `actions`: view, painter(), moved(), select(x, y), hover(x, y), measure(begin_ns, end_ns).
export class Pointers {
  constructor(canvas, actions) {
    this.canvas_ = canvas;
    this.actions_ = actions;
    this.down_ = new Map();
    this.pinch_ = 0;
    this.place = 0.5;
    canvas.addEventListener('pointerdown', (event) => this.press_(event));
    canvas.addEventListener('pointermove', (event) => this.move_(event));
    canvas.addEventListener('pointerup', (event) => this.release_(event));
    canvas.addEventListener('pointercancel', (event) => this.down_.delete(event.pointerId));
    canvas.addEventListener('pointerleave', () => actions.hover(-1, -1, null));
    canvas.addEventListener('wheel', (event) => this.wheel_(event), {passive: false});
  }

  at_(event) {
    const box = this.canvas_.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  }

  place_of_(x) {
    const {left, track_width} = this.actions_.painter();
    return Math.min(Math.max((x - left) / track_width, 0), 1);
  }

  ns_at_(x) {
    const {left, track_width} = this.actions_.painter();
    return Math.min(Math.max(this.actions_.view.ns_at(x - left, track_width), 0), this.actions_.view.limit_ns);
  }

  press_(event) {
    if (event.button !== 0) return;
    const [x, y] = this.at_(event);
    const measures = event.shiftKey || y < kRulerHeight;
    this.down_.set(event.pointerId, {x, y, first_x: x, first_y: y, measures, first_ns: this.ns_at_(x), dragged: false});
    this.canvas_.setPointerCapture(event.pointerId);
    this.canvas_.focus({preventScroll: true});
    this.pinch_ = this.distance_();
  }

  distance_() {
    const [one, other] = [...this.down_.values()];
    return other ? Math.abs(one.x - other.x) : 0;
  }

  move_(event) {
    const [x, y] = this.at_(event);
    this.place = this.place_of_(x);
    const down = this.down_.get(event.pointerId);
    if (!down) {
      this.actions_.hover(x, y, event);
      return;
    }
    const shift = x - down.x;
    down.x = x;
    down.y = y;
    if (!down.dragged && Math.hypot(x - down.first_x, y - down.first_y) < kLeastDrag) return;
    down.dragged = true;
    this.canvas_.classList.add('dragged');
    this.actions_.hover(-1, -1, null);
    if (this.down_.size === 2) {
      const distance = this.distance_();
      if (this.pinch_ > 8 && distance > 8) this.actions_.view.zoom(this.pinch_ / distance, this.place);
      this.pinch_ = distance;
    } else if (down.measures) {
      const now_ns = this.ns_at_(x);
      this.actions_.measure(Math.min(now_ns, down.first_ns), Math.max(now_ns, down.first_ns), false);
    } else {
      this.actions_.view.pan(-shift / this.actions_.painter().track_width);
    }
    this.actions_.moved();
  }

  release_(event) {
    const down = this.down_.get(event.pointerId);
    this.down_.delete(event.pointerId);
    this.canvas_.classList.remove('dragged');
    if (!down) return;
    if (!down.dragged) {
      this.actions_.select(down.x, down.y);
    } else if (down.measures) {
      const now_ns = this.ns_at_(down.x);
      this.actions_.measure(Math.min(now_ns, down.first_ns), Math.max(now_ns, down.first_ns), true);
    }
  }

  wheel_(event) {
    const size = event.deltaMode === 1 ? 16 : 1;
    if (event.ctrlKey || event.metaKey) {
      this.actions_.view.zoom(Math.exp(event.deltaY * size * 0.004), this.place_of_(this.at_(event)[0]));
    } else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
      const shift = (event.deltaX || event.deltaY) * size;
      this.actions_.view.pan(shift / this.actions_.painter().track_width);
    } else {
      return;  // the list of tracks scrolls
    }
    event.preventDefault();
    this.actions_.moved();
  }
}
