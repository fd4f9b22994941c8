#include "cache/relocate.h"

#include "cache/kind.h"

namespace headway::cache {

std::string replaced(std::string_view text, std::string_view what, std::string_view by) {
  std::string out;
  while (true) {
    const std::size_t at = text.find(what);
    out += text.substr(0, at);
    if (at == std::string_view::npos) return out;
    out += by;
    text.remove_prefix(at + what.size());
  }
}

std::optional<std::string> without_place(std::string_view path, std::string_view content) {
  if (kind_of_path(path) != Kind::triton) return std::nullopt;
  const std::size_t slash = path.rfind('/');
  const std::string_view name = path.substr(slash + 1);
  if (!name.starts_with("__grp__") || !name.ends_with(".json")) return std::nullopt;
  if (content.find(relocation_word) != std::string_view::npos) return std::nullopt;
  // "…/KEY/name": from the quote to the key is the folder, whatever name its owner had for it.
  const std::string_view folder = path.substr(0, slash);
  const std::string key(folder.substr(folder.rfind('/')));
  const std::size_t at = content.find(key + "/");
  if (at == std::string_view::npos) return std::nullopt;
  const std::size_t quote = content.rfind('"', at);
  if (quote == std::string_view::npos || content[quote + 1] != '/') return std::nullopt;
  const std::string_view old = content.substr(quote + 1, at + key.size() - quote - 1);
  return replaced(content, old, relocation_word);
}

std::string with_place(std::string_view folder, std::string_view content) {
  return replaced(content, relocation_word, folder);
}

}  // namespace headway::cache
