#include "fleet/fact_bytes.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/cut_text.h"

namespace headway::fleet {
namespace {

using base::Result;
using base::Status;
using timeline::kBuckets;
using timeline::Sums;

class Writer {
 public:
  void byte(std::uint8_t value) { out_.push_back(static_cast<std::byte>(value)); }
  void number(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) byte(static_cast<std::uint8_t>(value | 0x80));
    byte(static_cast<std::uint8_t>(value));
  }
  // Small ones of either sign are short.
  void integer(std::int64_t value) {
    number((static_cast<std::uint64_t>(value) << 1) ^ static_cast<std::uint64_t>(value >> 63));
  }
  void text(std::string_view value) {
    value = base::cut_text(value, AttemptFacts::text_max);
    number(value.size());
    for (const char c : value) out_.push_back(static_cast<std::byte>(c));
  }
  void texts(const std::vector<std::string>& values) {
    number(values.size());
    for (const std::string& value : values) text(value);
  }
  // Most buckets of a day are empty.
  void sums(const Sums& sums) {
    byte(static_cast<std::uint8_t>(
        std::ranges::count_if(sums.ns, [](std::int64_t ns) { return ns != 0; })));
    for (std::size_t i = 0; i < kBuckets; ++i) {
      if (sums.ns[i] == 0) continue;
      byte(static_cast<std::uint8_t>(i));
      integer(sums.ns[i]);
    }
  }
  std::vector<std::byte> take() { return std::move(out_); }

 private:
  std::vector<std::byte> out_;
};

// After the first thing that makes no sense it reads zeros, and good() is false.
class Reader {
 public:
  explicit Reader(std::span<const std::byte> bytes) : bytes_(bytes) {}
  std::uint8_t byte() {
    if (at_ == bytes_.size()) return fail();
    return static_cast<std::uint8_t>(bytes_[at_++]);
  }
  std::uint64_t number() {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const std::uint8_t next = byte();
      const std::uint64_t low = next & 0x7f;
      if (shift == 63 && low > 1) return fail();
      value |= low << shift;
      if (next < 0x80) return shift > 0 && next == 0 ? fail() : value;
    }
    return fail();
  }
  std::uint64_t number_up_to(std::uint64_t max) {
    const std::uint64_t value = number();
    return value > max ? fail() : value;
  }
  std::int64_t integer() {
    const std::uint64_t value = number();
    return static_cast<std::int64_t>((value >> 1) ^ (~(value & 1) + 1));
  }
  std::string text() {
    const std::uint64_t size = number_up_to(AttemptFacts::text_max);
    if (size > bytes_.size() - at_) {
      fail();
      return {};
    }
    std::string out(reinterpret_cast<const char*>(bytes_.data() + at_), size);
    at_ += size;
    return out;
  }
  std::vector<std::string> texts(std::size_t max) {
    std::vector<std::string> out;
    for (std::uint64_t left = number_up_to(max); left > 0 && good_; --left) out.push_back(text());
    return out;
  }
  Sums sums() {
    Sums out;
    int last = -1;
    for (std::uint8_t left = byte(); left > 0 && good_; --left) {
      const std::uint8_t bucket = byte();
      const std::int64_t ns = integer();
      if (bucket >= kBuckets || bucket <= last || ns == 0) {
        fail();
        break;
      }
      out.ns[bucket] = ns;
      last = bucket;
    }
    return out;
  }
  [[nodiscard]] bool good() const { return good_; }
  [[nodiscard]] bool at_end() const { return at_ == bytes_.size(); }
  std::uint8_t fail() {
    good_ = false;
    at_ = bytes_.size();
    return 0;
  }

 private:
  std::span<const std::byte> bytes_;
  std::size_t at_ = 0;
  bool good_ = true;
};

enum Flags : std::uint8_t {
  has_start = 1,
  has_failure = 2,
  is_recovery = 4,
  is_recovered = 8,
  has_cache = 16,  // from version 2 on
};
enum CacheFlags : std::uint8_t { is_asked = 1, is_unpacked = 2 };

void write_start(Writer& out, const Start& start) {
  out.integer(start.from_ns);
  out.integer(start.trained_ns);
  out.sums(start.parts);
  out.integer(start.outside_ns);
}

Start read_start(Reader& in, bool recovery) {
  Start start;
  start.from_ns = in.integer();
  start.trained_ns = in.integer();
  start.recovery = recovery;
  start.parts = in.sums();
  start.outside_ns = in.integer();
  return start;
}

void write_failure(Writer& out, const FailureFact& failure) {
  out.integer(failure.t_ns);
  out.byte(static_cast<std::uint8_t>(failure.origin));
  out.text(failure.category);
  out.text(failure.host);
  out.integer(failure.lost_ns);
  out.integer(failure.unsaved_ns);
  if (failure.time_to_recover_ns) out.integer(*failure.time_to_recover_ns);
}

FailureFact read_failure(Reader& in, bool recovered) {
  FailureFact failure;
  failure.t_ns = in.integer();
  const std::uint8_t origin = in.byte();
  if (origin < 1 || origin > 4) in.fail();
  failure.origin = static_cast<Origin>(origin);
  failure.category = in.text();
  failure.host = in.text();
  failure.lost_ns = in.integer();
  failure.unsaved_ns = in.integer();
  if (recovered) failure.time_to_recover_ns = in.integer();
  return failure;
}

