// The verbs of `headway ckpt`, one file each, and what they share.
#pragma once

#include <memory>
#include <string>

#include "base/status.h"
#include "checkpoint/load.h"
#include "checkpoint/look.h"
#include "checkpoint/verify.h"
#include "cli/command_line.h"
#include "cli/output.h"
#include "cli/page.h"
#include "cli/style.h"

namespace headway::cli {

void add_ckpt_ls(Verb& ckpt, int& exit_code);
void add_ckpt_show(Verb& ckpt, int& exit_code);
void add_ckpt_verify(Verb& ckpt, int& exit_code);
void add_ckpt_diff(Verb& ckpt, int& exit_code);
void add_ckpt_prune(Verb& ckpt, int& exit_code);
void add_ckpt_anchor(Verb& ckpt, int& exit_code);
void add_ckpt_copy(Verb& ckpt, int& exit_code);
void add_ckpt_restore(Verb& ckpt, int& exit_code);
void add_ckpt_hold(Verb& ckpt, int& exit_code);

// A path that is not on a file system of this machine (s3://…) is for some verbs only
// (ckpt_remote.h).
base::Status check_local(const std::string& path);

// Reads every byte, with a progress bar.
base::Result<checkpoint::VerifyReport> verify_local(const std::string& path);
// The same, and the first thing that is wrong.
base::Status check_deep(const std::string& path);

// "good", "damaged", "unreadable", "unfinished".
[[nodiscard]] std::string_view state_word(const checkpoint::Look& look);
// What an unfinished one is, and what to do about it.
inline constexpr std::string_view unfinished_advice =
    "no MANIFEST.json: somebody took the file away (bring it back, or prune removes the rest), or "
    "an older version's removal was cut short";
[[nodiscard]] Ink state_ink(const checkpoint::Look& look);
[[nodiscard]] Json to_json(const checkpoint::Look& look);
// Without the folder that the reader of the page knows already.
[[nodiscard]] std::string without_prefix(const std::string& text, const std::string& folder);
// "42s", "2m 03s", "3d 04h"; "-" where the time is not one that has been.
[[nodiscard]] std::string age_text(std::int64_t time_ns, std::int64_t now_ns, const Style& style);
// As a report has it: "3", or where a job was started several times "2.1", the first of the second.
[[nodiscard]] std::string attempt_text(std::uint64_t attempt, bool one_run);
// "[4, 8]".
[[nodiscard]] std::string shape_text(const std::vector<std::uint64_t>& shape);

// `headway ckpt show PATH TENSOR`: its exit code.
base::Result<int> show_tensor(const checkpoint::CheckpointReader& reader, const std::string& name,
                              bool json);

}  // namespace headway::cli
