// The verbs of `headway ckpt`, one file each, and what they share.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "base/status.h"
#include "checkpoint/load.h"
#include "checkpoint/look.h"
#include "checkpoint/verify.h"
#include "cli/output.h"
#include "cli/page.h"
#include "cli/style.h"

namespace headway::cli {

void add_ckpt_ls(CLI::App& ckpt, int& exit_code);
void add_ckpt_show(CLI::App& ckpt, int& exit_code);
void add_ckpt_verify(CLI::App& ckpt, int& exit_code);
void add_ckpt_diff(CLI::App& ckpt, int& exit_code);
void add_ckpt_prune(CLI::App& ckpt, int& exit_code);
void add_ckpt_anchor(CLI::App& ckpt, int& exit_code);
void add_ckpt_copy(CLI::App& ckpt, int& exit_code);
void add_ckpt_restore(CLI::App& ckpt, int& exit_code);
void add_ckpt_hold(CLI::App& ckpt, int& exit_code);

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
    "no MANIFEST.json: its removal was cut short (prune clears it up), or somebody took the file "
    "away (bring it back)";
[[nodiscard]] Ink state_ink(const checkpoint::Look& look);
[[nodiscard]] Json to_json(const checkpoint::Look& look);
// Without the folder that the reader of the page knows already.
[[nodiscard]] std::string without_prefix(const std::string& text, const std::string& folder);
// "42s", "2m 03s", "3d 04h"; "-" where the time is not one that has been.
[[nodiscard]] std::string age_text(std::int64_t time_ns, std::int64_t now_ns, const Style& style);
// "[4, 8]".
[[nodiscard]] std::string shape_text(const std::vector<std::uint64_t>& shape);

// `headway ckpt show PATH TENSOR`: its exit code.
base::Result<int> show_tensor(const checkpoint::CheckpointReader& reader, const std::string& name,
                              bool json);

}  // namespace headway::cli
