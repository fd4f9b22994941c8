#include "cache/shelf.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "base/clock.h"

namespace headway::cache {
namespace {

using base::FolderEntry;
using base::Result;
using base::Status;

constexpr std::size_t kCopyBytes = 4 << 20;

Status make_folders(base::FileSystem& files, const std::string& path) {
  Status status = files.make_folder(path);
  const std::string above = base::folder_of(path);
  if (status.code() == base::Code::not_found && above != path) {
    if (Status made = make_folders(files, above); !made.ok()) return made;
    status = files.make_folder(path);
  }
  return status;
}

Status copy(base::InputFile& from, base::OutputFile& to) {
  std::vector<std::byte> buffer;
  for (std::uint64_t at = 0; at < from.bytes(); at += buffer.size()) {
    buffer.resize(std::min<std::uint64_t>(kCopyBytes, from.bytes() - at));
    if (Status status = from.read(at, buffer); !status.ok()) return status;
    if (Status status = to.write(at, buffer); !status.ok()) return status;
  }
  return to.sync();
}

}  // namespace

std::string shelf_folder(const Binding& binding) {
  return binding.family + "/" + base::hex(identity_of(binding));
}

std::string shelf_name(const Binding& binding, const Index& index) {
  return fmt::format("{}/{}{}", shelf_folder(binding), base::hex(content_identity(index)),
                     archive_suffix);
}

bool is_shelf_name(std::string_view name) {
  const std::size_t slash = name.find('/');
  if (slash == std::string_view::npos || !is_family(name.substr(0, slash))) return false;
  const std::string_view rest = name.substr(slash + 1);
  constexpr std::size_t digits = 64;
  return rest.size() == digits + 1 + digits + archive_suffix.size() && rest[digits] == '/' &&
         rest.ends_with(archive_suffix) && base::sha256_of_hex(rest.substr(0, digits)) &&
         base::sha256_of_hex(rest.substr(digits + 1, digits));
}

template <typename Visit>
Status FolderShelf::walk(const std::string& folder, const Visit& visit) {
  std::vector<std::string> folders{folder};
  while (!folders.empty()) {
    const std::string below = folders.back();
    folders.pop_back();
    auto entries = files_.list(below.empty() ? folder_ : folder_ + "/" + below);
    if (entries.status().code() == base::Code::not_found) continue;
    if (!entries.ok()) return entries.status();
    for (const FolderEntry& entry : *entries) {
      const std::string name = below.empty() ? entry.name : below + "/" + entry.name;
      if (entry.is_link || entry.is_special) continue;
      if (entry.is_folder && std::ranges::count(name, '/') < 2) folders.push_back(name);
      if (!entry.is_folder) visit(name, entry);
    }
  }
  return {};
}

Result<std::vector<Shelved>> FolderShelf::list(const std::string& folder) {
  std::vector<Shelved> found;
  Status status = walk(folder, [&](const std::string& name, const FolderEntry& entry) {
    if (is_shelf_name(name)) found.push_back({name, entry.bytes, entry.modified_ns});
  });
  if (!status.ok()) return status;
  if (found.size() <= shelf_archives_max) return found;
  return Status::invalid(folder_ + ": too many archives; keep them in several folders");
}

void FolderShelf::clear_waste(std::int64_t before_ns) {
  (void)walk("", [&](const std::string& name, const FolderEntry& entry) {
    const bool waste = entry.name.starts_with('.') && entry.name.ends_with(".tmp");
    if (waste && entry.modified_ns < before_ns) (void)files_.remove_file(place(name));
  });
}

Result<bool> FolderShelf::put(const std::string& path, const std::string& name) {
  const std::string to = place(name);
  // A damaged one in its place must not stay there for ever.
  auto there = Archive::open(files_, to);
  if (there.ok() && shelf_name((*there)->binding(), (*there)->index()) == name) return false;
  auto from = files_.open(path);
  if (!from.ok()) return from.status();
  const std::string folder = base::folder_of(to);
  if (Status status = make_folders(files_, folder); !status.ok()) return status;
  const std::string temporary =
      fmt::format("{}/.{}-{}.tmp", folder, ::getpid(), base::monotonic_ns());
  auto file = files_.create(temporary, {.bytes = (*from)->bytes()});
  if (!file.ok()) return file.status();
  Status status = copy(**from, **file);
  if (Status closed = (*file)->close(); status.ok()) status = closed;
  if (status.ok()) status = files_.rename(temporary, to);
  if (!status.ok()) {
    (void)files_.remove_file(temporary);
    return status;
  }
  status = files_.sync_folder(folder);
  if (!status.ok()) return status;
  return true;
}

Result<std::string> FolderShelf::fetch(const Shelved& one, const std::string&) {
  return place(one.name);
}

Result<Binding> read_binding(const ReadAt& read, std::uint64_t bytes, const std::string& place) {
  std::string head(std::min<std::uint64_t>(bytes, sizeof(HeadRecord)), '\0');
  if (Status status = read(0, std::as_writable_bytes(std::span(head))); !status.ok()) return status;
  auto layout = parse_head(head, bytes, place);
  if (!layout.ok()) return layout.status();
  std::string text(layout->head.binding_bytes, '\0');
  Status status = read(layout->binding_begin, std::as_writable_bytes(std::span(text)));
  if (!status.ok()) return status;
  return parse_binding(text, place);
}

Result<Binding> FolderShelf::binding_of(const Shelved& one) {
  auto file = files_.open(place(one.name));
  if (!file.ok()) return file.status();
  return read_binding(
      [&](std::uint64_t offset, std::span<std::byte> into) { return (*file)->read(offset, into); },
      (*file)->bytes(), place(one.name));
}

Status FolderShelf::remove(const std::string& name) {
  Status status = files_.remove_file(place(name));
  return status.code() == base::Code::not_found ? Status() : status;
}

}  // namespace headway::cache
