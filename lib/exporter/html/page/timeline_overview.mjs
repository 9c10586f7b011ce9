// SPDX-License-Identifier: MIT
// The strip above the timeline: how busy the devices were over the whole recording, and which part is in sight.
import {role_color, theme_colors} from './colors.mjs';
import {label_width} from './timeline_layout.mjs';

const kHeight = 44;

/// The greatest share over tracks of each of 512 parts: of streams, or of threads where there is no device.
function busiest(tracks) {
  const streams = tracks.filter((track) => track.kind === 'stream' && track.overview);
  const used = streams.length > 0 ? streams : tracks.filter((track) => track.kind === 'thread' && track.overview);
  const most = new Uint8Array(512);
  for (const {overview} of used)
    for (let part = 0; part < Math.min(512, overview.length); ++part) most[part] = Math.max(most[part], overview[part]);
  return most;
}

export class Overview {
  constructor(canvas, model, view, moved) {
    this.canvas_ = canvas;
    this.view_ = view;
    this.busy_ = busiest(model.tracks);
    let grabbed = false;
    const show_at = (event) => {
      const box = canvas.getBoundingClientRect();
      const left = label_width(box.width);
      const time_ns = ((event.clientX - box.left - left) / (box.width - left)) * view.limit_ns;
      view.show(time_ns - view.span_ns / 2, time_ns + view.span_ns / 2);
      moved();
    };
    canvas.addEventListener('pointerdown', (event) => {
      grabbed = true;
      canvas.setPointerCapture(event.pointerId);
      show_at(event);
    });
    canvas.addEventListener('pointermove', (event) => {
      if (grabbed) show_at(event);
    });
    canvas.addEventListener('pointerup', () => {
      grabbed = false;
    });
    canvas.addEventListener('pointercancel', () => {
      grabbed = false;
    });
  }

  draw() {
    const width = this.canvas_.clientWidth;
    const ratio = Math.min(devicePixelRatio || 1, 2);
    if (this.canvas_.width !== Math.round(width * ratio)) {
      this.canvas_.width = Math.round(width * ratio);
      this.canvas_.height = kHeight * ratio;
    }
    const context = this.canvas_.getContext('2d');
    const colors = theme_colors();
    const left = label_width(width);
    const room = width - left;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.fillStyle = colors.raised;
    context.fillRect(0, 0, width, kHeight);
    context.fillStyle = role_color('computation', 0);
    for (let part = 0; part < 512; ++part) {
      const height = (this.busy_[part] / 255) * (kHeight - 6);
      context.fillRect(left + (part / 512) * room, kHeight - height, room / 512 + 0.5, height);
    }
    const from = left + (this.view_.begin_ns / this.view_.limit_ns) * room;
    const to = left + (this.view_.end_ns / this.view_.limit_ns) * room;
    context.globalAlpha = 0.66;
    context.fillStyle = colors.surface;
    context.fillRect(left, 0, from - left, kHeight);
    context.fillRect(to, 0, width - to, kHeight);
    context.globalAlpha = 1;
    context.strokeStyle = colors.accent;
    context.lineWidth = 2;
    context.strokeRect(from + 1, 1, Math.max(2, to - from - 2), kHeight - 2);
    if (left === 0) return;
    context.fillStyle = colors.faint;
    context.font = '11.5px system-ui, sans-serif';
    context.textBaseline = 'middle';
    context.fillText('whole recording', 14, kHeight / 2);
  }
}
