#include "interchange/import.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "interchange/job_input.h"
#include "interchange/test_util.h"

namespace headway::interchange {
namespace {

using testing::HasSubstr;
namespace fs = std::filesystem;

std::size_t files_in(const std::string& dir) {
  std::size_t n = 0;
  for (const auto& entry : fs::directory_iterator(dir)) n += entry.is_regular_file() ? 1 : 0;
  return n;
}

TEST(Import, TellsFormatsApart) {
  EXPECT_EQ(detect_format(R"({"t":1,"type":"mark","name":"exit"})"), Format::jsonl);
  EXPECT_EQ(detect_format(R"({"job_name": "x", "job_start_time": 1.5})"), Format::ml_goodput);
  EXPECT_EQ(detect_format("[{\"job_name\":\"x\"}]"), Format::ml_goodput);
  EXPECT_EQ(detect_format("JobID|State|Start\n1|COMPLETED|1\n"), Format::sacct);
  EXPECT_EQ(detect_format("{\n \"message\": {\"message\": \"x\"}}"), Format::torchrun_error);
  EXPECT_EQ(detect_format("hello"), std::nullopt);
  EXPECT_EQ(detect_format(""), std::nullopt);
}

TEST(Import, TwiceChangesNothing) {
  const TempDir root, in;
  const std::string a = R"({"t":1,"job":"j","type":"step","step":1})"
                        "\n";
  const std::string b = R"({"t":2,"job":"j","type":"step_end","step":1})"
                        "\n";
  ImportOptions options;
  options.root = root.path();
  auto first = import_files({in.write("a.jsonl", a + b)}, options);
  ASSERT_TRUE(first.ok()) << first.status().message();
  ASSERT_EQ(first->jobs.size(), 1u);
  EXPECT_FALSE(first->jobs[0].already_there);
  EXPECT_EQ(first->jobs[0].events, 2u);
  auto second = import_files({in.write("b.jsonl", b + a + b)}, options);
  ASSERT_TRUE(second.ok());
  EXPECT_TRUE(second->jobs[0].already_there);
  EXPECT_EQ(second->jobs[0].duplicates_dropped, 1u);
  EXPECT_EQ(second->jobs[0].path, first->jobs[0].path);
  EXPECT_EQ(files_in(root.path() + "/j"), 1u) << "and no temporary is left";
  auto job = load_job("j", {.root = root.path(), .job = {}, .skip_bad = false});
  ASSERT_TRUE(job.ok()) << job.status().message();
  EXPECT_EQ(lines_of(*job), read_all(first->jobs[0].path));
}

TEST(Import, MergesAccountingIntoAJob) {
  const TempDir root, in;
  ImportOptions options;
  options.root = root.path();
  options.job = "dlrm";
  ASSERT_TRUE(
      import_files(
          {in.write("a.jsonl",
                    R"({"t":1110,"job":"dlrm","attempt":2,"type":"mark","name":"trainer_start"})")},
          options)
          .ok());
  options.zone = Zone::utc;
  options.slurm_job_ids = {"9"};
  const std::string sacct = in.write("sacct.txt",
                                     "JobID|State|Submit|Start|End\n"
                                     "8|COMPLETED|1|2|3\n9|TIMEOUT|1000|1100|1200\n");
  auto done = import_files({sacct}, options);
  ASSERT_TRUE(done.ok()) << done.status().message();
  auto again = import_files({sacct}, options);
  ASSERT_TRUE(again.ok());
  EXPECT_TRUE(again->jobs[0].already_there);
  auto job = load_job("dlrm", {.root = root.path(), .job = {}, .skip_bad = false});
  ASSERT_TRUE(job.ok());
  const std::string text = lines_of(*job);
  EXPECT_THAT(text, HasSubstr(R"("attempt":2,"rank":"agent","type":"mark","name":"allocated")"));
  EXPECT_THAT(text, HasSubstr(R"("origin":"user","reason":"Slurm: TIMEOUT")"));
  options.slurm_job_ids = {"77"};
  EXPECT_THAT(import_files({sacct}, options).status().message(), HasSubstr("no job 77"));
}

TEST(Import, TakesTheErrorFilesOfTorchrun) {
  const TempDir root, in;
  ImportOptions options;
  options.root = root.path();
  const std::string path = in.write(
      "attempt_1/3/error.json",
      R"({"message":{"message":"RuntimeError: x","extraInfo":{"py_callstack":"Traceback\n  y\nRuntimeError: x","timestamp":"50"}}})");
  EXPECT_THAT(import_files({path}, options).status().message(), HasSubstr("--job"));
  options.job = "j";
  auto done = import_files({path}, options);
  ASSERT_TRUE(done.ok()) << done.status().message();
  EXPECT_THAT(
      read_all(done->jobs[0].path),
      HasSubstr(R"({"t_ns":50000000000,"job":"j","attempt":2,"rank":3,"type":"mark",)"
                R"("name":"failure","exit_code":1,"origin":"user","reason":"RuntimeError: x"})"));
}

TEST(Import, RefusesWhatItCannotPlace) {
  const TempDir root, in;
  ImportOptions options;
  options.root = root.path();
  EXPECT_THAT(import_files({in.write("x.txt", "hello")}, options).status().message(),
              HasSubstr("--format"));
  EXPECT_THAT(import_files({in.path() + "/none"}, options).status().message(), HasSubstr("none"));
  EXPECT_THAT(
      import_files({in.write("c.jsonl", R"({"t":1,"job":"../up","type":"mark","name":"exit"})")},
                   options)
          .status()
          .message(),
      HasSubstr("folder name"));
  EXPECT_FALSE(fs::exists(root.path() + "/../up"));
  EXPECT_THAT(
      import_files({in.write("d.jsonl", R"({"t":1,"job":"a","type":"mark","name":"exit","type2":1})"
                                        "\nbad\n")},
                   options)
          .status()
          .message(),
      HasSubstr("d.jsonl:2"));
}

}  // namespace
}  // namespace headway::interchange
