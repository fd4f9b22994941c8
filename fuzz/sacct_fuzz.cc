// Any bytes as sacct's output, then into events; and as the other foreign formats.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "interchange/import.h"
#include "interchange/ml_goodput.h"
#include "interchange/sacct.h"
#include "interchange/sacct_events.h"
#include "interchange/torchrun_error.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace headway::interchange;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const bool skip_bad : {false, true}) {
    StreamBuilder builder;
    if (auto table = parse_sacct(text, {.zone = Zone::utc, .skip_bad = skip_bad}); table.ok()) {
      SacctMapping mapping;
      mapping.known_attempts = {1, 2, 65537};
      (void)add_sacct(*table, mapping, "fuzz", builder);
    }
    if (auto log = parse_goodput(text, skip_bad); log.ok()) {
      (void)add_goodput(*log, "fuzz", "fuzz", builder);
    }
    (void)builder.finish("fuzz", {});
  }
  (void)parse_torchrun_error(text);
  (void)place_of_error_file(text);
  (void)detect_format(text);
  return 0;
}
