#include "cache/store_shelf.h"

#include "base/temp_dir.h"
#include "cache/share.h"
#include "cache/test_cache.h"
#include "object_store/sim_store.h"

namespace headway::cache {
namespace {

struct Stage {
  Stage()
      : store(sim, object_store::test_settings(), sim.bucket, {}, object_store::test_runtime()) {}
  std::unique_ptr<Archive> make(const std::string& name, const Tree& tree) {
    base::FileSystem& files = base::real_file_system();
    write_tree(files, folder.path() + "/" + name, tree);
    const std::string path = folder.path() + "/" + name + ".hwc";
    EXPECT_TRUE(
        pack_tree(files, folder.path() + "/" + name, path, test_binding(), &key.value()).ok());
    return open_archive(files, path);
  }
  base::TempDir folder;
  const base::Result<SigningKey> key = SigningKey::make();
  object_store::SimStore sim;
  object_store::Store store;
  StoreShelf shelf{store, "caches/ctr"};
};

TEST(StoreShelf, PushAndPull) {
  Stage stage;
  const Tree tree = {{"ab/c1.py", "1"}, {"ab/c2.so", code_like(100'000, 5)}};
  const auto archive = stage.make("a", tree);
  auto pushed = push(*archive, stage.shelf, 1);
  ASSERT_TRUE(pushed.ok()) << pushed.status().message();
  EXPECT_FALSE(pushed->was_there);
  EXPECT_TRUE(pushed->place.starts_with("s3://bucket/caches/ctr/tests/")) << pushed->place;
  pushed = push(*archive, stage.shelf, 1);
  ASSERT_TRUE(pushed.ok() && pushed->was_there);
  ASSERT_TRUE(push(*stage.make("b", {{"ab/c3.py", "3"}}), stage.shelf, 1).ok());
  stage.sim.set("caches/ctr/tests/README", "not an archive");
  const Trust trust{{stage.key.value().public_key()}, false};
  auto pulled = pull(stage.shelf, test_binding(), trust, {}, stage.folder.path(), 1);
  ASSERT_TRUE(pulled.ok()) << pulled.status().message();
  EXPECT_EQ(pulled->archives.size(), 2U);
  EXPECT_TRUE(pulled->notes.empty());
  // One that is damaged in the store.
  for (auto& [key, data] : stage.sim.objects()) {
    if (key.ends_with(".hwc")) stage.sim.set(key, data.substr(0, data.size() / 2));
  }
  pulled = pull(stage.shelf, test_binding(), trust, {}, stage.folder.path(), 1);
  ASSERT_TRUE(pulled.ok());
  EXPECT_EQ(pulled->notes.size(), 2U);
  EXPECT_TRUE(pulled->archives.empty());
}

TEST(StoreShelf, Remove) {
  Stage stage;
  const auto archive = stage.make("a", {{"ab/c1.py", "1"}});
  ASSERT_TRUE(push(*archive, stage.shelf, 1).ok());
  const std::string name = shelf_name(archive->binding(), archive->index());
  EXPECT_TRUE(stage.shelf.remove(name).ok());
  EXPECT_TRUE(stage.shelf.remove(name).ok());
  EXPECT_TRUE(stage.sim.objects().empty());
}

TEST(StoreShelf, TimesOfAStore) {
  EXPECT_EQ(time_of_store("1970-01-02T00:00:01.500Z"), 86'401'000'000'000);
  EXPECT_EQ(time_of_store("2026-01-01T00:00:00Z"), 1'767'225'600'000'000'000);
  EXPECT_EQ(time_of_store(""), 0);
  EXPECT_EQ(time_of_store("yesterday"), 0);
}

}  // namespace
}  // namespace headway::cache
