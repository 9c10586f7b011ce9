// SPDX-License-Identifier: MIT
// Colors. A role has the same color everywhere, so that what is amber in the bars is amber in the timeline. Colors of
// slices are light enough for dark text in both themes: at least 5 to 1.

/// Of ranges, kernels and operators: chosen by name.
const kNameColors = [
  '#7aa7f7',
  '#63c2b8',
  '#f0b45c',
  '#ea8f94',
  '#b79af2',
  '#8cc971',
  '#e79bd0',
  '#5fbfe6',
  '#d6c25b',
  '#a9b4c4',
  '#f2a077',
  '#8fd0a6',
];

const kRoleColors = {
  computation: ['#5b93f5'],
  communication: ['#f2a541'],
  copy: ['#3fbfae'],
  idle: ['#e2646e', '#e9949b', '#c9a3b4', '#a3a9b8'],
  input: ['#b487ee'],
  other: ['#c3c9d3'],
};

const kCategoryColors = {
  communication: kRoleColors.communication[0],
  collective: kRoleColors.communication[0],
  copy: kRoleColors.copy[0],
  memset: '#7fd6c9',
  sync: kRoleColors.idle[0],
  call: '#9db0c9',
  other: kRoleColors.other[0],
};

/// The color of a part of a step: the `nth` of its role.
export function role_color(role, nth) {
  const colors = kRoleColors[role] ?? kRoleColors.other;
  return colors[Math.min(nth, colors.length - 1)];
}

/// A number of 32 bits for a text, the same in every browser (FNV-1a).
export function text_hash(text) {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; ++at) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  return hash >>> 0;
}

/// Digits do not count: layers.0 and layers.17 are alike.
export function name_color(name) { return kNameColors[text_hash(name.replace(/\d+/g, '')) % kNameColors.length]; }

/// The color of a category, or null where the name chooses it.
export function category_color(category) { return kCategoryColors[category] ?? null; }

export function series_color(nth) { return kNameColors[nth % kNameColors.length]; }

/// A color as a pixel of an ImageData seen as 32-bit integers (little-endian), without its alpha.
export function pixel_of(color) {
  const red = parseInt(color.slice(1, 3), 16);
  const green = parseInt(color.slice(3, 5), 16);
  const blue = parseInt(color.slice(5, 7), 16);
  return ((blue << 16) | (green << 8) | red) >>> 0;
}

/// From cold to hot, for 0 to 1; as CSS. Dark to light in blue-green-yellow: seen without red and green, and in print.
export function heat_color(ratio) {
  const stops = [[68, 58, 131], [49, 104, 142], [33, 145, 140], [94, 201, 98], [253, 231, 37]];
  const place = Math.min(Math.max(ratio, 0), 1) * (stops.length - 1);
  const at = Math.min(Math.floor(place), stops.length - 2);
  const mixed = stops[at].map((value, channel) => Math.round(value + (stops[at + 1][channel] - value) * (place - at)));
  return `rgb(${mixed.join(',')})`;
}

/// What the canvases need of the style sheet's theme.
export function theme_colors() {
  const style = getComputedStyle(document.documentElement);
  const color = (name) => style.getPropertyValue(`--${name}`).trim();
  return {
    text: color('text'),
    faint: color('faint'),
    line: color('line'),
    surface: color('surface'),
    raised: color('raised'),
    accent: color('accent'),
    ink: '#10141a',
  };
}
