// What is kept of torch's cache directory, and where each kind lies in it: the one place that knows
// the layout of TORCHINDUCTOR_CACHE_DIR. A path that fits no kind is neither packed nor unpacked.
// Pure.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/hash.h"
#include "base/status.h"

namespace headway::cache {

// The numbers are those of the archive's bytes: they never change their meaning.
enum class Kind : std::uint8_t {
  inductor = 1,      // fxgraph/ab/<key>/<hash of the content>
  aot_autograd = 2,  // aotautograd/<key>/<hash of the content>
  source = 3,        // ab/<name>: generated Python, C++, …
  library = 4,       // ab/<name>.so
  autotune = 5,      // ab/<name>.best_config
  pgo = 6,           // dynamo/code_state_<job>_<rank>_<tag>.pkl
  precompile = 7,    // dynamo/<key>/entry
  triton = 8,        // triton/<device>/<key>/<name>
  selection = 9,     // cache/<hash>: which kernel of several
  blob = 10,         // mega/<digest>/…: of an archive only, no file of the directory (mega.h)
};
inline constexpr std::array all_kinds = {
    Kind::inductor, Kind::aot_autograd, Kind::source, Kind::library,   Kind::autotune,
    Kind::pgo,      Kind::precompile,   Kind::triton, Kind::selection, Kind::blob};

[[nodiscard]] std::string_view name_of(Kind kind);
[[nodiscard]] std::optional<Kind> kind_of_number(std::uint8_t number);

// Which kind a file at this path is; none: not one that belongs into an archive, be it that the
// path leads outside, names something hidden, a lock or a temporary file, or is of no known place.
[[nodiscard]] std::optional<Kind> kind_of_path(std::string_view path);

// Does it become a file of the cache directory?
[[nodiscard]] inline bool is_file_kind(Kind kind) {
  return kind != Kind::blob;
}

// The folders of a cache directory that may hold entries: a file elsewhere is not looked for.
[[nodiscard]] bool is_cache_folder(std::string_view name);

// Where torch finds entries by listing a folder, and names each by its content: two that differ
// never have the same path, and one that has another content is damaged.
[[nodiscard]] bool is_named_by_content(Kind kind);
// The name that torch gives such a file: the first 51 digits of its digest in base 32.
[[nodiscard]] std::string content_name(const base::Sha256& digest);

}  // namespace headway::cache