void write_cache(Writer& out, const CacheFact& cache) {
  out.byte(
      static_cast<std::uint8_t>((cache.asked ? is_asked : 0) | (cache.unpacked ? is_unpacked : 0)));
  out.number(cache.hits);
  out.number(cache.misses);
  out.number(cache.bypasses);
  out.integer(cache.original_ns);
  out.integer(cache.spent_ns);
}

CacheFact read_cache(Reader& in) {
  CacheFact cache;
  const std::uint8_t flags = in.byte();
  if (flags > (is_asked | is_unpacked)) in.fail();
  cache.asked = flags & is_asked;
  cache.unpacked = flags & is_unpacked;
  cache.hits = static_cast<std::uint32_t>(in.number_up_to(UINT32_MAX));
  cache.misses = static_cast<std::uint32_t>(in.number_up_to(UINT32_MAX));
  cache.bypasses = static_cast<std::uint32_t>(in.number_up_to(UINT32_MAX));
  cache.original_ns = in.integer();
  cache.spent_ns = in.integer();
  return cache;
}

std::vector<Slice> read_slices(Reader& in) {
  std::vector<Slice> out;
  for (std::uint64_t left = in.number_up_to(AttemptFacts::slices_max); left > 0 && in.good();
       --left) {
    Slice slice;
    const std::int64_t day = in.integer();
    if (day < INT32_MIN || day > INT32_MAX || (!out.empty() && day <= out.back().day)) in.fail();
    slice.day = static_cast<std::int32_t>(day);
    slice.sums = in.sums();
    slice.failure_ns = in.integer();
    slice.queued_ns = in.integer();
    slice.saves = static_cast<std::uint32_t>(in.number_up_to(UINT32_MAX));
    out.push_back(slice);
  }
  return out;
}

}  // namespace

std::vector<std::byte> to_bytes(const AttemptFacts& facts) {
  Writer out;
  out.byte(facts.cache ? kFactVersion : 1);
  int flags = facts.cache ? has_cache : 0;
  if (facts.start) flags |= has_start | (facts.start->recovery ? is_recovery : 0);
  if (facts.failure) flags |= has_failure | (facts.failure->time_to_recover_ns ? is_recovered : 0);
  out.byte(static_cast<std::uint8_t>(flags));
  out.integer(facts.attempt);
  for (const std::string& value : facts.dimensions) out.text(value);
  out.number(facts.devices);
  out.texts(facts.levers);
  out.texts(facts.hosts);
  out.integer(facts.begin_ns);
  out.integer(facts.end_ns);
  out.byte(static_cast<std::uint8_t>(facts.ending));
  out.number(facts.slices.size());
  for (const Slice& slice : facts.slices) {
    out.integer(slice.day);
    out.sums(slice.sums);
    out.integer(slice.failure_ns);
    out.integer(slice.queued_ns);
    out.number(slice.saves);
  }
  if (facts.start) write_start(out, *facts.start);
  if (facts.failure) write_failure(out, *facts.failure);
  if (facts.cache) write_cache(out, *facts.cache);
  return out.take();
}

Result<AttemptFacts> facts_from_bytes(std::span<const std::byte> bytes, const std::string& what) {
  Reader in(bytes);
  const std::uint8_t version = in.byte();
  if (in.good() && version > kFactVersion) {
    return Status(base::Code::unsupported,
                  fmt::format("{}: facts of version {}; this build knows up to {}, install a newer "
                              "Headway",
                              what, version, kFactVersion));
  }
  if (version == 0) in.fail();
  const std::uint8_t flags = in.byte();
  AttemptFacts facts;
  facts.attempt = in.integer();
  for (std::string& value : facts.dimensions) value = in.text();
  facts.devices = static_cast<std::uint32_t>(in.number_up_to(UINT32_MAX));
  facts.levers = in.texts(AttemptFacts::levers_max);
  facts.hosts = in.texts(AttemptFacts::hosts_max);
  facts.begin_ns = in.integer();
  facts.end_ns = in.integer();
  const std::uint8_t ending = in.byte();
  if (ending > static_cast<std::uint8_t>(Ending::failed)) in.fail();
  facts.ending = static_cast<Ending>(ending);
  facts.slices = read_slices(in);
  if (flags & has_start) facts.start = read_start(in, flags & is_recovery);
  if (flags & has_failure) facts.failure = read_failure(in, flags & is_recovered);
  if (flags & has_cache) facts.cache = read_cache(in);
  const bool odd = flags > 31 || (version == 1) == ((flags & has_cache) != 0) ||
                   (!(flags & has_start) && (flags & is_recovery)) ||
                   (!(flags & has_failure) && (flags & is_recovered));
  if (!in.good() || !in.at_end() || odd || facts.slices.empty() || facts.devices == 0) {
    return Status::corrupt(what + ": facts of an attempt that make no sense");
  }
  return facts;
}

}  // namespace headway::fleet
