// The buckets of the partition as a fleet speaks of them: one unique word each ("compile_cold",
// where a job's report says "cold" inside the group compile), a label for people, and what to do
// about time that is lost there. Pure data; any thread.
#pragma once

#include <optional>
#include <string_view>

#include "timeline/bucket.h"

namespace headway::fleet {

// "scheduling", …, "compile_cold", "replay", …: a word of the HTTP interface, never changed.
[[nodiscard]] std::string_view bucket_word(timeline::Bucket bucket);
[[nodiscard]] std::optional<timeline::Bucket> bucket_of(std::string_view word);
// "replayed steps": for a person.
[[nodiscard]] std::string_view bucket_label(timeline::Bucket bucket);
// One line: what takes this time back. Empty for effective, which is not lost.
[[nodiscard]] std::string_view bucket_advice(timeline::Bucket bucket);

}  // namespace headway::fleet
