// Foreign files into a job's folder. Whatever the format, the result is one file of JSON lines in
// canonical order, named by its content: importing twice changes nothing. One thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "interchange/sacct.h"
#include "interchange/stream_builder.h"

namespace headway::interchange {

// torch_trace is read by compile/import_trace.h, which stands above this folder.
enum class Format { automatic, jsonl, ml_goodput, sacct, torchrun_error, torch_trace };

inline constexpr std::size_t kForeignBytesMax = std::size_t{1} << 30;

std::optional<Format> format_from_name(std::string_view name);
std::string_view format_name(Format format);

// By its first bytes; nullopt when nothing fits.
std::optional<Format> detect_format(std::string_view head);

// Of a file: `asked` where it is not `automatic`, else by its beginning. A folder can only be one
// of TORCH_TRACE logs.
base::Result<Format> format_of(const std::string& path, Format asked);

struct ImportOptions {
  Format format = Format::automatic;
  std::string root;  // jobs root to write under; empty: base::jobs_root()
  std::string job;
  std::optional<std::int64_t> attempt;  // torchrun-error, torch-trace
  std::optional<std::uint32_t> rank;    // the same
  std::vector<std::string> slurm_job_ids;
  Zone zone = Zone::local;
  bool skip_bad = false;
};

struct ImportedJob {
  std::string job;
  std::string path;
  bool already_there = false;
  std::uint64_t events = 0;
  std::uint64_t duplicates_dropped = 0;
  std::uint64_t attempts = 0;
};

struct ImportSummary {
  std::vector<std::pair<std::string, Format>> files;
  std::vector<ImportedJob> jobs;
  std::uint64_t bad_lines = 0;
  std::uint64_t ignored = 0;  // entries that are recognised and not used
  std::vector<std::string> notes;
};

// What a job has recorded itself, or was imported before; nothing where there is no such job.
[[nodiscard]] std::optional<event::JobStreams> recorded_job(const std::string& root,
                                                            const std::string& job);
// One file of JSON lines in the job's folder, named by its content.
base::Result<ImportedJob> write_imported(const event::JobStreams& job, const std::string& root);

base::Result<ImportSummary> import_files(const std::vector<std::string>& paths,
                                         const ImportOptions& options);

}  // namespace headway::interchange
