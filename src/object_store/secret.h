// Text that must not be seen: a key, a token. It has no text form of its own: what prints it does
// not compile, and the only way to the value has a name that is easy to search for. The memory is
// wiped when it goes.
#pragma once

#include <string>
#include <string_view>
#include <utility>

namespace headway::object_store {

class Secret {
 public:
  Secret() = default;
  explicit Secret(std::string value) : value_(std::move(value)) {}
  Secret(const Secret&) = default;
  Secret& operator=(const Secret& other) {
    if (this != &other) {
      wipe();
      value_ = other.value_;
    }
    return *this;
  }
  Secret(Secret&& other) noexcept : value_(other.value_) { other.wipe(); }
  Secret& operator=(Secret&& other) noexcept {
    if (this != &other) {
      wipe();
      value_ = other.value_;
      other.wipe();
    }
    return *this;
  }
  ~Secret() { wipe(); }

  [[nodiscard]] bool empty() const { return value_.empty(); }
  // For signing only; never for a message.
  [[nodiscard]] const std::string& reveal() const { return value_; }

 private:
  void wipe();
  std::string value_;
};

}  // namespace headway::object_store
