// A checkpoint to read from: whole tensors and any part of them, whoever saved which piece. Saved
// by n ranks, each of m asks for its own parts; what is read is compared with the checksums. A
// delta (delta.h) is read with the base that it names, and that one's.
//
//   auto reader = CheckpointReader::open(files, "/ckpt/step-00000100-000007");
//   reader->read_all({{"emb.weight", Box{{0, 0}, {1000, 64}}, memory}});
//
// A reader that was opened is not changed any more: any thread may read, where the FileSystem
// bears it.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/file_system.h"
#include "base/status.h"
#include "checkpoint/manifest.h"
#include "checkpoint/overlay.h"
#include "checkpoint/reshard.h"
#include "checkpoint/table.h"

namespace headway::checkpoint {

inline constexpr std::uint64_t headers_bytes_max = std::uint64_t{4} << 30;  // of all files together
inline constexpr unsigned read_threads_max = 64;

struct Want {
  std::string name;
  Box box;
  std::span<std::byte> into;  // as large as the box, row-major
};

struct ReadOptions {
  bool verify = true;    // whole chunks are read, and compared with their checksums
  bool direct = false;   // past the page cache: where nobody else reads the same soon
  unsigned threads = 1;  // at most; small work is done by one
};

class CheckpointReader {
 public:
  // Reads the manifest and the headers of all safetensors files, and checks that they agree:
  // CRCs of the headers' chunks (with `verify`), sizes, holes.
  static base::Result<std::unique_ptr<CheckpointReader>> open(base::FileSystem& files,
                                                              const std::string& path,
                                                              bool verify = true);

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] const Manifest& manifest() const { return manifest_; }
  [[nodiscard]] const std::vector<TensorInfo>& tensors() const { return tensors_; }  // by name
  [[nodiscard]] const TensorInfo* find(std::string_view name) const;
  // That a piece of a tensor is in; the name of a base's file has the base's before it.
  struct File {
    std::string name;
    std::uint32_t rank = 0;
  };
  [[nodiscard]] const File& file_of(const TensorPiece& piece) const { return all_[piece.file]; }
  // Of a table in a delta: the rows that are put over its pieces, the oldest first.
  struct Rows {
    File file;
    std::uint64_t count = 0;
  };
  [[nodiscard]] std::vector<Rows> rows_over(const std::string& tensor) const;
  [[nodiscard]] const CheckpointReader* base() const { return base_.get(); }

  base::Status read(const std::string& name, const Box& box, std::span<std::byte> into) const;
  // All of them, in the order of files and offsets, by large reads. After an error the memory may
  // hold anything.
  base::Status read_all(const std::vector<Want>& wants, const ReadOptions& options = {}) const;

 private:
  // A contiguous stretch of work: a part of one piece, for one want.
  struct Job {
    const TensorInfo* tensor;
    const TensorPiece* piece;
    Box part;
    const Want* want;
    std::uint64_t begin, end;  // in the file: first and last byte
  };
  struct Group {  // jobs of one file, behind each other
    std::size_t first, last;
  };
  CheckpointReader(base::FileSystem& files, std::string path)
      : files_(files), path_(std::move(path)) {}
  base::Status load_headers(bool verify);
  base::Status load_base(bool verify);
  [[nodiscard]] File of_base(File file) const;
  base::Status read_stored(const std::vector<Want>& wants, const ReadOptions& options) const;
  base::Status put_overlays(const Want& want, const ReadOptions& options) const;
  base::Status plan(const Want& want, std::vector<Job>& jobs) const;
  [[nodiscard]] std::vector<Group> group(const std::vector<Job>& jobs) const;
  base::Status run(const std::vector<Job>& jobs, const Group& group,
                   const ReadOptions& options) const;

  base::FileSystem& files_;
  const std::string path_;
  Manifest manifest_;
  std::vector<TensorInfo> tensors_;
  std::vector<File> all_;  // its files, then its base's
  // Of a delta: what it is one of, what of `tensors_` is in its own files, and rows of the others.
  std::unique_ptr<CheckpointReader> base_;
  std::vector<TensorInfo> stored_;
  std::multimap<std::string, Overlay> overlays_;  // by the table's name
};

}  // namespace headway::checkpoint
