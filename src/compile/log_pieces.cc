#include "compile/log_pieces.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <memory>
#include <optional>

namespace headway::compile {
namespace {

using base::Result;
using base::Status;

constexpr std::string_view kLog = ".log";
constexpr std::size_t kDateDigits = 8;
constexpr std::size_t kDigitsMax = 20;

// What stands behind ".log" in a rotated file's name, as something to sort by: the oldest first.
struct Age {
  bool dated = false;
  std::uint64_t number = 0;
  bool operator<(const Age& other) const {
    if (dated != other.dated) return dated;  // somebody changed over to numbers
    return dated ? number < other.number : number > other.number;
  }
};

// ".3", "-20260101", "-20260101-1530", "-1767225600".
std::optional<Age> age_of(std::string_view ending) {
  if (ending.size() < 2 || (ending.front() != '.' && ending.front() != '-')) return {};
  Age age{.dated = ending.front() == '-'};
  std::string digits;
  for (const char c : ending.substr(1)) {
    if (c == '-' && age.dated && digits.size() == kDateDigits) continue;
    if (c < '0' || c > '9' || digits.size() == kDigitsMax) return {};
    digits += c;
  }
  if (age.dated && digits.size() < kDateDigits) return {};
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), age.number);
  return error == std::errc() && end == digits.data() + digits.size() ? std::optional(age)
                                                                      : std::nullopt;
}

// Where ".log" ends in a rotated file's name; npos: it is none.
std::size_t stem_of(std::string_view path) {
  const std::size_t name = path.rfind('/') + 1;
  const std::size_t at = path.rfind(kLog);
  if (at == std::string_view::npos || at < name) return std::string_view::npos;
  const std::size_t end = at + kLog.size();
  return age_of(path.substr(end)) ? end : std::string_view::npos;
}

}  // namespace

std::string log_of(const std::string& path) {
  const std::size_t end = stem_of(path);
  return end == std::string::npos ? path : path.substr(0, end);
}

Result<std::vector<std::string>> pieces_of(const std::string& log) {
  struct stat info{};
  std::vector<std::string> paths;
  const std::size_t slash = log.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : log.substr(0, slash + 1);
  const std::string_view name = std::string_view(log).substr(slash + 1);
  std::vector<std::pair<Age, std::string>> older;
  if (name.ends_with(kLog)) {
    const std::unique_ptr<DIR, int (*)(DIR*)> handle(::opendir(folder.c_str()), ::closedir);
    while (const dirent* entry = handle ? ::readdir(handle.get()) : nullptr) {
      const std::string_view other = entry->d_name;
      if (!other.starts_with(name)) continue;
      const auto age = age_of(other.substr(name.size()));
      if (age) older.emplace_back(*age, log + std::string(other.substr(name.size())));
    }
  }
  std::erase_if(older, [&](const auto& each) {
    return ::stat(each.second.c_str(), &info) != 0 || !S_ISREG(info.st_mode);
  });
  if (older.size() >= kPiecesMax) {
    return Status::invalid(
        fmt::format("{}: is in more than {} pieces; put them together with cat", log, kPiecesMax));
  }
  std::ranges::stable_sort(older, [](const auto& a, const auto& b) { return a.first < b.first; });
  for (auto& [age, path] : older) paths.push_back(std::move(path));
  if (::stat(log.c_str(), &info) == 0) paths.push_back(log);
  return paths;
}

Result<LogPieces> LogPieces::open(const std::string& log) {
  auto paths = pieces_of(log);
  if (!paths.ok()) return paths.status();
  if (paths->empty()) return base::errno_status(log, "cannot open", ENOENT);
  LogPieces out;
  std::uint64_t begin = 0;
  for (const std::string& path : *paths) {
    base::UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    struct stat info{};
    if (!fd.valid() || ::fstat(fd.get(), &info) != 0) {
      return base::errno_status(path, "cannot open", errno);
    }
    out.pieces_.push_back({std::move(fd), begin});
    begin += static_cast<std::uint64_t>(info.st_size);
  }
  return out;
}

long LogPieces::read(void* into, std::size_t bytes, std::uint64_t at) const {
  std::size_t done = 0;
  for (std::size_t i = 0; i < pieces_.size() && done < bytes; ++i) {
    const std::uint64_t from = at + done;
    const bool is_last = i + 1 == pieces_.size();
    if (from < pieces_[i].begin || (!is_last && from >= pieces_[i + 1].begin)) continue;
    std::size_t part = bytes - done;
    if (!is_last) part = std::min<std::uint64_t>(part, pieces_[i + 1].begin - from);
    const long n = base::pread_full(pieces_[i].fd.get(), static_cast<char*>(into) + done, part,
                                    from - pieces_[i].begin);
    if (n < 0) return n;
    done += static_cast<std::size_t>(n);
    if (static_cast<std::size_t>(n) < part) break;
  }
  return static_cast<long>(done);
}

}  // namespace headway::compile
