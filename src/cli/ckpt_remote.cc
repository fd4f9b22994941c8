#include "cli/ckpt_remote.h"

#include <fmt/format.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <future>

#include "checkpoint/look.h"
#include "checkpoint/remote.h"
#include "cli/progress.h"
#include "object_store/credentials.h"
#include "object_store/place.h"
#include "object_store/store.h"

namespace headway::cli {
namespace {

using base::Result;
using base::Status;
using checkpoint::CheckpointFolder;
using checkpoint::CheckpointName;
using checkpoint::CopyReport;
using checkpoint::RemoteCheckpoints;

constexpr auto kLook = std::chrono::milliseconds(100);

struct Session {
  object_store::RealStore real;
  std::string prefix;
};

// For who waits at a terminal, or at the start of a job.
object_store::StoreOptions impatient() {
  object_store::StoreOptions options;
  options.retry.tries = 3;
  options.retry.longest_ns = 2'000'000'000;
  options.connect_timeout_s = 5;
  options.stall_timeout_s = 10;
  return options;
}

Result<Session> open_session(const std::string& text,
                             const object_store::StoreOptions& options = {}) {
  auto place = object_store::parse_place(text);
  if (!place.ok()) return place.status();
  auto settings = object_store::find_settings({});
  if (!settings.ok()) return settings.status();
  return Session{open_store(std::move(*settings), place->bucket, options), place->prefix};
}

// The work on a thread of its own, the bar on this one: it belongs to one thread.
template <typename Work>
auto with_progress(const std::string& label, std::uint64_t bytes, const Work& work) {
  std::atomic<std::uint64_t> done = 0;
  auto result = std::async(std::launch::async, [&] { return work(&done); });
  ProgressBar bar(label, bytes);
  std::uint64_t shown = 0;
  while (result.wait_for(kLook) != std::future_status::ready) {
    const std::uint64_t now = done.load(std::memory_order_relaxed);
    bar.add(now - shown);
    shown = now;
  }
  return result.get();
}

// "run/step-00000100-000007" is a checkpoint below "run"; anything else is a folder of them.
std::optional<CheckpointName> split_name(std::string& prefix) {
  const std::size_t slash = prefix.rfind('/');
  const std::size_t begin = slash == std::string::npos ? 0 : slash + 1;
  const auto name = CheckpointName::parse(std::string_view(prefix).substr(begin));
  if (name) prefix.resize(slash == std::string::npos ? 0 : slash);
  return name;
}

Result<CheckpointFolder::Good> find(const RemoteCheckpoints& remote,
                                    const std::optional<CheckpointName>& name) {
  if (name) {
    auto manifest = remote.read(*name);
    if (!manifest.ok()) return manifest.status();
    return CheckpointFolder::Good{*name, std::move(*manifest)};
  }
  std::vector<std::string> passed;
  auto good = remote.newest_good(passed);
  if (!good.ok()) return good.status();
  for (const std::string& why : passed) fmt::print(stderr, "headway: passed over: {}\n", why);
  if (!*good) return Status::not_found(remote.place() + ": no good checkpoint is in it");
  return std::move(**good);
}

}  // namespace

bool is_remote(const std::string& path) {
  return object_store::is_place(path);
}

Result<RemoteCopy> copy_up(const std::string& from, const std::string& to) {
  auto session = open_session(to);
  if (!session.ok()) return session.status();
  base::FileSystem& files = base::real_file_system();
  const auto name = CheckpointName::parse(checkpoint::last_name_of(from));
  if (!name) {
    return Status::invalid(from + ": its folder's name is not that of a checkpoint (step-…-…)");
  }
  auto manifest = checkpoint::read_manifest(files, from);
  if (!manifest.ok()) return manifest.status();
  const CheckpointFolder folder(files, base::folder_of(from));
  RemoteCheckpoints remote(*session->real.store, session->prefix);
  auto report = with_progress(
      "copy " + name->text(), total_bytes(*manifest),
      [&](std::atomic<std::uint64_t>* done) { return remote.upload(folder, files, *name, done); });
  if (!report.ok()) return report.status();
  return RemoteCopy{remote.place_of(report->name), report->bytes, report->was_there};
}

Result<RemoteCopy> copy_down(const std::string& from, const std::string& folder) {
  auto session = open_session(from);
  if (!session.ok()) return session.status();
  const auto name = split_name(session->prefix);
  RemoteCheckpoints remote(*session->real.store, session->prefix);
  auto good = find(remote, name);
  if (!good.ok()) return good.status();
  const CheckpointFolder into(base::real_file_system(), folder);
  auto report = with_progress(
      "copy " + good->name.text(), total_bytes(good->manifest),
      [&](std::atomic<std::uint64_t>* done) { return remote.download(good->name, into, done); });
  if (!report.ok()) return report.status();
  return RemoteCopy{into.path_of(report->name), report->bytes, report->was_there};
}

Result<std::vector<checkpoint::Look>> look_remote(const std::string& place, std::size_t good_max) {
  auto session = open_session(place, impatient());
  if (!session.ok()) return session.status();
  const auto name = split_name(session->prefix);
  const RemoteCheckpoints remote(*session->real.store, session->prefix);
  if (!name) return remote.look(good_max);
  auto one = remote.look_at(*name);
  if (!one.ok()) return one.status();
  return std::vector{std::move(*one)};
}

Result<checkpoint::VerifyReport> verify_remote(const checkpoint::Look& look) {
  auto session = open_session(look.path);
  if (!session.ok()) return session.status();
  (void)split_name(session->prefix);
  const RemoteCheckpoints remote(*session->real.store, session->prefix);
  return with_progress(
      "verify " + look.name.text(), look.bytes,
      [&](std::atomic<std::uint64_t>* done) { return remote.verify(look.name, done); });
}

}  // namespace headway::cli
