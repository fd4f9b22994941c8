#include "fleet_columns.h"

#include <fmt/format.h>

#include <bit>
#include <optional>
#include <string>
#include <vector>

#include "fleet/bucket_words.h"

namespace headway::python {
namespace {

namespace nb = nanobind;
using fleet::AttemptFacts;
using Facts = std::span<const AttemptFacts>;
using timeline::Bucket;

static_assert(std::endian::native == std::endian::little, "Arrow's buffers are little-endian");

template <typename T>
nb::bytes bytes_of(const std::vector<T>& values) {
  return nb::bytes(values.data(), values.size() * sizeof(T));
}

nb::list texts_of(const std::vector<std::string>& texts) {
  nb::list out;
  for (const std::string& text : texts) out.append(text_of(text));
  return out;
}

void put(nb::list& columns, std::string_view name, const char* type, nb::object data,
         nb::object valid = nb::none()) {
  columns.append(nb::make_tuple(text_of(name), type, std::move(data), std::move(valid)));
}

// `number` is called with each row: an int64 or an optional one.
template <typename Rows, typename Number>
void add_numbers(nb::list& columns, std::string_view name, const Rows& rows, Number number) {
  std::vector<std::int64_t> values;
  std::vector<std::uint8_t> valid((rows.size() + 7) / 8);
  values.reserve(rows.size());
  for (const auto& row : rows) {
    const std::optional<std::int64_t> value = number(row);
    if (value) valid[values.size() / 8] |= static_cast<std::uint8_t>(1u << (values.size() % 8));
    values.push_back(value.value_or(0));
  }
  put(columns, name, "int64", bytes_of(values), bytes_of(valid));
}

template <typename Rows, typename Object>
void add_objects(nb::list& columns, std::string_view name, const char* type, const Rows& rows,
                 Object object) {
  nb::list values;
  for (const auto& row : rows) values.append(object(row));
  put(columns, name, type, std::move(values));
}

template <typename Rows, typename Sums>
void add_buckets(nb::list& columns, std::string_view before, const Rows& rows, Sums sums) {
  for (std::size_t i = 0; i < timeline::kBuckets; ++i) {
    const auto bucket = static_cast<Bucket>(i);
    add_numbers(columns, fmt::format("{}{}_ns", before, fleet::bucket_word(bucket)), rows,
                [&](const auto& row) -> std::optional<std::int64_t> {
                  const timeline::Sums* all = sums(row);
                  if (all == nullptr) return std::nullopt;
                  return (*all)[bucket];
                });
  }
}

// What a row is grouped by; `facts_of` finds it.
template <typename Rows, typename FactsOf>
void add_identity(nb::list& columns, const Rows& rows, FactsOf facts_of) {
  add_numbers(columns, "attempt", rows, [&](const auto& row) { return facts_of(row).attempt; });
  for (std::size_t i = 0; i < fleet::kDimensions; ++i) {
    add_objects(columns, fleet::dimension_name(static_cast<fleet::Dimension>(i)), "text", rows,
                [&](const auto& row) { return text_of(facts_of(row).dimensions[i]); });
  }
  add_numbers(columns, "devices", rows,
              [&](const auto& row) { return std::int64_t{facts_of(row).devices}; });
}

std::string_view ending_name(fleet::Ending ending) {
  switch (ending) {
    case fleet::Ending::running:
      return "running";
    case fleet::Ending::clean:
      return "clean";
    case fleet::Ending::failed:
      return "failed";
  }
  return "";
}

void add_start(nb::list& columns, Facts facts) {
  using Number = std::optional<std::int64_t>;
  const auto add = [&](std::string_view name, auto number) {
    add_numbers(columns, name, facts, [&](const AttemptFacts& row) -> Number {
      if (!row.start) return std::nullopt;
      return number(*row.start);
    });
  };
  add("start_from_ns", [](const fleet::Start& start) { return start.from_ns; });
  add("start_trained_ns", [](const fleet::Start& start) { return start.trained_ns; });
  add_objects(columns, "start_recovery", "flag", facts, [](const AttemptFacts& row) {
    return row.start ? nb::object(nb::bool_(row.start->recovery)) : nb::none();
  });
  add_buckets(columns, "start_", facts,
              [](const AttemptFacts& row) { return row.start ? &row.start->parts : nullptr; });
  add("start_outside_ns", [](const fleet::Start& start) { return start.outside_ns; });
}

void add_failure(nb::list& columns, Facts facts) {
  using fleet::FailureFact;
  using Number = std::optional<std::int64_t>;
  const auto add = [&](std::string_view name, auto number) {
    add_numbers(columns, name, facts, [&](const AttemptFacts& row) -> Number {
      if (!row.failure) return std::nullopt;
      return number(*row.failure);
    });
  };
  const auto add_text = [&](std::string_view name, auto text) {
    add_objects(columns, name, "text", facts, [&](const AttemptFacts& row) {
      return row.failure ? text_of(text(*row.failure)) : nb::none();
    });
  };
  add("failure_t_ns", [](const FailureFact& failure) { return failure.t_ns; });
  add_text("failure_origin",
           [](const FailureFact& failure) { return fleet::origin_name(failure.origin); });
  add_text("failure_category",
           [](const FailureFact& failure) -> std::string_view { return failure.category; });
  add_text("failure_host",
           [](const FailureFact& failure) -> std::string_view { return failure.host; });
  add("failure_lost_ns", [](const FailureFact& failure) { return failure.lost_ns; });
  add("failure_unsaved_ns", [](const FailureFact& failure) { return failure.unsaved_ns; });
  add("failure_time_to_recover_ns",
      [](const FailureFact& failure) { return failure.time_to_recover_ns; });
}

struct SliceRow {
  std::int64_t row;
  const AttemptFacts* facts;
  const fleet::Slice* slice;
};

}  // namespace

nb::object text_of(std::string_view text) {
  return nb::steal(
      PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace"));
}

nb::list attempt_columns(Facts facts) {
  nb::list columns;
  add_identity(columns, facts, [](const AttemptFacts& row) -> const AttemptFacts& { return row; });
  add_objects(columns, "levers", "texts", facts,
              [](const AttemptFacts& row) { return texts_of(row.levers); });
  add_objects(columns, "hosts", "texts", facts,
              [](const AttemptFacts& row) { return texts_of(row.hosts); });
  add_numbers(columns, "begin_ns", facts, [](const AttemptFacts& row) { return row.begin_ns; });
  add_numbers(columns, "end_ns", facts, [](const AttemptFacts& row) { return row.end_ns; });
  add_objects(columns, "ending", "text", facts,
              [](const AttemptFacts& row) { return text_of(ending_name(row.ending)); });
  add_start(columns, facts);
  add_failure(columns, facts);
  return columns;
}

nb::list slice_columns(Facts facts) {
  std::vector<SliceRow> rows;
  for (std::size_t i = 0; i < facts.size(); ++i) {
    for (const fleet::Slice& slice : facts[i].slices) {
      rows.push_back({static_cast<std::int64_t>(i), &facts[i], &slice});
    }
  }
  nb::list columns;
  add_numbers(columns, "row", rows, [](const SliceRow& row) { return row.row; });
  std::vector<std::int32_t> days;
  for (const SliceRow& row : rows) days.push_back(row.slice->day);
  put(columns, "day", "day", bytes_of(days));
  add_identity(columns, rows,
               [](const SliceRow& row) -> const AttemptFacts& { return *row.facts; });
  add_buckets(columns, "", rows, [](const SliceRow& row) { return &row.slice->sums; });
  add_numbers(columns, "failure_ns", rows,
              [](const SliceRow& row) { return row.slice->failure_ns; });
  add_numbers(columns, "queued_ns", rows, [](const SliceRow& row) { return row.slice->queued_ns; });
  add_numbers(columns, "saves", rows,
              [](const SliceRow& row) { return std::int64_t{row.slice->saves}; });
  return columns;
}

}  // namespace headway::python
