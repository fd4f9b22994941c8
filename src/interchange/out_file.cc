#include "interchange/out_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>

namespace headway::interchange {

void ContentHash::update(std::string_view bytes) {
  constexpr Wide kPrime = (static_cast<Wide>(1) << 88) + 0x13B;
  for (const char c : bytes) state_ = (state_ ^ static_cast<unsigned char>(c)) * kPrime;
}

std::string ContentHash::hex() const {
  return fmt::format("{:016x}{:016x}", static_cast<std::uint64_t>(state_ >> 64),
                     static_cast<std::uint64_t>(state_));
}

base::Result<OutFile> OutFile::open(const std::string& path) {
  if (path == "-") return OutFile("standard output", {}, base::UniqueFd(::dup(STDOUT_FILENO)));
  std::string temporary = fmt::format("{}.{}.tmp", path, ::getpid());
  base::UniqueFd fd(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
  if (!fd.valid()) return base::errno_status(path, "cannot create", errno);
  return OutFile(path, std::move(temporary), std::move(fd));
}

OutFile::OutFile(std::string path, std::string temporary, base::UniqueFd fd)
    : path_(std::move(path)), temporary_(std::move(temporary)), fd_(std::move(fd)) {}

OutFile::~OutFile() {
  discard();
}

void OutFile::discard() {
  if (fd_.valid() && !temporary_.empty()) ::unlink(temporary_.c_str());
  fd_.reset();
}

void OutFile::flush() {
  hash_.update(buffer_);
  bytes_ += buffer_.size();
  std::string_view rest = buffer_;
  while (status_.ok() && !rest.empty()) {
    const ssize_t n = ::write(fd_.get(), rest.data(), rest.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) {
      status_ = base::errno_status(path_, "cannot write", errno);
      break;
    }
    rest.remove_prefix(static_cast<std::size_t>(n));
  }
  buffer_.clear();
}

std::string OutFile::hash() {
  flush();
  return hash_.hex();
}

base::Status OutFile::commit(const std::string& path) {
  flush();
  if (temporary_.empty() || !status_.ok()) {
    discard();
    return status_;
  }
  const std::string& target = path.empty() ? path_ : path;
  if (::fsync(fd_.get()) != 0 && errno != EINVAL) {
    status_ = base::errno_status(target, "cannot sync", errno);
  } else if (::rename(temporary_.c_str(), target.c_str()) != 0) {
    status_ = base::errno_status(target, "cannot rename", errno);
  }
  if (!status_.ok()) {
    discard();
    return status_;
  }
  fd_.reset();
  const auto slash = target.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : target.substr(0, slash + 1);
  const base::UniqueFd dir(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (dir.valid()) ::fsync(dir.get());  // some file systems cannot sync a folder: not an error
  return {};
}

}  // namespace headway::interchange
