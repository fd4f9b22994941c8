// Status and Result<T>: how one module tells another that something went wrong. No exception
// crosses a module. An OK status holds a null pointer and costs nothing.
//
// A message is one line for a person: it names the file or argument, the place in it, and the next
// step. Value types; any thread may use its own copy.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/check.h"

namespace headway::base {

enum class Code : unsigned char {
  ok,
  invalid_input,  // the caller's data or arguments are wrong: exit code 2
  not_found,
  io_error,
  no_space,  // of a disk or a quota
  corrupt,
  unsupported,
  internal,
};

class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Code code, std::string message)
      : rep_(std::make_shared<const Rep>(Rep{code, std::move(message)})) {
    HW_CHECK(code != Code::ok);
  }
  static Status invalid(std::string m) { return {Code::invalid_input, std::move(m)}; }
  static Status not_found(std::string m) { return {Code::not_found, std::move(m)}; }
  static Status io(std::string m) { return {Code::io_error, std::move(m)}; }
  static Status corrupt(std::string m) { return {Code::corrupt, std::move(m)}; }

  [[nodiscard]] bool ok() const { return rep_ == nullptr; }
  [[nodiscard]] Code code() const { return rep_ ? rep_->code : Code::ok; }
  [[nodiscard]] const std::string& message() const {
    static const std::string empty;
    return rep_ ? rep_->message : empty;
  }

 private:
  struct Rep {
    Code code;
    std::string message;
  };
  std::shared_ptr<const Rep> rep_;
};

template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}  // NOLINT(implicit)
  Result(Status status) : status_(std::move(status)) {
    HW_CHECK(!status_.ok());
  }  // NOLINT(implicit)

  [[nodiscard]] bool ok() const { return status_.ok(); }
  [[nodiscard]] const Status& status() const { return status_; }
  T& value() & {
    HW_CHECK(ok());
    return *value_;
  }
  const T& value() const& {
    HW_CHECK(ok());
    return *value_;
  }
  T&& value() && {
    HW_CHECK(ok());
    return *std::move(value_);
  }
  T* operator->() { return &value(); }
  T& operator*() & { return value(); }

 private:
  std::optional<T> value_;
  Status status_;
};

}  // namespace headway::base
