#include "agent/python_layout.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "agent/spawn.h"

namespace headway::agent {
namespace fs = std::filesystem;

Interpreter find_interpreter(const RunOptions& options, const Environment& environment) {
  Interpreter found;
  if (!options.python.empty()) {
    found.tried = options.python;
  } else if (const std::string* venv = find_variable(environment, "VIRTUAL_ENV");
             venv != nullptr && !venv->empty()) {
    found.tried = *venv + "/bin/python";
  } else {
    found.tried = "python3";
  }
  const std::string path = find_program(found.tried, environment);
  if (!path.empty() && ::access(path.c_str(), X_OK) == 0) found.path = path;
  return found;
}

std::string own_binary() {
  std::error_code error;
  return fs::read_symlink("/proc/self/exe", error).string();
}

std::vector<std::string> find_hook(const std::string& binary, const Environment& environment) {
  std::vector<fs::path> candidates;
  std::error_code error;
  if (const std::string* chosen = find_variable(environment, "HEADWAY_PYTHON_DIR");
      chosen != nullptr && !chosen->empty()) {
    candidates.push_back(fs::absolute(*chosen, error));
  } else {
    const fs::path folder = fs::path(binary).parent_path();
    candidates.push_back(folder / "python");                   // a build tree
    candidates.push_back(folder.parent_path().parent_path());  // site-packages/headway/bin
    candidates.push_back(folder / "../lib/headway/python");    // a system package
    std::vector<fs::path> versions;                            // a script beside site-packages
    for (fs::directory_iterator it(folder / "../lib", error), end; !error && it != end;
         it.increment(error)) {
      if (it->path().filename().string().starts_with("python3")) {
        versions.push_back(it->path() / "site-packages");
      }
    }
    std::sort(versions.begin(), versions.end());
    candidates.insert(candidates.end(), versions.begin(), versions.end());
  }
  for (const fs::path& candidate : candidates) {
    const fs::path root = candidate.lexically_normal();
    if (fs::is_regular_file(root / "headway/_hook/sitecustomize.py", error)) {
      return {(root / "headway/_hook").string(), root.string()};
    }
  }
  return {};
}

}  // namespace headway::agent
