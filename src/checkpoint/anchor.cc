#include "checkpoint/anchor.h"

#include <fmt/format.h>

namespace headway::checkpoint {
namespace {

std::string place_of(const std::string& checkpoint) {
  return fmt::format("{}/{}", checkpoint, anchor_name);
}

}  // namespace

base::Status set_anchor(base::FileSystem& files, const std::string& checkpoint,
                        const std::string& note) {
  if (note.size() > anchor_note_bytes_max || note.find('\n') != std::string::npos) {
    return base::Status::invalid(
        fmt::format("the note of an anchor: one line of at most {} bytes", anchor_note_bytes_max));
  }
  return base::replace_file(files, place_of(checkpoint), base::bytes_of(note + "\n"));
}

base::Status remove_anchor(base::FileSystem& files, const std::string& checkpoint) {
  const base::Status status = files.remove_file(place_of(checkpoint));
  if (!status.ok() && status.code() != base::Code::not_found) return status;
  return files.sync_folder(checkpoint);
}

bool is_anchor(base::FileSystem& files, const std::string& checkpoint) {
  const auto file = files.open(place_of(checkpoint));
  return file.ok() || file.status().code() != base::Code::not_found;
}

std::string anchor_note(base::FileSystem& files, const std::string& checkpoint) {
  auto text = base::read_all(files, place_of(checkpoint), anchor_note_bytes_max + 1);
  return text.ok() ? text->substr(0, text->find('\n')) : std::string();
}

}  // namespace headway::checkpoint
