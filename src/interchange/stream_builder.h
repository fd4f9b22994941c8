// Collects lines, from one file or many, into the streams of their jobs. Holds 32 bytes a line; the
// streams it makes share that memory and can be opened any number of times. One thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/status.h"
#include "event/stream.h"
#include "interchange/line.h"

namespace headway::interchange {

inline constexpr std::uint64_t kLinesMax = 64'000'000;  // 2 GB of memory
inline constexpr std::size_t kStreamsMax = 1 << 20;
inline constexpr std::size_t kJobsMax = 1 << 16;
inline constexpr std::int64_t kDefaultAttempt = 1;  // the first launch

class StreamBuilder {
 public:
  StreamBuilder();
  ~StreamBuilder();
  StreamBuilder(const StreamBuilder&) = delete;
  StreamBuilder& operator=(const StreamBuilder&) = delete;

  // `origin` names the file for messages. Fails only at one of the limits above.
  base::Status add(const Line& line, std::string_view origin);

  // Lines without a job belong to the only job that is named (also counting `other_jobs`), or, when
  // none is, to `default_job`. Sorted by job name. The builder is empty afterwards.
  base::Result<std::vector<event::JobStreams>> finish(std::string_view default_job,
                                                      const std::vector<std::string>& other_jobs);

  [[nodiscard]] std::uint64_t lines() const { return lines_; }

 private:
  struct Part;
  struct Job;
  Job* job_of(std::string_view name);
  Part* part_of(Job& job, std::int64_t attempt, std::uint32_t rank);
  base::Status name_the_nameless(std::string_view default_job,
                                 const std::vector<std::string>& other_jobs);
  static event::JobStreams make_streams(Job& job);

  std::map<std::string, std::unique_ptr<Job>, std::less<>> jobs_;
  Job* last_job_ = nullptr;
  Part* last_part_ = nullptr;
  std::uint64_t lines_ = 0;
  std::size_t parts_ = 0;
};

}  // namespace headway::interchange
