// Power lost, and every call failing, while an archive is written: the old one or the new one.
#include "cache/archive_writer.h"
#include "cache/test_cache.h"

namespace headway::cache {
namespace {

using base::SimFileSystem;

Tree other_tree() {
  return {{"ab/c9.py", "other"}, {"ab/c9.so", code_like(5000, 9)}};
}

// /x.hwc is an archive of small_tree(); /d holds other_tree().
std::unique_ptr<SimFileSystem> begin() {
  auto files = std::make_unique<SimFileSystem>();
  write_tree(*files, "/c", small_tree());
  write_tree(*files, "/d", other_tree());
  EXPECT_TRUE(pack_tree(*files, "/c", "/x.hwc", test_binding()).ok());
  for (const char* folder : {"/", "/c", "/d", "/d/ab"})
    EXPECT_TRUE(files->sync_folder(folder).ok());
  return files;
}

std::size_t entries_of(base::FileSystem& files) {
  const auto archive = open_archive(files, "/x.hwc");
  if (archive == nullptr) return 0;
  EXPECT_TRUE(archive->verify(1, true).ok());
  return archive->index().entries.size();
}

TEST(PackCrash, OldOrNewWhereverThePowerGoes) {
  const std::size_t old_entries = small_tree().size(), new_entries = other_tree().size();
  std::size_t news = 0, olds = 0;
  for (std::size_t call = 0;; ++call) {
    const auto files = begin();
    files->lose_power_at(call);
    const bool done = pack_tree(*files, "/d", "/x.hwc", test_binding(2000)).ok();
    const std::size_t ends = files->loose_ends();
    for (std::size_t kept = 0; kept <= ends; ++kept) {
      for (const double torn : {0.0, 0.5, -0.5}) {
        const auto after = files->after_crash([&](std::size_t i) {
          return i < kept ? 1.0 : i == kept ? torn : 0.0;
        });
        const std::size_t entries = entries_of(*after);
        EXPECT_TRUE(entries == old_entries || entries == new_entries) << call;
        (entries == new_entries ? news : olds) += 1;
        EXPECT_TRUE(!done || entries == new_entries) << "told to be there, and lost";
      }
    }
    if (done) break;
    ASSERT_LT(call, 1000U);
  }
  EXPECT_GT(news, 0U);
  EXPECT_GT(olds, 0U);
}

TEST(PackCrash, AFailedCallLeavesTheOldOneAndNoTemporary) {
  for (const int error : {ENOSPC, EIO}) {
    for (std::size_t call = 0;; ++call) {
      const auto files = begin();
      files->fail(SimFileSystem::Fault{.call = call, .error = error, .torn = true});
      const auto packed = pack_tree(*files, "/d", "/x.hwc", test_binding(2000));
      const bool hit = files->calls() > call;
      files->fail(std::nullopt);
      if (packed.ok() && !hit) break;
      const std::size_t entries = entries_of(*files);
      EXPECT_TRUE(entries == small_tree().size() || entries == other_tree().size());
      EXPECT_TRUE(!packed.ok() || entries == other_tree().size());
      for (const auto& [path, content] : files->contents()) {
        EXPECT_EQ(path.find(".tmp"), std::string::npos) << path << " after call " << call;
      }
      ASSERT_LT(call, 1000U);
    }
  }
}

}  // namespace
}  // namespace headway::cache
