#include "interchange/export_rows.h"

#include <fmt/format.h>

#include <iterator>
#include <optional>
#include <utility>
#include <variant>

#include "fleet/bucket_words.h"
#include "fleet/selection.h"
#include "interchange/json_text.h"

namespace headway::interchange {
namespace {

using fleet::AttemptFacts;

using Texts = std::vector<std::string>;
struct Cell {
  std::string column;
  std::variant<std::monostate, std::int64_t, std::string, Texts> value;
};

// The one place that says which columns there are.
class Row {
 public:
  Row(const TextRule& rule, std::string_view job, const AttemptFacts& facts) : rule_(rule) {
    put("job", std::string(job));
    put("attempt", facts.attempt);
  }

  void what(const AttemptFacts& facts) {
    for (std::size_t i = 0; i < fleet::kDimensions; ++i) {
      const auto name = fleet::dimension_name(static_cast<fleet::Dimension>(i));
      put(std::string(name), shown(name, facts.dimensions[i]));
    }
    put("devices", std::int64_t{facts.devices});
  }

  void account(std::int64_t queued_ns, std::int64_t failure_ns, std::int64_t saves,
               const timeline::Sums& sums) {
    put("wall_ns", sums.total());
    put("queued_ns", queued_ns);
    put("failure_ns", failure_ns);
    put("saves", saves);
    for (std::size_t i = 0; i < timeline::kBuckets; ++i) {
      put(std::string(fleet::bucket_word(static_cast<timeline::Bucket>(i))) + "_ns", sums.ns[i]);
    }
  }

  void life(const AttemptFacts& facts) {
    put("levers", shown(facts.levers));
    put("hosts", shown(facts.hosts));
    put("begin_ns", facts.begin_ns);
    put("end_ns", facts.end_ns);
    put("ending", facts.ending == fleet::Ending::running ? "running"
                  : facts.ending == fleet::Ending::clean ? "clean"
                                                         : "failed");
  }

  void start(const std::optional<fleet::Start>& start) {
    maybe("start_kind", start, [](const auto& s) { return s.recovery ? "recover" : "start"; });
    maybe("start_from_ns", start, [](const auto& s) { return s.from_ns; });
    maybe("start_trained_ns", start, [](const auto& s) { return s.trained_ns; });
    maybe("start_length_ns", start, [](const auto& s) { return s.length_ns(); });
    maybe("start_queued_ns", start, [](const auto& s) { return s.outside_ns; });
  }

  void failure(const std::optional<fleet::FailureFact>& failure) {
    maybe("failure_at_ns", failure, [](const auto& f) { return f.t_ns; });
    maybe("failure_origin", failure,
          [](const auto& f) { return std::string(fleet::origin_name(f.origin)); });
    maybe("failure_category", failure, [&](const auto& f) { return shown({}, f.category); });
    maybe("failure_host", failure, [&](const auto& f) { return shown({}, f.host); });
    maybe("failure_lost_ns", failure, [](const auto& f) { return f.lost_ns; });
    maybe("failure_unsaved_ns", failure, [](const auto& f) { return f.unsaved_ns; });
    put("failure_recovered_ns", {});
    if (failure && failure->time_to_recover_ns) cells_.back().value = *failure->time_to_recover_ns;
  }

  void put(std::string column, decltype(Cell::value) value) {
    cells_.push_back({std::move(column), std::move(value)});
  }
  [[nodiscard]] const std::vector<Cell>& cells() const { return cells_; }

 private:
  template <typename T, typename F>
  void maybe(std::string column, const std::optional<T>& from, F&& value) {
    put(std::move(column), {});
    if (from) cells_.back().value = value(*from);
  }
  [[nodiscard]] std::string shown(std::string_view key, const std::string& text) const {
    return valid_utf8(rule_ ? rule_(key, text) : text);
  }
  [[nodiscard]] Texts shown(const Texts& texts) const {
    Texts out;
    for (const std::string& text : texts) out.push_back(shown({}, text));
    return out;
  }

