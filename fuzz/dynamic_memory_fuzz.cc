// Any bytes as what --auto-dynamic has learnt: an error, or something that is written and read
// again as it is.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "compile/dynamic_memory.h"

using namespace headway;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  auto read = compile::read_memory(std::string_view(reinterpret_cast<const char*>(data), size));
  if (!read.ok()) return 0;
  HW_CHECK(read->sources.size() <= compile::kMemorySourcesMax);
  HW_CHECK(read->records.size() <= compile::kMemoryRecordsMax);
  const std::string text = compile::write_memory(*read);
  auto again = compile::read_memory(text);
  HW_CHECK(again.ok());
  HW_CHECK(compile::write_memory(*again) == text);
  HW_CHECK(read->setting().size() <= compile::kSettingBytesMax);
  for (const compile::TrialRecord& record : read->records) {
    (void)compile::judge_trial(read->records, record.setup);
  }
  return 0;
}
