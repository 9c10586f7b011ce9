// SPDX-License-Identifier: MIT
// The slices of the rows in sight as one image with a line of pixels per row. The canvas then stretches each line to
// its row: a few calls per frame, however many slices there are.
import {kRowHeight} from './timeline_layout.mjs';
import {category_color, name_color, pixel_of} from './colors.mjs';
import {kCategories} from './timeline_model.mjs';

const kFaintest = 70;  // of 255: a slice that is a thousandth of a pixel is still seen
const kDimmed = 0.22;  // what a search did not find
const kLeastForGap = 4;

export class SliceStrips {
  constructor(names) {
    this.name_pixels_ = Uint32Array.from(names, (name) => pixel_of(name_color(name)));
    this.category_pixels_ = kCategories.map((category) => {
      const color = category_color(category);
      return color === null ? null : pixel_of(color);
    });
    this.canvas_ = document.createElement('canvas');
    this.image_ = null;
  }

  pixel_(track, index) {
    const category = track.categories ? this.category_pixels_[track.categories[index]] : null;
    return category ?? this.name_pixels_[track.names[index]];
  }

  /// Begins an image of `rows` lines of `width` device pixels.
  begin(width, rows) {
    if (!this.image_ || this.image_.width !== width || this.image_.height < rows) {
      this.canvas_.width = width;
      this.canvas_.height = rows + 16;
      this.context_ = this.canvas_.getContext('2d');
      this.image_ = this.context_.createImageData(width, rows + 16);
      this.pixels_ = new Uint32Array(this.image_.data.buffer);
    }
    this.pixels_.fill(0, 0, width * rows);
    this.rows_ = rows;
    this.targets_ = [];
  }

  /// Draws a row into the next line, and calls `label(left, right, index)` for slices of at least `least` pixels.
  add_row(track, row, view, y, found, least, label) {
    const {pixels_: pixels, image_: {width}} = this;
    const line = this.targets_.length * width;
    this.targets_.push(y);
    row.for_each_run(view.begin_ns, view.end_ns, width, (left, right, position, coverage) => {
      const index = row.first + position;
      const dimmed = found && found.matches[track.names[index]] === 0 ? kDimmed : 1;
      const alpha = Math.round((kFaintest + (255 - kFaintest) * coverage) * dimmed);
      const pixel = (this.pixel_(track, index) | (alpha << 24)) >>> 0;
      const end = right - left >= kLeastForGap ? right - 1 : right;  // one pixel between neighbours of the same name
      for (let x = line + left; x < line + end; ++x) pixels[x] = pixel;
      if (right - left >= least) label(left, right, index);
    });
  }

  /// Shares of 512 parts of the recording, for a track that is not decoded yet.
  add_overview(overview, view, limit_ns, y, pixel) {
    const {pixels_: pixels, image_: {width}} = this;
    const line = this.targets_.length * width;
    this.targets_.push(y);
    for (let x = 0; x < width; ++x) {
      const part = Math.floor((view.ns_at(x + 0.5, width) / limit_ns) * overview.length);
      const share = overview[Math.min(part, overview.length - 1)];
      if (share > 0) pixels[line + x] = (pixel | (Math.min(255, 40 + share * 0.6) << 24)) >>> 0;
    }
  }

  /// Stretches the lines over their rows. `context` has no transformation but the ratio of pixels.
  draw(context, left, width) {
    if (this.targets_.length === 0) return;
    this.context_.putImageData(this.image_, 0, 0, 0, 0, this.image_.width, this.targets_.length);
    context.imageSmoothingEnabled = false;
    for (const [line, y] of this.targets_.entries())
      context.drawImage(this.canvas_, 0, line, this.image_.width, 1, left, y + 1, width, kRowHeight - 2);
  }
}
