#include "regress/component.h"

#include <fmt/format.h>

#include <algorithm>

namespace headway::regress {
namespace {

std::string spaced(std::string word) {
  std::ranges::replace(word, '_', ' ');
  return word;
}

}  // namespace

Law law_of(Kind kind) {
  switch (kind) {
    case Kind::start_often:
    case Kind::recover_often:
      return Law::binomial;
    case Kind::failures:
      return Law::poisson;
    case Kind::start:
    case Kind::recover:
    case Kind::loop:
    case Kind::end:
      break;
  }
  return Law::log_normal;
}

std::string_view kind_word(Kind kind) {
  switch (kind) {
    case Kind::start:
      return "start";
    case Kind::recover:
      return "recover";
    case Kind::loop:
      return "loop";
    case Kind::end:
      return "end";
    case Kind::start_often:
      return "often";
    case Kind::recover_often:
      return "recover_often";
    case Kind::failures:
      break;
  }
  return "failures";
}

std::string bucket_word(timeline::Bucket bucket) {
  const std::string_view name = timeline::bucket_name(bucket);
  switch (bucket) {
    case timeline::Bucket::init_other:
      return "init_other";
    case timeline::Bucket::compile_cold:
    case timeline::Bucket::compile_warm:
      return fmt::format("compile_{}", name);
    case timeline::Bucket::wasted_other:
      return "wasted_other";
    case timeline::Bucket::shutdown_other:
      return "shutdown_other";
    default:
      return std::string(name);
  }
}

std::string component_name(const Component& component) {
  const std::string word = bucket_word(component.bucket);
  switch (component.kind) {
    case Kind::recover:
      return "recover:" + word;
    case Kind::start_often:
      return "often:" + word;
    case Kind::recover_often:
      return "recover_often:" + word;
    case Kind::failures:
      return "failures:" + component.category;
    case Kind::start:
    case Kind::loop:
    case Kind::end:
      break;
  }
  return word;
}

std::string component_label(const Component& component) {
  const std::string word = spaced(bucket_word(component.bucket));
  switch (component.kind) {
    case Kind::start:
      return fmt::format("{} at start", word);
    case Kind::recover:
      return fmt::format("{} at recovery", word);
    case Kind::loop:
      return fmt::format("{}, share of the loop", word);
    case Kind::end:
      return fmt::format("{} at the end", word);
    case Kind::start_often:
      return fmt::format("starts with {}", word);
    case Kind::recover_often:
      return fmt::format("recoveries with {}", word);
    case Kind::failures:
      break;
  }
  return component.category.empty() ? "failures without a category"
                                    : fmt::format("failures by {}", spaced(component.category));
}

std::string_view component_unit(Kind kind) {
  switch (kind) {
    case Kind::start:
    case Kind::recover:
    case Kind::end:
      return "s";
    case Kind::loop:
    case Kind::start_often:
    case Kind::recover_often:
      return "pct";
    case Kind::failures:
      break;
  }
  return "per_1000_device_hours";
}

}  // namespace headway::regress
