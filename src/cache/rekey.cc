#include "cache/rekey.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "cache/relocate.h"
#include "cache/unpack.h"

namespace headway::cache {
namespace {

using base::Result;
using base::Status;

constexpr std::string_view kLibrary = ".main.so";
constexpr std::string_view kCode = ".main.cpp";
constexpr std::size_t kKeyDigits = 52;

// As Python's str.strip() does with the text of a program.
std::string_view stripped(std::string_view text) {
  constexpr std::string_view blanks = " \t\n\r\f\v";
  const std::size_t begin = text.find_first_not_of(blanks);
  if (begin == std::string_view::npos) return "";
  return text.substr(begin, text.find_last_not_of(blanks) - begin + 1);
}

// What shlex.quote() leaves as it is.
bool needs_no_quotes(std::string_view path) {
  return std::ranges::all_of(path, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("@%+=:,./-_").find(c) != std::string_view::npos;
  });
}

// "ab/cabc….main.so" → "cabc…"; "": not such a path.
std::string key_of(const std::string& path, std::string_view ending) {
  const std::size_t begin = path.find('/') + 1;
  if (!path.ends_with(ending) || path.size() - begin != kKeyDigits + ending.size()) return "";
  return path.substr(begin, kKeyDigits);
}

std::string path_of(const std::string& key, std::string_view ending) {
  return fmt::format("{}/{}{}", key.substr(1, 2), key, ending);
}

struct Pair {
  std::size_t library = 0;
  std::optional<std::size_t> code;  // which of the targets
};

}  // namespace

std::string library_key(std::string_view code, std::string_view command) {
  base::Sha256Stream stream;
  // "None" stands for code that is compiled apart, of which a CPU's kernels have none.
  for (const std::string_view part : {stripped(code), std::string_view("||None "), command}) {
    stream.add(base::bytes_of(part));
  }
  return "c" + content_name(stream.finish());
}

std::optional<std::string> key_elsewhere(std::string_view code, std::string_view key,
                                         std::span<const std::string> commands,
                                         const std::string& from, const std::string& to) {
  if (from.empty() || to.empty() || !needs_no_quotes(from) || !needs_no_quotes(to)) {
    return std::nullopt;
  }
  for (const std::string& command : commands) {
    if (library_key(code, command) != key) continue;
    return library_key(code, replaced(command, from + "/", to + "/"));
  }
  return std::nullopt;
}

Result<Rekeyed> rekey(std::span<const Archive* const> archives, const std::string& environment,
                      std::vector<Target>& targets) {
  std::map<std::string, Pair> pairs;
  std::set<std::string> taken;
  for (std::size_t i = 0; i < targets.size(); ++i) {
    const Binding& binding = archives[targets[i].from.archive]->binding();
    taken.insert(targets[i].path);
    if (binding.environment == environment) continue;
    const std::string key = key_of(targets[i].path, kLibrary);
    if (!key.empty()) pairs[key].library = i;
  }
  // Their C++, by the segment that it lies in: each is unpacked once.
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<std::string>> work;
  for (std::size_t i = 0; i < targets.size(); ++i) {
    const auto pair = pairs.find(key_of(targets[i].path, kCode));
    if (pair == pairs.end()) continue;
    pair->second.code = i;
    const Chosen& from = targets[i].from;
    const Archive& archive = *archives[from.archive];
    work[{from.archive, archive.segment_of(archive.index().entries[from.entry].content)}].push_back(
        pair->first);
  }
  Rekeyed done{.libraries = 0, .missed = pairs.size()};
  SegmentBuffers buffers;
  for (const auto& [where, keys] : work) {
    const Archive& archive = *archives[where.first];
    const Segment& segment = archive.segments()[where.second];
    auto raw = archive.unpack(segment, buffers);
    if (!raw.ok()) return raw.status();
    for (const std::string& key : keys) {
      const Pair& pair = pairs.at(key);
      const Binding& binding = archives[targets[pair.library].from.archive]->binding();
      const auto code = archive.content_in(
          segment, *raw, archive.index().entries[targets[*pair.code].from.entry].content);
      const std::string_view text(reinterpret_cast<const char*>(code.data()), code.size());
      const auto other =
          key_elsewhere(text, key, binding.commands, binding.environment, environment);
      if (!other) continue;
      done.libraries += 1;
      done.missed -= 1;
      for (const auto& [target, ending] :
           {std::pair(pair.library, kLibrary), {*pair.code, kCode}}) {
        std::string path = path_of(*other, ending);
        if (!taken.insert(path).second) continue;
        done.renamed.emplace_back(targets[target].path, path);
        targets[target].path = std::move(path);
      }
    }
  }
  return done;
}

}  // namespace headway::cache
