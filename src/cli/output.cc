#include "cli/output.h"

#include <unistd.h>

#include <cstdio>

#include "cli/page.h"
#include "cli/verb.h"

namespace headway::cli {

using base::Status;

int fail_cleanly(const Status& status) {
  const Style style = choose_style(probe_output(STDERR_FILENO), ColorWhen::never, {});
  return fail(Status(status.code(), clean(status.message(), style)));
}

int print_out(std::string_view text) {
  const bool written =
      std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0;
  return written ? kExitOk : fail(Status::io("standard output cannot be written"));
}

int print_json(const Json& json) {
  return print_out(json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
}

Style out_style() {
  return choose_style(probe_output(STDOUT_FILENO), ColorWhen::automatic, {});
}

}  // namespace headway::cli
