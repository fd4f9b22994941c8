#include "interchange/sacct.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <ctime>

#include "interchange/decimal_time.h"

namespace headway::interchange {
namespace {

using base::Result;
using base::Status;

constexpr std::int64_t kNsPerSecond = 1'000'000'000;
constexpr std::size_t kNotesMax = 5;

enum Field : std::uint8_t {
  f_job_id,
  f_job_name,
  f_state,
  f_submit,
  f_eligible,
  f_start,
  f_end,
  f_exit_code,
  f_restarts,
  f_node_list,
  f_reason,
  f_count
};
constexpr std::array<std::string_view, f_count> kFields = {
    "jobid", "jobname",  "state",    "submit",   "eligible", "start",
    "end",   "exitcode", "restarts", "nodelist", "reason"};

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

std::vector<std::string_view> split(std::string_view text, char by) {
  std::vector<std::string_view> parts;
  for (std::size_t from = 0;;) {
    const std::size_t at = text.find(by, from);
    parts.push_back(text.substr(from, at - from));
    if (at == std::string_view::npos || parts.size() > kSacctFieldsMax) return parts;
    from = at + 1;
  }
}

std::optional<int> whole_int(std::string_view text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// Two or four digits at `at`; -1 when they are not.
int digits(std::string_view text, std::size_t at, std::size_t count) {
  if (at + count > text.size()) return -1;
  int value = 0;
  for (std::size_t i = at; i < at + count; ++i) {
    if (text[i] < '0' || text[i] > '9') return -1;
    value = value * 10 + (text[i] - '0');
  }
  return value;
}

// Days since 1970-01-01 in the Gregorian calendar.
std::int64_t days_from_civil(std::int64_t y, int m, int d) {
  y -= m <= 2 ? 1 : 0;
  const std::int64_t era = (y >= 0 ? y : y - 399) / 400;
  const std::int64_t yoe = y - era * 400;
  const std::int64_t doy = (153 * (m + (m > 2 ? -3 : 9)) + 2) / 5 + d - 1;
  const std::int64_t doe = yoe * 365 + yoe / 4 - yoe / 100 + doy;
  return era * 146097 + doe - 719468;
}

bool is_real_date(int year, int month, int day) {
  constexpr std::array<int, 12> kDays = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  if (month < 1 || month > 12 || day < 1) return false;
  const bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
  return day <= kDays[static_cast<std::size_t>(month - 1)] + (month == 2 && leap ? 1 : 0);
}

// "", "Z", "+02:00" or "-0700" after the seconds. The offset in seconds, nullopt when it is none.
std::optional<std::int64_t> offset_seconds(std::string_view text) {
  if (text == "Z") return 0;
  if (text.size() < 5 || (text[0] != '+' && text[0] != '-')) return std::nullopt;
  const bool colon = text.size() == 6 && text[3] == ':';
  if (!colon && text.size() != 5) return std::nullopt;
  const int hours = digits(text, 1, 2);
  const int minutes = digits(text, colon ? 4 : 3, 2);
  if (hours < 0 || hours > 14 || minutes < 0 || minutes > 59) return std::nullopt;
  const std::int64_t seconds = hours * 3600 + minutes * 60;
  return text[0] == '-' ? -seconds : seconds;
}

bool is_no_time(std::string_view text) {
  return text.empty() || text == "Unknown" || text == "None" || text == "N/A";
}

struct Columns {
  std::array<int, f_count> at{};
  std::size_t count = 0;
};

Result<Columns> parse_header(std::string_view line) {
  Columns columns;
  columns.at.fill(-1);
  const auto names = split(line, '|');
  columns.count = names.size();
  if (names.size() > kSacctFieldsMax) return Status::invalid("line 1: too many fields");
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::string name = lower(names[i]);
    for (std::size_t f = 0; f < f_count; ++f) {
      if (name == kFields[f] && columns.at[f] < 0) columns.at[f] = static_cast<int>(i);
    }
  }
  for (const Field needed : {f_job_id, f_state, f_start}) {
    if (columns.at[needed] < 0) {
      return Status::invalid(
          "line 1: not the header of `sacct --parsable2`: it needs the fields JobID, State and "
          "Start (do not use --noheader)");
    }
  }
  return columns;
}

Status bad(std::uint64_t line, std::string_view what) {
  return Status::invalid(fmt::format("line {}: {}", line, what));
}

struct RowParser {
  const Columns& columns;
  const SacctOptions& options;
  const std::vector<std::string_view>& parts;
  std::uint64_t line;

  [[nodiscard]] std::string_view text(Field field) const {
    return columns.at[field] < 0 ? std::string_view{}
                                 : parts[static_cast<std::size_t>(columns.at[field])];
  }

  Status time(Field field, std::optional<std::int64_t>& out) const {
    if (is_no_time(text(field))) return {};
    out = parse_slurm_time(text(field), options.zone);
    if (out) return {};
    return bad(line, fmt::format("{} \"{}\" is not a time such as 2026-04-16T09:30:00",
                                 kFields[field], text(field)));
  }

