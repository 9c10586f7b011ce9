// SPDX-License-Identifier: MIT
// Where tracks stand, from the top; CSS pixels.

export const kRowHeight = 18;
const kGroupHeight = 26;
const kCounterHeight = 44;
const kTrackGap = 5;
const kLabelHeight = 15;  // where labels stand above their tracks
const kWideLabels = 190;

/// Labels stand to the left of tracks when there is room, and above them on a phone.
export const label_width = (width) => width >= 760 ? kWideLabels : 0;

/// {items, height}. An item is {kind: 'group', label, y, height} or {kind: 'track', track, y, height, rows_y}.
/// `closed`: labels of groups whose tracks are hidden.
export function lay_out(tracks, width, closed) {
  const above = label_width(width) === 0 ? kLabelHeight : 0;
  const items = [];
  let y = 0;
  let group = null;
  for (const track of tracks) {
    if (track.group !== group) {
      group = track.group;
      items.push({kind: 'group', label: group, y, height: kGroupHeight, closed: closed.has(group)});
      y += kGroupHeight;
    }
    if (closed.has(group)) continue;
    const rows = track.is_counter ? kCounterHeight : track.depth_count * kRowHeight;
    items.push({kind: 'track', track, y, height: above + rows + kTrackGap, rows_y: y + above});
    y += above + rows + kTrackGap;
  }
  return {items, height: y};
}

/// Items that [top, bottom) shows.
export function items_between(layout, top, bottom) {
  return layout.items.filter((item) => item.y < bottom && item.y + item.height > top);
}

/// What is at a height: null, {item} for a group, {item, depth} for a row of a track.
export function place_at(layout, y) {
  for (const item of layout.items) {
    if (y < item.y || y >= item.y + item.height) continue;
    if (item.kind === 'group') return {item};
    const depth = Math.floor((y - item.rows_y) / kRowHeight);
    return {item, depth: Math.min(Math.max(depth, 0), item.track.depth_count - 1)};
  }
  return null;
}

/// The heights that a slice takes: {top, bottom}, or null while its group is closed.
export function place_of(layout, track, depth) {
  const item = layout.items.find((candidate) => candidate.track === track);
  if (!item) return null;
  const top = item.rows_y + depth * kRowHeight;
  return {top, bottom: top + kRowHeight};
}
