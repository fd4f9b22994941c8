#include "agent/line_cutter.h"

#include "base/check.h"

namespace headway::agent {

// `line` includes its end.
void LineCutter::emit(std::string_view line, std::string& out) {
  HW_CHECK(!line.empty() || !held_.empty());
  const bool bare_return = held_.empty() && line == "\r";  // a bar that begins with its '\r'
  if (!bare_return) out += prefix_;
  out += held_;
  out += line;
  held_.clear();
}

void LineCutter::hold(std::string_view bytes, std::string& out) {
  while (held_.size() + bytes.size() > line_bytes_max) {
    const std::size_t fits = line_bytes_max - held_.size();
    std::string piece(bytes.substr(0, fits));
    piece += '\n';
    emit(piece, out);
    bytes.remove_prefix(fits);
  }
  held_ += bytes;
  HW_CHECK(held_.size() <= line_bytes_max);
}

void LineCutter::feed(std::string_view bytes, std::string& out) {
  // A '\r' at the end of the last read waited to see whether '\n' follows.
  if (!bytes.empty() && !held_.empty() && held_.back() == '\r') {
    held_.pop_back();
    if (bytes.front() == '\n') {
      emit("\r\n", out);
      bytes.remove_prefix(1);
    } else {
      emit("\r", out);
    }
  }
  while (!bytes.empty()) {
    const std::size_t end = bytes.find_first_of("\r\n");
    if (end == std::string_view::npos) {
      hold(bytes, out);
      return;
    }
    if (bytes[end] == '\r' && end + 1 == bytes.size()) {
      hold(bytes, out);
      return;
    }
    const std::size_t end_bytes = bytes[end] == '\r' && bytes[end + 1] == '\n' ? 2 : 1;
    hold(bytes.substr(0, end), out);
    emit(bytes.substr(end, end_bytes), out);
    bytes.remove_prefix(end + end_bytes);
  }
}

void LineCutter::finish(std::string& out) {
  if (held_.empty()) return;
  emit("\n", out);
}

}  // namespace headway::agent
