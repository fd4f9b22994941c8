// The user's code that torch names in its records, as a list of frames or as a traceback, put into
// a tree of calls (stack_trie.h). For .cc files only: simdjson's header is heavy. One owner, one
// thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

#include "compile/dom.h"
#include "compile/stack_trie.h"

namespace headway::compile {

// Torch numbers the names of files, each before its first use.
class FileNames {
 public:
  static constexpr std::size_t kNamesMax = 100'000;
  void add(const dom::element& pair);  // ["/a/train.py", 7]
  // "/a/train.py", of a frame whose file is a number or a name; "": not known.
  [[nodiscard]] std::string of(const dom::element& frame) const;

 private:
  std::unordered_map<std::int64_t, std::string> names_;
};

// Of `frames`, the innermost last. 0: there is none.
std::uint32_t add_frames(StackTrie& stacks, const FileNames& files,
                         const simdjson::simdjson_result<dom::element>& frames);

// Of the lines `  File "/a/train.py", line 12, in forward` behind "User code traceback:", up to
// another traceback. 0: there is none.
std::uint32_t add_traceback(StackTrie& stacks, std::string_view text);

}  // namespace headway::compile
