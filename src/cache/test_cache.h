// For tests: cache directories in memory, and archives made of them.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/sim_file_system.h"
#include "cache/archive.h"
#include "cache/archive_writer.h"
#include "cache/pack.h"
#include "cache/scan.h"

namespace headway::cache {

using Tree = std::map<std::string, std::string>;  // path in the directory → content

inline Binding test_binding(std::int64_t created_ns = 1'000) {
  return {.torch = "2.13.0+cpu",
          .torch_git = "cf30153c",
          .python = "cpython-311",
          .environment = "/venv/lib/python3.11/site-packages",
          .arch = "x86_64",
          .cpu_flags = {"avx", "avx2"},
          .gpu = "",
          .family = "tests",
          .created_ns = created_ns};
}

// Some bytes that compress about as well as code does.
inline std::string code_like(std::size_t bytes, unsigned seed) {
  std::string text;
  std::uint32_t state = seed * 2654435761U + 1;
  while (text.size() < bytes) {
    state = state * 1664525 + 1013904223;
    text += "mov r" + std::to_string(state >> 28) + ", [rsp + " + std::to_string(state >> 20) + "]";
  }
  text.resize(bytes);
  return text;
}

inline std::string graph_path(const std::string& key, const std::string& content) {
  return "fxgraph/" + key.substr(1, 2) + "/" + key + "/" +
         content_name(base::sha256(base::bytes_of(content)));
}

// One of each kind.
inline Tree small_tree() {
  return {{graph_path("fabc", "a graph"), "a graph"},
          {"aotautograd/axyz/" + content_name(base::sha256(base::bytes_of("joint"))), "joint"},
          {"ab/cabc.main.cpp", "int main() {}"},
          {"ab/cabc.main.so", code_like(3000, 1)},
          {"cd/ccde.py", "def call(args): pass"},
          {"cd/0123.best_config", "{\"XBLOCK\": 4}"},
          {"dynamo/code_state_job_0_.pkl", "learned"},
          {"dynamo/00ff/entry", "precompiled"},
          {"triton/0/KEY/kernel.cubin", "cubin"},
          {"triton/0/KEY/__grp__kernel.json",
           "{\"child_paths\": {\"kernel.cubin\": \"/old/cache/triton/0/KEY/kernel.cubin\"}}"},
          {"cache/5678", "{}"}};
}

inline void write_tree(base::FileSystem& files, const std::string& directory, const Tree& tree) {
  ASSERT_TRUE(files.make_folder(directory).ok());
  for (const auto& [path, content] : tree) {
    for (std::size_t slash = path.find('/'); slash != std::string::npos;
         slash = path.find('/', slash + 1)) {
      ASSERT_TRUE(files.make_folder(directory + "/" + path.substr(0, slash)).ok());
    }
    auto file = files.create(directory + "/" + path, {});
    ASSERT_TRUE(file.ok()) << file.status().message();
    ASSERT_TRUE((*file)->write(0, base::bytes_of(content)).ok());
    ASSERT_TRUE((*file)->sync().ok());
    ASSERT_TRUE((*file)->close().ok());
  }
}

// Of a file system: what lies below a directory.
inline Tree read_tree(const base::SimFileSystem& files, const std::string& directory) {
  Tree tree;
  for (const auto& [path, content] : files.contents()) {
    if (path.starts_with(directory + "/") && !path.ends_with('/')) {
      tree[path.substr(directory.size() + 1)] = content;
    }
  }
  return tree;
}

inline bool never_locked(const std::string&) {
  return false;
}

inline base::Result<Packed> pack_tree(base::FileSystem& files, const std::string& directory,
                                      const std::string& path, const Binding& binding,
                                      const SigningKey* key = nullptr) {
  auto scan = scan_directory(files, directory, never_locked);
  if (!scan.ok()) return scan.status();
  return pack_directory(files, directory, *scan, binding, files, path,
                        {.threads = 1, .key = key, .progress = {}});
}

// As another program might: nothing is left out, whatever is in it.
inline void write_archive(base::FileSystem& files, const std::string& path, const Tree& tree,
                          const SigningKey* key = nullptr) {
  auto writer = ArchiveWriter::create(files, path);
  ASSERT_TRUE(writer.ok()) << writer.status().message();
  for (const auto& [file, content] : tree) {
    const auto kind = kind_of_path(file);
    ASSERT_TRUE(kind) << file;
    const base::Sha256 sha256 = base::sha256(base::bytes_of(content));
    if (!(*writer)->has(sha256)) {
      const PackedSegment segment =
          pack_segment({{sha256, content.size()}}, base::bytes_of(content));
      ASSERT_TRUE((*writer)->append(segment).ok());
    }
    ASSERT_TRUE((*writer)->add_entry({.path = file, .key = {}, .kind = *kind}, sha256).ok());
  }
  ASSERT_TRUE((*writer)->finish(test_binding(), key).ok());
}

inline std::unique_ptr<Archive> open_archive(base::FileSystem& files, const std::string& path) {
  auto archive = Archive::open(files, path);
  EXPECT_TRUE(archive.ok()) << archive.status().message();
  return archive.ok() ? std::move(*archive) : nullptr;
}

// All contents by path, through the archive.
inline Tree tree_of(const Archive& archive) {
  Tree tree;
  std::map<const Segment*, std::optional<base::Result<std::vector<std::byte>>>> read;
  for (const Entry& entry : archive.index().entries) {
    const Segment& segment = archive.segments()[archive.segment_of(entry.content)];
    auto& raw = read[&segment];
    if (!raw) raw = archive.read_raw(segment);
    EXPECT_TRUE(raw->ok()) << raw->status().message();
    const auto bytes = archive.content_in(segment, raw->value(), entry.content);
    tree[entry.path] = std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }
  return tree;
}

}  // namespace headway::cache
