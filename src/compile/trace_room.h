// How much of a job's logs is held in memory, all of them together: bytes, taken as things are
// kept. An estimate of what the heap gives for them. When it grows tight, details (texts, keys,
// stacks) are left out first, so that every compilation's own row stays as long as it can. One
// thread.
#pragma once

#include <cstddef>

namespace headway::compile {

class TraceRoom {
 public:
  static constexpr std::size_t kBytesMax = std::size_t{80} << 20;

  explicit TraceRoom(std::size_t bytes_max = kBytesMax) : bytes_max_(bytes_max) {}

  // For a compilation. False: there is none left.
  bool take(std::size_t bytes) { return take_up_to(bytes, bytes_max_); }
  // For something of it.
  bool take_detail(std::size_t bytes) { return take_up_to(bytes, details_max()); }
  // Something small, which is kept anyway.
  void hold(std::size_t bytes) { held_ += bytes; }
  // What was taken since held() was `bytes` is not kept any more.
  void give_back_to(std::size_t bytes) { held_ = bytes; }

  [[nodiscard]] bool is_tight() const { return held_ >= details_max(); }
  [[nodiscard]] std::size_t held() const { return held_; }

 private:
  [[nodiscard]] std::size_t details_max() const { return bytes_max_ / 4 * 3; }
  bool take_up_to(std::size_t bytes, std::size_t limit) {
    if (held_ > limit || bytes > limit - held_) return false;
    held_ += bytes;
    return true;
  }

  std::size_t bytes_max_;
  std::size_t held_ = 0;
};

}  // namespace headway::compile
