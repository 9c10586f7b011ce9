// SPDX-License-Identifier: MIT
// Decodes what the exporter packed: base64, integers of variable length, columns of tables, names. The format is in
// ../README.md. What does not keep to it throws BadData; nothing is guessed.

/// The file does not hold what its index says.
export class BadData extends Error {}

const kLargestInteger = 2 ** 53;  // what a double holds
const kNoDigit = 255;

function base64_digits() {
  const digits = new Uint8Array(128).fill(kNoDigit);
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';
  for (let value = 0; value < alphabet.length; ++value) digits[alphabet.charCodeAt(value)] = value;
  return digits;
}
const kBase64Digits = base64_digits();

function base64_digit(text, at) {
  const code = text.charCodeAt(at);
  const value = code < 128 ? kBase64Digits[code] : kNoDigit;
  if (value === kNoDigit) throw new BadData(`base64 has a wrong character at ${at}`);
  return value;
}

/// Bytes of base64 text with padding and without line breaks.
export function bytes_of_base64(text) {
  if (text.length % 4 !== 0) throw new BadData(`base64 of ${text.length} characters is cut`);
  let digits = text.length;
  while (digits > text.length - 3 && digits > 0 && text.charCodeAt(digits - 1) === 61) --digits;  // '='
  const bytes = new Uint8Array(Math.floor((digits * 3) / 4));
  const whole = digits - (digits % 4);
  let to = 0;
  for (let at = 0; at < whole; at += 4) {
    const group = (base64_digit(text, at) << 18) | (base64_digit(text, at + 1) << 12) |
        (base64_digit(text, at + 2) << 6) | base64_digit(text, at + 3);
    bytes[to++] = group >> 16;
    bytes[to++] = group >> 8;
    bytes[to++] = group;
  }
  if (digits - whole === 1) throw new BadData('base64 is cut');
  if (digits - whole >= 2) {
    const first = (base64_digit(text, whole) << 2) | (base64_digit(text, whole + 1) >> 4);
    bytes[to++] = first;
    if (digits - whole === 3) bytes[to++] = (base64_digit(text, whole + 1) << 4) | (base64_digit(text, whole + 2) >> 2);
  }
  return bytes;
}

/// Calls `take(row, value)` for each of `rows` unsigned LEB128 integers; the bytes hold exactly those.
function for_each_varint(bytes, rows, take) {
  let at = 0;
  for (let row = 0; row < rows; ++row) {
    let byte = bytes[at++];
    let value = byte & 127;
    // Numbers, not bits: a time in ns needs more than the 32 bits that JavaScript's shifts have.
    for (let scale = 128; byte >= 128; scale *= 128) {
      byte = bytes[at++];
      value += (byte & 127) * scale;
      if (value > kLargestInteger) throw new BadData(`row ${row}: integer is too large`);
    }
    if (byte === undefined) throw new BadData(`row ${row} of ${rows}: column is cut`);
    take(row, value);
  }
  if (at !== bytes.length) throw new BadData(`column has ${bytes.length - at} bytes too many`);
}

const signed = (value) => value % 2 === 0 ? value / 2 : -(value + 1) / 2;

const kDecoders = {
  u8(bytes, values) {
    if (bytes.length !== values.length) throw new BadData(`column of bytes: ${bytes.length} for ${values.length} rows`);
    values.set(bytes);
  },
  varint(bytes, values) {
    for_each_varint(bytes, values.length, (row, value) => {
      values[row] = value;
    });
  },
  zigzag(bytes, values) {
    for_each_varint(bytes, values.length, (row, value) => {
      values[row] = signed(value);
    });
  },
  delta(bytes, values) {
    let sum = 0;
    for_each_varint(bytes, values.length, (row, value) => {
      values[row] = sum += signed(value);
    });
  },
  f64(bytes, values) {
    if (bytes.length !== values.length * 8)
      throw new BadData(`column of doubles: ${bytes.length} bytes for ${values.length} rows`);
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    for (let row = 0; row < values.length; ++row) values[row] = view.getFloat64(row * 8, true);
  },
};

/// A table of the file. A column is decoded when it is first asked for.
export class Table {
  constructor(descriptor, bytes) {
    this.rows = descriptor.rows;
    this.places_ = new Map();
    this.decoded_ = new Map();
    let at = 0;
    for (const {name, type, bytes: size} of descriptor.columns) {
      if (!Object.hasOwn(kDecoders, type)) throw new BadData(`column ${name}: unknown type ${type}`);
      if (at + size > bytes.length) throw new BadData(`column ${name} ends at ${at + size} of ${bytes.length}`);
      this.places_.set(name, {type, bytes: bytes.subarray(at, at + size)});
      at += size;
    }
    if (at !== bytes.length) throw new BadData(`table has ${bytes.length - at} bytes too many`);
  }

  has(name) { return this.places_.has(name); }

  /// Values of a column, a Float64Array unless another type of array is asked for (which then is kept).
  column(name, ArrayType = Float64Array) {
    const known = this.decoded_.get(name);
    if (known) return known;
    const place = this.places_.get(name);
    if (!place) throw new BadData(`there is no column ${name}`);
    const values = new ArrayType(this.rows);
    kDecoders[place.type](place.bytes, values);
    this.decoded_.set(name, values);
    return values;
  }

  /// The same, of zeros where there is no such column.
  column_or_zeros(name, ArrayType = Float64Array) {
    return this.has(name) ? this.column(name, ArrayType) : new ArrayType(this.rows);
  }
}

/// The texts of a block of names.
export function names_of_bytes(bytes, count) {
  const decoder = new TextDecoder('utf-8');
  const names = [];
  let at = 0;
  for (let name = 0; name < count; ++name) {
    let length = 0;
    let scale = 1;
    let byte = 128;
    for (; byte >= 128; scale *= 128) {
      byte = bytes[at++];
      if (byte === undefined || scale > 2 ** 21) throw new BadData(`names end at name ${name} of ${count}`);
      length += (byte & 127) * scale;
    }
    if (at + length > bytes.length) throw new BadData(`names end at name ${name} of ${count}`);
    names.push(decoder.decode(bytes.subarray(at, at + length)));
    at += length;
  }
  if (at !== bytes.length) throw new BadData(`names have ${bytes.length - at} bytes too many`);
  return names;
}
