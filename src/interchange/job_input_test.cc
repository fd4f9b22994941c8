#include "interchange/job_input.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "base/job_path.h"
#include "headway/headway.h"
#include "interchange/test_util.h"

namespace headway::interchange {
namespace {

using testing::HasSubstr;
namespace fs = std::filesystem;

std::string line(const std::string& job, int t, int attempt = 1) {
  return R"({"t":)" + std::to_string(t) + R"(,"job":")" + job + R"(","attempt":)" +
         std::to_string(attempt) + R"(,"type":"mark","name":"trainer_start"})" + "\n";
}

// A journal of two steps, made by the recorder itself.
std::string record(const std::string& root, const char* job, std::uint64_t attempt) {
  const std::string dir = base::attempt_dir(root, job, attempt);
  hw_options options{};
  options.struct_size = sizeof(options);
  options.attempt = attempt;
  options.world_size = 1;
  options.dir = dir.c_str();
  options.job = job;
  options.host = "node7";
  EXPECT_EQ(hw_init(&options), 0);
  const std::uint16_t mine = hw_phase_id("shuffle");
  hw_mark(HW_MARK_TRAINER_START);
  hw_begin(mine);
  hw_end(mine);
  hw_step(1, 100);
  hw_step_end(1, 100);
  const std::string path = hw_journal_path();
  hw_shutdown();
  return path;
}

TEST(JobInput, ReadsAFileOfLines) {
  const TempDir dir;
  const std::string path =
      dir.write("a.jsonl", line("j", 5) + "\n  \n" + line("j", 3) + line("j", 5));
  auto job = load_job(path, {});
  ASSERT_TRUE(job.ok()) << job.status().message();
  EXPECT_EQ(job->job, "j");
  EXPECT_EQ(job->duplicates_dropped, 1u);
  ASSERT_EQ(job->streams.size(), 1u);
  EXPECT_EQ(job->streams[0].info.origin, path);
  const std::string once = lines_of(*job);
  EXPECT_EQ(lines_of(*job), once) << "a stream can be opened twice";
  EXPECT_LT(once.find("3000000000"), once.find("5000000000"));
}

TEST(JobInput, NamesFileAndLineOfWhatIsWrong) {
  const TempDir dir;
  const std::string path = dir.write("a.jsonl", line("j", 5) + "{\"t\":}\n" + line("j", 6));
  EXPECT_THAT(load_job(path, {}).status().message(), HasSubstr(path + ":2: "));
  auto job = load_job(path, {.root = {}, .job = {}, .skip_bad = true});
  ASSERT_TRUE(job.ok());
  EXPECT_EQ(job->bad_lines, 1u);
  ASSERT_EQ(job->notes.size(), 1u);
  EXPECT_THAT(job->notes[0], HasSubstr(":2: "));
}

TEST(JobInput, SurvivesLinesOfAnyLength) {
  const TempDir dir;
  const std::string path =
      dir.write("a.jsonl", line("j", 5) + std::string(5 << 20, 'x') + "\r\n" + line("j", 6) +
                               "{\"t\":7,\"job\":\"j\",\"type\":\"mark\",\"name\":\"exit\"}");
  auto job = load_job(path, {.root = {}, .job = {}, .skip_bad = true});
  ASSERT_TRUE(job.ok());
  EXPECT_EQ(job->bad_lines, 1u);
  const std::string text = lines_of(*job);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 3);
}

TEST(JobInput, ListsTheJobsWhenThereAreSeveral) {
  const TempDir dir;
  const std::string path = dir.write("a.jsonl", line("x", 5) + line("y", 5));
  EXPECT_THAT(load_job(path, {}).status().message(), HasSubstr("--job: x, y"));
  EXPECT_EQ(load_job(path, {.root = {}, .job = "y", .skip_bad = false})->job, "y");
  EXPECT_THAT(load_job(path, {.root = {}, .job = "z", .skip_bad = false}).status().message(),
              HasSubstr("no job z in it; there: x, y"));
  EXPECT_EQ(load_jobs(path, {})->size(), 2u);
}

TEST(JobInput, SaysWhatIsThereWhenNothingFits) {
  const TempDir root;
  root.write("dlrm-7/imported-1.jsonl", line("dlrm-7", 1));
  root.write("llama/imported-1.jsonl", line("llama", 1));
  const auto status =
      load_job("dlrm-8", {.root = root.path(), .job = {}, .skip_bad = false}).status();
  EXPECT_EQ(status.code(), base::Code::not_found);
  EXPECT_THAT(status.message(), HasSubstr(root.path()));
  EXPECT_THAT(status.message(), HasSubstr("there: dlrm-7, llama"));
  const TempDir empty;
  EXPECT_THAT(
      load_job("x", {.root = empty.path(), .job = {}, .skip_bad = false}).status().message(),
      HasSubstr("no job of any name"));
  EXPECT_THAT(load_job(empty.path(), {}).status().message(), HasSubstr("holds neither"));
  EXPECT_FALSE(load_job("", {}).ok());
  EXPECT_FALSE(load_job("/no/such/file.jsonl", {}).ok());
  const std::string blank = empty.write("blank.jsonl", "\n\n");
  EXPECT_THAT(load_job(blank, {}).status().message(), HasSubstr("no events"));
}

TEST(JobInput, FindsAJobWithItsJournalsAndImportedLines) {
  const TempDir root;
  const std::string journal = record(root.path(), "dlrm", 65537);
  root.write("dlrm/imported-1.jsonl", line("dlrm", 1, 65537));
  auto job = load_job("dlrm", {.root = root.path(), .job = {}, .skip_bad = false});
  ASSERT_TRUE(job.ok()) << job.status().message();
  EXPECT_EQ(job->streams.size(), 2u);
  const std::string text = lines_of(*job);
  EXPECT_THAT(text, HasSubstr(R"("phase":"shuffle")"));
  EXPECT_THAT(text, HasSubstr(R"("type":"step_end","step":1,"data":100)"));
  EXPECT_EQ(lines_of(*job), text) << "journals, too, are read anew";

  // The journal alone, and a copy of it beside it.
  auto alone = load_job(journal, {});
  ASSERT_TRUE(alone.ok()) << alone.status().message();
  EXPECT_EQ(alone->streams[0].info.host, "node7");
  fs::copy_file(journal, root.path() + "/dlrm/65537/copy.hwj");
  root.write("dlrm/65537/broken.hwj", "not a journal");
  auto twice = load_job("dlrm", {.root = root.path(), .job = {}, .skip_bad = false});
  ASSERT_TRUE(twice.ok());
  EXPECT_EQ(twice->streams.size(), 2u);
  EXPECT_EQ(lines_of(*twice).size(), text.size());
  EXPECT_EQ(twice->notes.size(), 2u);
}

}  // namespace
}  // namespace headway::interchange
