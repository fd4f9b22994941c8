#include "cli/torch_memo.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>

#include "agent/python_layout.h"
#include "base/crc32c.h"
#include "base/file.h"
#include "base/file_system.h"
#include "base/hash.h"

namespace headway::cli {
namespace {

constexpr std::size_t kBytesMax = 64 << 10;
// What an interpreter looks for packages by.
constexpr const char* kVariables[] = {"VIRTUAL_ENV", "PYTHONPATH",       "PYTHONHOME",
                                      "HOME",        "PYTHONNOUSERSITE", "PYTHONUSERBASE"};

std::string stamp_of_file(const std::string& path) {
  struct stat info{};
  if (::stat(path.c_str(), &info) != 0) return "none";
  return fmt::format("{}.{}.{}.{}", info.st_mtim.tv_sec, info.st_mtim.tv_nsec, info.st_size,
                     info.st_ino);
}

// With the digest of the question: two of them may have the same checksum.
std::string stamp_of(const std::string& question, const std::string& environment) {
  const std::string interpreter = question.substr(0, question.find('\n'));
  return fmt::format("{} {} {} {}", base::hex(base::sha256(base::bytes_of(question))),
                     stamp_of_file(interpreter), stamp_of_file(environment),
                     stamp_of_file(environment + "/torch/version.py"));
}

std::string question_of(const std::string& interpreter) {
  std::string text = interpreter;
  for (const char* name : kVariables) {
    const char* value = std::getenv(name);
    text += fmt::format("\n{}={}", name, value != nullptr ? value : "");
  }
  return text;
}

}  // namespace

base::Result<RememberedTorch> remembered_torch(const std::string& python, const std::string& memory,
                                               bool ask) {
  const std::string question = question_of(python);
  const std::string path =
      fmt::format("{}/{:08x}.txt", memory, base::crc32c(question.data(), question.size()));
  if (auto text = base::read_file(path, kBytesMax); text.ok() && !ask) {
    const auto kept = cache::parse_facts(*text);
    if (kept && kept->stamp == stamp_of(question, kept->facts.environment)) {
      return RememberedTorch{kept->facts, false};
    }
  }
  auto facts = ask_for_torch(python);
  if (!facts.ok()) return facts.status();
  const std::string text = cache::to_text({*facts, stamp_of(question, facts->environment)});
  if (!memory.empty() && base::make_dirs(memory).ok()) (void)base::write_file_atomic(path, text);
  return RememberedTorch{std::move(*facts), true};
}

}  // namespace headway::cli
