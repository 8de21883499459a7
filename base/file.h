// Files and descriptors that clean up after themselves.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <utility>

#include "base/error.h"

namespace onceproof {

// Owns one descriptor; closes it once.
class UniqueFd {
 public:
  UniqueFd() = default;
  explicit UniqueFd(int fd) : fd_(fd) {}
  UniqueFd(UniqueFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  UniqueFd& operator=(UniqueFd&& other) noexcept;
  ~UniqueFd() { reset(); }
  int get() const { return fd_; }
  bool valid() const { return fd_ >= 0; }
  void reset();

 private:
  int fd_ = -1;
};

// A fresh folder under TMPDIR, mode 0700, removed with all it holds at the end of its life.
class TempDir {
 public:
  // Errors: io_failed, naming the folder and the reason.
  static Result<TempDir> make(std::string_view prefix);
  TempDir(TempDir&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  TempDir& operator=(TempDir&&) = delete;
  ~TempDir();
  const std::filesystem::path& path() const { return path_; }

 private:
  explicit TempDir(std::filesystem::path path) : path_(std::move(path)) {}
  std::filesystem::path path_;
};

// A regular file; or what this process has open already, by the names /dev/stdin, /dev/fd/N and
// /proc/self/fd/N. Any other pipe or device is refused: it might never end, nor even begin. Errors:
// not_found, io_failed, limit_exceeded; each names the file.
Result<std::string> read_file(const std::filesystem::path& path, std::size_t max_bytes = 16 << 20);
// Where a text for `path` comes to stand: symbolic links are followed to their end, also if nothing
// is there yet. Errors: io_failed (a loop of links, a folder), naming the file.
Result<std::filesystem::path> find_write_target(const std::filesystem::path& path);
// A regular file, or one that is not there yet, is written beside find_write_target() and renamed:
// a reader sees the old text or the new one, also when several threads write; mode 0644 less the
// umask. Not forced to the disk. A pipe, a device, or what is open already (/dev/stdout, /dev/fd/N)
// stays what it is and is written to; that may block as long as its reader does. Errors: io_failed,
// naming the file (a folder; a pipe that nobody reads); nothing is left beside it.
Result<void> write_file(const std::filesystem::path& path, std::string_view text);

}  // namespace onceproof
