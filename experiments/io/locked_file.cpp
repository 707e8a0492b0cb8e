#include "experiments/io/locked_file.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "experiments/io/pending_file.hpp"
#include "reference/basics.hpp"

namespace danaus {
namespace {

// Whether the path still names the file that is open: another process may have replaced it before it was locked.
bool is_still_at(const std::string& path, int descriptor) {
  struct stat opened, named;
  return ::fstat(descriptor, &opened) == 0 && ::stat(path.c_str(), &named) == 0 && opened.st_dev == named.st_dev &&
         opened.st_ino == named.st_ino;
}

bool is_locked_elsewhere(int descriptor) {
  return ::flock(descriptor, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;  // others: a place without locks
}

}  // namespace

LockedFile::LockedFile(const std::string& path) : path_(path) {
  try {
    open();
  } catch (...) {
    if (descriptor_ >= 0) ::close(descriptor_);
    throw;
  }
}

LockedFile::~LockedFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void LockedFile::open() {
  do {
    if (descriptor_ >= 0) ::close(descriptor_);
    descriptor_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (descriptor_ < 0) fail("cannot write ", path_, ": ", std::strerror(errno));
    struct stat opened;
    if (::fstat(descriptor_, &opened) == 0 && !S_ISREG(opened.st_mode)) return;
    if (is_locked_elsewhere(descriptor_)) fail("cannot write ", path_, ": another process is writing to it");
  } while (!is_still_at(path_, descriptor_));
}

void LockedFile::append(std::string_view line) {
  const off_t end = ::lseek(descriptor_, 0, SEEK_END);
  try {
    write_all(descriptor_, line, path_);
  } catch (...) {
    // What a full disk took of the line goes again; a device has nothing to cut.
    if (end >= 0 && ::ftruncate(descriptor_, end) != 0) errno = 0;
    throw;
  }
}

void LockedFile::replace(std::string_view content) {
  PendingFile replacing(path_);
  replacing.write(content);
  replacing.commit();
  open();
}

}  // namespace danaus
