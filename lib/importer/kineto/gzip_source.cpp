// SPDX-License-Identifier: MIT
#include "importer/kineto/gzip_source.hpp"

#include <libdeflate.h>
#include <zlib.h>

namespace rangefinder::importer::kineto {
namespace {

constexpr std::size_t kPackedBuffer = std::size_t{64} << 10;

// DEFLATE cannot do better than 1032 to 1, and only on input that says nothing. Traces reach 40 to 1, the same event
// again and again 300 to 1.
constexpr std::uint64_t kMaxRatio = 1000;
constexpr std::uint64_t kRatioMatters = std::uint64_t{64} << 20;

// RFC 1952, section 2.3.1.
constexpr int kHeaderChecksum = 2;
constexpr int kExtra = 4;
constexpr int kFileName = 8;
constexpr int kComment = 16;
constexpr int kReserved = 0xE0;

}  // namespace

struct GzipSource::Inflater {
  z_stream stream{};
  bool ready = false;

  Inflater() { ready = inflateInit2(&stream, -MAX_WBITS) == Z_OK; }
  ~Inflater() {
    if (ready) inflateEnd(&stream);
  }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;
};

GzipSource::GzipSource(ByteSource& packed)
    : packed_(packed), buffer_(kPackedBuffer), inflater_(std::make_unique<Inflater>()) {
  if (!inflater_->ready) finish(SourceEnd::Kind::kFailed, "no memory to unpack with");
}

GzipSource::~GzipSource() = default;

std::size_t GzipSource::read(std::span<char> out) {
  while (state_ != State::kEnd) {
    if (state_ == State::kHeader && !read_header()) break;
    if (state_ == State::kBody) {
      const std::size_t count = inflate(out);
      if (count != 0) return count;
    }
    if (state_ == State::kTrailer) read_trailer();
  }
  return 0;
}

bool GzipSource::refill() {
  packed_used_ += size_;
  at_ = 0;
  size_ = packed_.read(buffer_);
  return size_ != 0;
}

int GzipSource::next_byte() {
  if (at_ == size_ && !refill()) return -1;
  return static_cast<unsigned char>(buffer_[at_++]);
}

void GzipSource::finish(SourceEnd::Kind kind, std::string reason) {
  state_ = State::kEnd;
  end_.kind = kind;
  end_.reason = std::move(reason);
}

void GzipSource::cut_off() {
  if (packed_.end().kind == SourceEnd::Kind::kFailed) return finish(SourceEnd::Kind::kFailed, packed_.end().reason);
  finish(SourceEnd::Kind::kCutOff, "the compressed data end early, at byte " + std::to_string(packed_used_ + size_));
}

bool GzipSource::skip_text() {
  int byte = 0;
  while ((byte = next_byte()) > 0) {
  }
  return byte == 0;
}

bool GzipSource::read_header() {
  int first = next_byte();
  // Zeros between and behind members are padding that tapes and block devices leave.
  while (first == 0 && members_ != 0) first = next_byte();
  if (first < 0 && members_ != 0) {
    finish(packed_.end().kind, packed_.end().reason);
    return false;
  }
  const int second = next_byte();
  if (first != 0x1F || second != 0x8B) {
    if (members_ == 0) {
      finish(SourceEnd::Kind::kDamaged, "not gzip");
      return false;
    }
    end_.trailing_bytes = 1 + (second < 0 ? 0 : 1) + (size_ - at_);
    while (refill()) end_.trailing_bytes += size_;
    finish(packed_.end().kind, packed_.end().reason);
    return false;
  }
  const int method = next_byte();
  const int flags = next_byte();
  bool whole = flags >= 0;
  if (whole && (method != 8 || (flags & kReserved) != 0)) {
    finish(SourceEnd::Kind::kDamaged, "a gzip header that no version of the format has");
    return false;
  }
  for (int i = 0; i < 6; ++i) whole = next_byte() >= 0;  // time, level, system
  if (whole && (flags & kExtra) != 0) {
    const int low = next_byte();
    const int high = next_byte();
    whole = high >= 0;
    for (int left = whole ? low | high << 8 : 0; left > 0 && whole; --left) whole = next_byte() >= 0;
  }
  if (whole && (flags & kFileName) != 0) whole = skip_text();
  if (whole && (flags & kComment) != 0) whole = skip_text();
  if (whole && (flags & kHeaderChecksum) != 0) whole = next_byte() >= 0 && next_byte() >= 0;
  if (!whole) {
    cut_off();
    return false;
  }
  inflateReset(&inflater_->stream);
  checksum_ = member_size_ = 0;
  state_ = State::kBody;
  return true;
}

std::size_t GzipSource::inflate(std::span<char> out) {
  z_stream& stream = inflater_->stream;
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  int code = Z_OK;
  while (code == Z_OK && stream.avail_out != 0) {
    if (at_ == size_ && !refill()) break;
    stream.next_in = reinterpret_cast<Bytef*>(buffer_.data() + at_);
    stream.avail_in = static_cast<uInt>(size_ - at_);
    code = ::inflate(&stream, Z_NO_FLUSH);
    at_ = size_ - stream.avail_in;
    if (code == Z_BUF_ERROR) code = Z_OK;  // it wants more input
  }
  const std::size_t count = out.size() - stream.avail_out;
  checksum_ = libdeflate_crc32(checksum_, out.data(), count);
  member_size_ += static_cast<std::uint32_t>(count);  // the format keeps it modulo 2^32
  unpacked_ += count;
  const std::uint64_t packed = packed_used_ + at_;
  if (code == Z_STREAM_END) {
    state_ = State::kTrailer;
  } else if (code != Z_OK) {
    finish(SourceEnd::Kind::kDamaged, "the compressed data are damaged at byte " + std::to_string(packed) +
                                          (stream.msg != nullptr ? std::string(": ") + stream.msg : ""));
  } else if (stream.avail_out != 0) {
    cut_off();
  }
  if (unpacked_ > kRatioMatters && unpacked_ / kMaxRatio > packed) {
    finish(SourceEnd::Kind::kRefused, "unpacks to more than " + std::to_string(kMaxRatio) + " times its size");
  }
  return count;
}

void GzipSource::read_trailer() {
  std::uint32_t stored[2] = {0, 0};
  for (std::uint32_t& word : stored) {
    for (int shift = 0; shift < 32; shift += 8) {
      const int byte = next_byte();
      if (byte < 0) return cut_off();
      word |= static_cast<std::uint32_t>(byte) << shift;
    }
  }
  ++members_;
  state_ = State::kHeader;
  if (stored[0] != checksum_) {
    finish(SourceEnd::Kind::kDamaged, "the checksum of the unpacked data is wrong");
  } else if (stored[1] != member_size_) {
    finish(SourceEnd::Kind::kDamaged,
           "gzip's length says " + std::to_string(stored[1]) + " bytes, unpacked were " + std::to_string(member_size_));
  }
}

}  // namespace rangefinder::importer::kineto
