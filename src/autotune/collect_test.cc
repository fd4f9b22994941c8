#include "autotune/collect.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/file.h"
#include "base/temp_dir.h"
#include "compile/test_log.h"

namespace headway::autotune {
namespace {

using testing::HasSubstr;

const std::string kTuning =
    R"({"key": [1024], "configs_timings": [[{"kwargs": {"B": 1}}, [1, 1, 1]], )"
    R"([{"kwargs": {"B": 2}}, [2, 2, 2]]]})";
const std::string kTarget = R"({"target": {"backend": "cuda", "arch": 80}})";

base::Result<Collected> collect(const std::vector<std::string>& paths,
                                const CollectOptions& options) {
  const auto files = find_tunings(paths);
  if (!files.ok()) return files.status();
  return read_tunings(files.value(), options);
}

class Collect : public testing::Test {
 protected:
  void put(const std::string& name, const std::string& text) {
    const std::string path = dir_.path() + "/" + name;
    ASSERT_TRUE(base::make_dirs(path.substr(0, path.rfind('/'))).ok());
    ASSERT_TRUE(base::write_file_atomic(path, text).ok());
  }
  base::Result<Collected> read(const std::string& hardware = "") {
    return collect({dir_.path()}, {.prune = {}, .hardware = hardware});
  }
  base::TempDir dir_;
};

TEST_F(Collect, HardwareFromTheKernelsBesideIt) {
  put("AAAA/matmul.autotune.json", kTuning);
  put("BBBB/matmul.json", kTarget);
  put("CCCC/other.json", R"({"target": {"backend": "cuda", "arch": 90}})");
  auto found = read();
  ASSERT_TRUE(found.ok()) << found.status().message();
  const auto kernels = found->pruner.finish();
  ASSERT_EQ(kernels.size(), 1u);
  ASSERT_EQ(kernels[0].classes.size(), 1u);
  EXPECT_EQ(kernels[0].classes[0].hardware, "cuda:80");
}

TEST_F(Collect, HardwareThatIsNotCertain) {
  put("AAAA/matmul.autotune.json", kTuning);
  put("BBBB/matmul.json", kTarget);
  put("CCCC/matmul.json", R"({"target": {"backend": "cuda", "arch": 90}})");
  auto found = read();
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(found->counts.unknown_hardware, 1u);
  EXPECT_TRUE(found->pruner.finish()[0].classes.empty());
  auto said = read("cuda:80");
  ASSERT_TRUE(said.ok());
  EXPECT_EQ(said->pruner.finish()[0].classes.size(), 1u);
}

TEST_F(Collect, CopiesCountOnce) {
  put("rank0/AAAA/matmul.autotune.json", kTuning);
  put("rank1/AAAA/matmul.autotune.json", kTuning);
  auto found = read();
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(found->counts.tunings, 1u);
  EXPECT_EQ(found->counts.repeated, 1u);
}

TEST_F(Collect, BadFilesArePassedOver) {
  put("AAAA/matmul.autotune.json", kTuning);
  put("BBBB/torn.autotune.json", kTuning.substr(0, 30));
  put("job/1/autotune-0.jsonl", "{\"v\": 9}\n\nhello\n");
  auto found = read();
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(found->counts.bad, 3u);
  ASSERT_EQ(found->counts.problems.size(), 3u);
  EXPECT_THAT(found->counts.problems[0], HasSubstr("torn.autotune.json: not JSON"));
  EXPECT_THAT(found->counts.problems[1], HasSubstr("autotune-0.jsonl:1: is of version 9"));
  EXPECT_THAT(found->counts.problems[2], HasSubstr("autotune-0.jsonl:3: is not JSON"));
}

TEST_F(Collect, NothingThere) {
  EXPECT_THAT(read().status().message(), HasSubstr("TRITON_CACHE_AUTOTUNING=1"));
  EXPECT_THAT(collect({dir_.path() + "/x"}, {}).status().message(), HasSubstr("cannot open"));
  put("notes.txt", "hello");
  EXPECT_THAT(collect({dir_.path() + "/notes.txt"}, {}).status().message(),
              HasSubstr("not a file that tells of autotuning"));
  put("a.autotune.json", "hello");
  EXPECT_THAT(read().status().message(), HasSubstr("a.autotune.json: not JSON"));
}

TEST_F(Collect, CostsInTraces) {
  const auto event = [](std::string_view name, char phase, double ts, std::string_view args) {
    return fmt::format(R"({{"name": "{}", "ts": {}, "args": {}, "ph": "{}"}})", name, ts, args,
                       phase);
  };
  compile::TestLog log;
  for (const double at : {1e6, 9e6}) {
    log.add("chromium_event", "{}", "0/0", event("mm_template_precompiling", 'B', at, "{}"));
    log.add("chromium_event", "{}", "0/0", event("mm_template_precompiling", 'E', at + 5e5, "{}"));
    log.add("chromium_event", "{}", "0/0", event("mm_template_autotuning", 'B', at + 1e6, "{}"));
    log.add("chromium_event", "{}", "0/0", event("mm_template_autotuning", 'E', at + 3e6, "{}"));
  }
  const std::string_view name = "CachingAutotuner.benchmark_all_configs";
  log.add("chromium_event", "{}", "0/0", event(name, 'B', 20e6, R"({"kernel_name": "k"})"));
  log.add("chromium_event", "{}", "0/0", event(name, 'E', 21e6, R"({"kernel_name": "k"})"));
  log.add("chromium_event", "{}", "0/0", event("entire_frame_compile", 'B', 0, "{}"));
  log.add("chromium_event", "{}", "0/0", event("mm_template_autotuning", 'B', 30e6, "{}"));
  put("trace/dedicated_log_torch_trace_x.log", log.text());
  auto found = read();
  ASSERT_TRUE(found.ok()) << found.status().message();
  ASSERT_EQ(found->traces.size(), 2u);
  EXPECT_EQ(found->traces[0].kernel, "mm");
  EXPECT_EQ(found->traces[0].runs, 2u);
  EXPECT_EQ(found->traces[0].total_us(), 5'000'000);
  EXPECT_EQ(found->traces[1].kernel, "k");
  EXPECT_EQ(found->traces[1].total_us(), 1'000'000);
}

}  // namespace
}  // namespace headway::autotune
