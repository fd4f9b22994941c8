// For tests/spark: jobs of the made-up fleet as journals in files, as agents leave them.
//
//   write_fleet ROOT SEED JOBS HUGE
//
// JOBS jobs over ninety days; every 16th has HUGE times as many steps: a fleet has many small jobs
// and a few huge ones. Prints how many journals and bytes it wrote.
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/job_path.h"
#include "demo/told_job.h"
#include "event/record.h"

namespace {

using namespace headway;

constexpr std::int64_t kNow = 1'795'000'000'000'000'000;
constexpr std::size_t kHugeEvery = 16;

std::string file_of(const demo::JournalMaker& journal) {
  const std::vector<event::Record>& records = journal.records();
  std::string bytes(event::kHeaderBytes + records.size() * sizeof(event::Record), '\0');
  std::memcpy(bytes.data(), &journal.header(), sizeof(event::HeaderFields));
  event::LiveFields live{};
  live.cursor = records.size() | event::kSealedBit;
  live.limit = records.size();
  live.closed = 1;
  std::memcpy(bytes.data() + event::kLiveOffset, &live, sizeof live);
  std::memcpy(bytes.data() + event::kHeaderBytes, records.data(),
              records.size() * sizeof(event::Record));
  return bytes;
}

int fail(const base::Status& status) {
  std::fprintf(stderr, "write_fleet: %s\n", status.message().c_str());
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) {
    std::fprintf(stderr, "usage: write_fleet ROOT SEED JOBS HUGE\n");
    return 2;
  }
  const std::string root = argv[1];
  const std::uint64_t seed = std::strtoull(argv[2], nullptr, 10);
  const std::size_t jobs = std::strtoull(argv[3], nullptr, 10);
  const int huge = std::atoi(argv[4]);
  const int per_day = static_cast<int>(2 * jobs / demo::kDays) + 1;
  std::vector<demo::PlannedJob> plans = demo::plan_fleet(seed, kNow, per_day);
  std::size_t written = 0, journals = 0, bytes = 0;
  for (std::size_t i = 0; i < jobs && !plans.empty(); ++i) {
    demo::PlannedJob& plan = plans[i * plans.size() / jobs];
    if (i % kHugeEvery == 0) plan.steps *= huge;
    for (const demo::ToldAttempt& attempt : demo::tell(plan).attempts) {
      const std::string folder = base::attempt_dir(root, plan.name, attempt.id);
      if (const auto status = base::make_dirs(folder); !status.ok()) return fail(status);
      for (const demo::JournalMaker& journal : attempt.journals) {
        const std::string content = file_of(journal);
        const auto status = base::write_file_atomic(folder + "/" + journal.file(), content);
        if (!status.ok()) return fail(status);
        ++journals;
        bytes += content.size();
      }
    }
    ++written;
  }
  fmt::print("{} jobs, {} journals, {} bytes\n", written, journals, bytes);
  return 0;
}
