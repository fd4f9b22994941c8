// Any bytes as LATEST or as an ANCHOR of a folder of checkpoints, and as a checkpoint's name: what
// is accepted leads to a checkpoint of this folder and nowhere else; a note is one line; neither
// changes what the folder's newest one is.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "base/sim_file_system.h"
#include "checkpoint/anchor.h"
#include "checkpoint/folder.h"
#include "checkpoint/look.h"

namespace {

using namespace headway;

const std::string kFolder = "/ck";

checkpoint::CheckpointName save(base::FileSystem& files) {
  checkpoint::CheckpointFolder folder(files, kFolder);
  checkpoint::Manifest facts;
  facts.step = 7;
  auto draft = checkpoint::Draft::begin(folder, facts);
  HW_CHECK(draft.ok());
  auto name = (*draft)->commit();
  HW_CHECK(name.ok());
  return *name;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto name = checkpoint::CheckpointName::parse(text)) {
    HW_CHECK(name->text() == text && text.find('/') == std::string_view::npos);
  }
  base::SimFileSystem files;
  const std::string newest = kFolder + "/" + save(files).text();
  HW_CHECK(base::replace_file(files, kFolder + "/LATEST", base::bytes_of(text)).ok());
  HW_CHECK(base::replace_file(files, newest + "/ANCHOR", base::bytes_of(text)).ok());
  std::vector<std::string> passed;
  const auto found = checkpoint::find_checkpoint(files, kFolder + "/LATEST", passed);
  if (found.ok()) {
    HW_CHECK(base::folder_of(found.value()) == kFolder);
    HW_CHECK(checkpoint::CheckpointName::parse(checkpoint::last_name_of(found.value())));
  }
  HW_CHECK(checkpoint::find_checkpoint(files, kFolder, passed).value() == newest);
  HW_CHECK(checkpoint::is_anchor(files, newest));
  const std::string note = checkpoint::anchor_note(files, newest);
  HW_CHECK(note.size() <= checkpoint::anchor_note_bytes_max + 1);
  HW_CHECK(note.find('\n') == std::string::npos);
  return 0;
}