  Status run(SacctRow& row) const {
    row.line = line;
    row.job_id = text(f_job_id);
    row.job_name = text(f_job_name);
    row.node_list = text(f_node_list);
    row.reason = text(f_reason);
    const auto words = split(text(f_state), ' ');
    row.state = words.front();
    if (row.state.ends_with('+')) row.state.pop_back();  // "CANCELLED+": cut by sacct
    if (words.size() == 3 && words[1] == "by") row.cancelled_by = words[2];
    if (row.state.empty()) return bad(line, "State is empty");
    for (const auto& [field, out] : {std::pair{f_submit, &row.submit_ns},
                                     {f_eligible, &row.eligible_ns},
                                     {f_start, &row.start_ns},
                                     {f_end, &row.end_ns}}) {
      if (Status status = time(field, *out); !status.ok()) return status;
    }
    if (row.start_ns && row.end_ns && *row.end_ns < *row.start_ns) {
      return bad(line, "End is before Start");
    }
    if (!text(f_restarts).empty()) {
      row.restarts = whole_int(text(f_restarts));
      if (!row.restarts || *row.restarts < 0) return bad(line, "Restarts is not a count");
    }
    if (text(f_exit_code).empty()) return {};
    const auto codes = split(text(f_exit_code), ':');
    const auto code = whole_int(codes.front());
    const auto signal = codes.size() == 2 ? whole_int(codes[1]) : std::optional<int>(0);
    if (!code || !signal || codes.size() > 2) return bad(line, "ExitCode is not CODE:SIGNAL");
    row.exit_code = *code;
    row.signal = *signal;
    return {};
  }
};

// Digits, then parts of an array or of a heterogeneous job: 123, 12_3, 12_[4-9], 12+1.
bool is_job_id(std::string_view id) {
  constexpr std::size_t kIdBytesMax = 100;
  return !id.empty() && id.size() <= kIdBytesMax && id[0] >= '0' && id[0] <= '9' &&
         id.find_first_not_of("0123456789_+[]-,%") == std::string_view::npos;
}

}  // namespace

std::optional<std::int64_t> parse_slurm_time(std::string_view text, Zone zone) {
  if (text.find_first_not_of("0123456789") == std::string_view::npos) {
    return seconds_text_to_ns(text);
  }
  constexpr std::size_t kPlainBytes = 19;  // 2026-04-16T09:30:00
  if (text.size() < kPlainBytes || text[4] != '-' || text[7] != '-' ||
      (text[10] != 'T' && text[10] != ' ') || text[13] != ':' || text[16] != ':') {
    return std::nullopt;
  }
  const int year = digits(text, 0, 4), month = digits(text, 5, 2), day = digits(text, 8, 2);
  const int hour = digits(text, 11, 2), minute = digits(text, 14, 2), second = digits(text, 17, 2);
  if (year < 1970 || year > 2115 || !is_real_date(year, month, day)) return std::nullopt;
  if (hour < 0 || hour > 23 || minute < 0 || minute > 59 || second < 0 || second > 60) {
    return std::nullopt;
  }
  const std::int64_t utc =
      days_from_civil(year, month, day) * 86400 + hour * 3600 + minute * 60 + second;
  if (const std::string_view rest = text.substr(kPlainBytes); !rest.empty()) {
    const auto offset = offset_seconds(rest);
    if (!offset) return std::nullopt;
    return (utc - *offset) * kNsPerSecond;
  }
  if (zone == Zone::utc) return utc * kNsPerSecond;
  std::tm tm{};
  tm.tm_year = year - 1900;
  tm.tm_mon = month - 1;
  tm.tm_mday = day;
  tm.tm_hour = hour;
  tm.tm_min = minute;
  tm.tm_sec = second;
  tm.tm_isdst = -1;
  const std::time_t local = std::mktime(&tm);
  if (local == static_cast<std::time_t>(-1)) return std::nullopt;
  return static_cast<std::int64_t>(local) * kNsPerSecond;
}

Result<SacctTable> parse_sacct(std::string_view text, const SacctOptions& options) {
  SacctTable table;
  std::optional<Columns> columns;
  std::uint64_t number = 0;
  for (std::size_t from = 0; from < text.size();) {
    const std::size_t at = std::min(text.find('\n', from), text.size());
    std::string_view line = text.substr(from, at - from);
    from = at + 1;
    ++number;
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty()) continue;
    if (!columns) {
      auto header = parse_header(line);
      if (!header.ok()) return header.status();
      columns = *header;
      continue;
    }
    const auto parts = split(line, '|');
    SacctRow row;
    Status status;
    if (parts.size() != columns->count) {
      status = bad(number, fmt::format("{} fields where the header has {} (a '|' inside a name?)",
                                       parts.size(), columns->count));
    } else {
      const std::string_view id = parts[static_cast<std::size_t>(columns->at[f_job_id])];
      if (is_job_id(id.substr(0, id.find('.'))) && id.find('.') != std::string_view::npos) {
        ++table.step_rows;
        continue;
      }
      status = is_job_id(id) ? RowParser{*columns, options, parts, number}.run(row)
                             : bad(number, fmt::format("JobID \"{}\" is not one", id));
    }
    if (!status.ok()) {
      if (!options.skip_bad) return status;
      ++table.bad_rows;
      if (table.notes.size() < kNotesMax) table.notes.push_back(status.message());
      continue;
    }
    if (table.rows.size() >= kSacctRowsMax) return bad(number, "too many rows: split the input");
    table.rows.push_back(std::move(row));
  }
  if (!columns) return Status::invalid("line 1: the header of `sacct --parsable2` is missing");
  return table;
}

}  // namespace headway::interchange