  const TextRule& rule_;
  std::vector<Cell> cells_;
};

Row attempt_row(const TextRule& rule, std::string_view job, const AttemptFacts& facts) {
  fleet::Slice sum;
  std::int64_t saves = 0;
  for (const fleet::Slice& slice : facts.slices) {
    sum.sums += slice.sums;
    sum.failure_ns += slice.failure_ns;
    sum.queued_ns += slice.queued_ns;
    saves += slice.saves;
  }
  Row row(rule, job, facts);
  row.what(facts);
  row.life(facts);
  row.account(sum.queued_ns, sum.failure_ns, saves, sum.sums);
  row.start(facts.start);
  row.failure(facts.failure);
  return row;
}

Row day_row(const TextRule& rule, std::string_view job, const AttemptFacts& facts,
            const fleet::Slice& slice) {
  Row row(rule, job, facts);
  row.put("day", fleet::day_text(slice.day));
  row.what(facts);
  row.account(slice.queued_ns, slice.failure_ns, slice.saves, slice.sums);
  return row;
}

void append_csv(std::string& out, const std::vector<Cell>& cells) {
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (i > 0) out += ',';
    if (const auto* number = std::get_if<std::int64_t>(&cells[i].value)) {
      fmt::format_to(std::back_inserter(out), "{}", *number);
    } else if (const auto* text = std::get_if<std::string>(&cells[i].value)) {
      append_csv_field(out, *text);
    } else if (const auto* texts = std::get_if<Texts>(&cells[i].value)) {
      append_csv_field(out, fmt::format("{}", fmt::join(*texts, ";")));
    }
  }
  out += "\r\n";
}

void append_jsonl(std::string& out, const std::vector<Cell>& cells) {
  char before = '{';
  for (const Cell& cell : cells) {
    fmt::format_to(std::back_inserter(out), "{}\"{}\":", before, cell.column);
    before = ',';
    if (const auto* number = std::get_if<std::int64_t>(&cell.value)) {
      fmt::format_to(std::back_inserter(out), "{}", *number);
    } else if (const auto* text = std::get_if<std::string>(&cell.value)) {
      append_json_string(out, *text);
    } else if (const auto* texts = std::get_if<Texts>(&cell.value)) {
      out += '[';
      for (const std::string& each : *texts) {
        if (out.back() != '[') out += ',';
        append_json_string(out, each);
      }
      out += ']';
    } else {
      out += "null";
    }
  }
  out += "}\n";
}

}  // namespace

std::vector<std::string> RowWriter::columns(RowKind kind) {
  const TextRule none;
  const AttemptFacts nothing;
  const Row row =
      kind == RowKind::attempts ? attempt_row(none, {}, nothing) : day_row(none, {}, nothing, {});
  std::vector<std::string> out;
  for (const Cell& cell : row.cells()) out.push_back(cell.column);
  return out;
}

RowWriter::RowWriter(OutFile& out, RowKind kind, RowFormat format, TextRule rule)
    : out_(out), kind_(kind), format_(format), rule_(std::move(rule)) {
  if (format_ == RowFormat::csv) {
    out_.buffer() += fmt::format("{}\r\n", fmt::join(columns(kind), ","));
  }
}

void RowWriter::add(std::string_view job, std::span<const AttemptFacts> attempts) {
  const auto write = [&](const Row& row) {
    if (format_ == RowFormat::csv) {
      append_csv(out_.buffer(), row.cells());
    } else {
      append_jsonl(out_.buffer(), row.cells());
    }
    out_.flush_some();
    ++rows_;
  };
  for (const AttemptFacts& facts : attempts) {
    if (kind_ == RowKind::attempts) {
      write(attempt_row(rule_, job, facts));
      continue;
    }
    for (const fleet::Slice& slice : facts.slices) write(day_row(rule_, job, facts, slice));
  }
}

}  // namespace headway::interchange
