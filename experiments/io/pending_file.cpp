#include "experiments/io/pending_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "reference/convolution/convolution.hpp"

namespace danaus {

void write_all(int descriptor, std::string_view bytes, const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(descriptor, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail("cannot write ", path, ": ", std::strerror(errno));
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
}

PendingFile::PendingFile(const std::string& path) : path_(path) {
  std::error_code ignored;
  if (std::filesystem::is_symlink(path_, ignored) && std::filesystem::exists(path_, ignored))
    path_ = std::filesystem::canonical(path_).string();  // the link stays a link
  if (std::filesystem::is_directory(path_, ignored)) fail("cannot write ", path, ": it is a directory");
  struct stat replaced;
  const bool exists = ::stat(path_.c_str(), &replaced) == 0, in_place = exists && !S_ISREG(replaced.st_mode);
  if (exists && !in_place && ::access(path_.c_str(), W_OK) != 0)
    fail("cannot write ", path, ": ", std::strerror(errno));
  written_ = in_place ? path_ : path_ + ".part" + std::to_string(::getpid());
  if (!in_place) removed_when_killed_ = std::make_unique<RemovedWhenKilled>(written_);
  descriptor_ = ::open(written_.c_str(), O_WRONLY | O_CLOEXEC | (in_place ? 0 : O_CREAT | O_TRUNC), 0666);
  if (descriptor_ < 0) fail("cannot write ", path, ": ", std::strerror(errno));
  constexpr mode_t kPermissions = 07777;
  if (exists && !in_place) ::fchmod(descriptor_, replaced.st_mode & kPermissions);
}

PendingFile::~PendingFile() {
  if (descriptor_ < 0) return;
  ::close(descriptor_);
  if (written_ != path_) ::unlink(written_.c_str());
}

void PendingFile::write(std::string_view bytes) { write_all(descriptor_, bytes, path_); }

void PendingFile::commit() {
  // Some file systems report a full disk only here.
  if (written_ != path_ && ::fsync(descriptor_) != 0) fail("cannot write ", path_, ": ", std::strerror(errno));
  if (written_ != path_ && std::rename(written_.c_str(), path_.c_str()) != 0)
    fail("cannot write ", path_, ": ", std::strerror(errno));
  ::close(descriptor_);
  descriptor_ = -1;
}

}  // namespace danaus
