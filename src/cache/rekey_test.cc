#include "cache/rekey.h"

#include "cache/test_cache.h"
#include "cache/unpack.h"

namespace headway::cache {
namespace {

using base::SimFileSystem;

const std::string kCommand = "g++ i -I/old/site/torch/include -o o.so -L/old/site/torch/lib ";
const std::string kCode = "\nint kernel;\n";

std::string place(const std::string& key, const std::string& ending) {
  return key.substr(1, 2) + "/" + key + ending;
}

TEST(Rekey, TheKeyThatTorchGives) {
  // CODE_CACHE_KEY_STRATEGY.key(code.strip(), f"{None} {command}") of torch 2.13, in Python:
  // "c" + base64.b32encode(hashlib.sha256(b"int kernel;||None g++ i").digest())[:51].lower()
  EXPECT_EQ(library_key(kCode, "g++ i"), "c7nujs77ykauc6ynepzuztdggaokqfo775ejqw4ktoycqqg5ilqo");
  EXPECT_EQ(library_key("int kernel;", "g++ i"), library_key(kCode, "g++ i"));
}

TEST(Rekey, OnlyWhatTheCommandExplains) {
  const std::string key = library_key(kCode, kCommand);
  const std::vector<std::string> commands = {"g++ other", kCommand};
  const auto other = key_elsewhere(kCode, key, commands, "/old/site", "/new/site");
  ASSERT_TRUE(other);
  EXPECT_EQ(*other,
            library_key(kCode, "g++ i -I/new/site/torch/include -o o.so -L/new/site/torch/lib "));
  EXPECT_FALSE(key_elsewhere("int more;", key, commands, "/old/site", "/new/site"));
  EXPECT_FALSE(key_elsewhere(kCode, key, {}, "/old/site", "/new/site"));
  // torch would write it in quotes.
  EXPECT_FALSE(key_elsewhere(kCode, key, commands, "/old/site", "/new site"));
  EXPECT_FALSE(key_elsewhere(kCode, key, commands, "", "/new"));
  // "/old/site2" is another folder.
  const std::string near = library_key(kCode, "g++ -I/old/site2/x");
  const std::vector<std::string> nearby = {"g++ -I/old/site2/x"};
  EXPECT_EQ(key_elsewhere(kCode, near, nearby, "/old/site", "/new"), near);
}

struct Packed {
  explicit Packed(std::vector<std::string> commands) {
    key = library_key(kCode, kCommand);
    write_tree(files, "/c",
               {{place(key, ".main.cpp"), kCode},
                {place(key, ".main.so"), "library"},
                {"ab/cprobe.so", "probe"},
                {place(std::string(52, 'c'), ".main.so"), "of unknown code"}});
    Binding binding = test_binding();
    binding.environment = "/old/site";
    binding.commands = std::move(commands);
    EXPECT_TRUE(pack_tree(files, "/c", "/x.hwc", binding).ok());
    archive = open_archive(files, "/x.hwc");
  }
  Rekeyed to(const std::string& environment) {
    const std::vector<const Archive*> archives = {archive.get()};
    targets = targets_of(archives, unite(archives), {});
    auto done = rekey(archives, environment, targets);
    EXPECT_TRUE(done.ok()) << done.status().message();
    return done.ok() ? *done : Rekeyed{};
  }
  [[nodiscard]] bool has(const std::string& path) const {
    return std::ranges::find(targets, path, &Target::path) != targets.end();
  }
  SimFileSystem files;
  std::string key;
  std::unique_ptr<Archive> archive;
  std::vector<Target> targets;
};

TEST(Rekey, LibrariesAndTheirCode) {
  Packed packed({kCommand});
  const Rekeyed done = packed.to("/new");
  EXPECT_EQ(done.libraries, 1U);
  EXPECT_EQ(done.missed, 1U);
  const std::string other =
      library_key(kCode, "g++ i -I/new/torch/include -o o.so -L/new/torch/lib ");
  EXPECT_TRUE(packed.has(place(other, ".main.so")) && packed.has(place(other, ".main.cpp")));
  EXPECT_FALSE(packed.has(place(packed.key, ".main.so")));
  EXPECT_TRUE(packed.has("ab/cprobe.so"));
}

TEST(Rekey, NothingWhereItIsTheSameOrNotKnown) {
  Packed packed({kCommand});
  EXPECT_EQ(packed.to("/old/site").libraries + packed.to("/old/site").missed, 0U);
  EXPECT_TRUE(packed.has(place(packed.key, ".main.so")));
  Packed without({});
  EXPECT_EQ(without.to("/new").libraries, 0U);
  EXPECT_EQ(without.to("/new").missed, 2U);
}

TEST(Rekey, CommandsInABinding) {
  Binding binding = test_binding();
  binding.commands = {kCommand};
  const auto again = parse_binding(to_text(binding), "x");
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again.value().commands, binding.commands);
  EXPECT_EQ(identity_of(binding), identity_of(test_binding()));
  binding.commands.assign(commands_max + 1, "g++");
  EXPECT_FALSE(parse_binding(to_text(binding), "x").ok());
  binding.commands = {std::string(binding_text_bytes_max + 1, 'x')};
  EXPECT_FALSE(parse_binding(to_text(binding), "x").ok());
}

}  // namespace
}  // namespace headway::cache
