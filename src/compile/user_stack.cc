#include "compile/user_stack.h"

#include <algorithm>
#include <charconv>

#include "compile/compile_log.h"

namespace headway::compile {

void FileNames::add(const dom::element& pair) {
  std::string_view name;
  std::int64_t number = 0;
  if (pair.at(0).get_string().get(name) || pair.at(1).get_int64().get(number)) return;
  if (names_.size() < kNamesMax) names_[number] = base::cut_text(name, kNameBytesMax);
}

std::string FileNames::of(const dom::element& frame) const {
  if (std::string name = dom::text(frame, "filename", kNameBytesMax); !name.empty()) return name;
  const auto found = names_.find(dom::number(frame, "filename", -1));
  return found == names_.end() ? std::string() : found->second;
}

std::uint32_t add_frames(StackTrie& stacks, const FileNames& files,
                         const simdjson::simdjson_result<dom::element>& frames) {
  std::uint32_t at = 0;
  dom::array list;
  if (frames.get_array().get(list)) return at;
  for (const dom::element frame : list) {
    at = stacks.child(at, files.of(frame), dom::text(frame, "name", kNameBytesMax),
                      dom::number(frame, "line"));
  }
  return at;
}

std::uint32_t add_traceback(StackTrie& stacks, std::string_view text) {
  constexpr std::string_view kBegin = "\nUser code traceback:\n";
  constexpr std::string_view kFile = "  File \"", kLine = "\", line ", kIn = ", in ";
  std::uint32_t at = 0;
  const std::size_t begin = text.find(kBegin);
  if (begin == std::string_view::npos) return at;
  text.remove_prefix(begin + kBegin.size());
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    if (line.starts_with("Traceback ")) break;  // of torch's own exception
    const std::size_t number_at = line.rfind(kLine);
    if (!line.starts_with(kFile) || number_at == std::string_view::npos) continue;
    const std::string_view rest = line.substr(number_at + kLine.size());
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), number);
    const std::string_view name = rest.substr(static_cast<std::size_t>(end - rest.data()));
    if (error != std::errc() || !name.starts_with(kIn)) continue;
    const std::string_view file = line.substr(kFile.size(), number_at - kFile.size());
    at = stacks.child(at, base::cut_text(file, kNameBytesMax),
                      base::cut_text(name.substr(kIn.size()), kNameBytesMax), number);
  }
  return at;
}

}  // namespace headway::compile
