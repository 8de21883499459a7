#include "base/file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <system_error>

namespace onceproof {
namespace {

constexpr int kMostLinks = 40;  // as the kernel

std::string reason(int error) {
  return std::generic_category().message(error);
}

tl::unexpected<Error> cannot(std::string_view what, const std::filesystem::path& path, int error) {
  return fail(error == ENOENT && what == "read" ? ErrorCode::not_found : ErrorCode::io_failed,
              fmt::format("cannot {} {}: {}", what, path.string(), reason(error)));
}

bool names_open_descriptor(std::string_view path) {
  return path == "/dev/stdin" || path == "/dev/stdout" || path == "/dev/stderr" ||
         path.starts_with("/dev/fd/") || path.starts_with("/proc/self/fd/");
}

// There, and neither a regular file nor a folder.
bool is_special(const std::filesystem::path& path) {
  struct stat found {};
  return ::stat(path.c_str(), &found) == 0 && !S_ISREG(found.st_mode) && !S_ISDIR(found.st_mode);
}

// 0, or the errno.
int write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = ::write(fd, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno;
    text.remove_prefix(static_cast<std::size_t>(n));
  }
  return 0;
}

Result<void> write_through(const std::filesystem::path& path, std::string_view text) {
  // Without O_NONBLOCK, to open a FIFO that nobody reads would wait for ever.
  const UniqueFd fd(::open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
  if (!fd.valid() && errno == ENXIO) {
    return fail(ErrorCode::io_failed,
                fmt::format("cannot write {}: nobody reads it", path.string()));
  }
  if (!fd.valid()) return cannot("write", path, errno);
  const int flags = ::fcntl(fd.get(), F_GETFL);
  if (flags < 0 || ::fcntl(fd.get(), F_SETFL, flags & ~O_NONBLOCK) != 0) {
    return cannot("write", path, errno);
  }
  if (const int error = write_all(fd.get(), text)) return cannot("write", path, error);
  return {};
}

}  // namespace

UniqueFd& UniqueFd::operator=(UniqueFd&& other) noexcept {
  if (this != &other) {
    reset();
    fd_ = std::exchange(other.fd_, -1);
  }
  return *this;
}

void UniqueFd::reset() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

Result<TempDir> TempDir::make(std::string_view prefix) {
  std::error_code ec;
  const auto base = std::filesystem::temp_directory_path(ec);
  if (ec) return fail(ErrorCode::io_failed, "TMPDIR is not a usable folder: " + ec.message());
  std::string name = (base / fmt::format("{}-XXXXXX", prefix)).string();
  if (::mkdtemp(name.data()) == nullptr) {
    return fail(ErrorCode::io_failed,
                fmt::format("cannot make a folder under {}: {}", base.string(), reason(errno)));
  }
  return TempDir(name);
}

TempDir::~TempDir() {
  if (path_.empty()) return;
  std::error_code ignored;  // a process that is just dying may still write: once more is enough
  for (int tries = 0; tries < 3; ++tries) {
    std::filesystem::remove_all(path_, ignored);
    if (!ignored) break;
  }
}

Result<std::string> read_file(const std::filesystem::path& path, std::size_t max_bytes) {
  const bool open_already = names_open_descriptor(path.native());
  if (!open_already && is_special(path)) {
    return fail(ErrorCode::io_failed,
                fmt::format("cannot read {}: it is no regular file", path.string()));
  }
  // O_NONBLOCK: should it have become a FIFO just now.
  const UniqueFd fd(
      ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | (open_already ? 0 : O_NONBLOCK)));
  if (!fd.valid()) return cannot("read", path, errno);
  std::string text;
  char buffer[1 << 14];
  for (;;) {
    const ssize_t n = ::read(fd.get(), buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return cannot("read", path, errno);
    if (n == 0) return text;
    text.append(buffer, static_cast<std::size_t>(n));
    if (text.size() > max_bytes) {
      return fail(ErrorCode::limit_exceeded,
                  fmt::format("{} is larger than {} bytes", path.string(), max_bytes));
    }
  }
}

Result<std::filesystem::path> find_write_target(const std::filesystem::path& path) {
  std::filesystem::path target = path;
  std::error_code ec;
  for (int links = 0; std::filesystem::is_symlink(target, ec); ++links) {
    if (links == kMostLinks) return cannot("write", path, ELOOP);
    const auto next = std::filesystem::read_symlink(target, ec);
    if (ec) return cannot("write", path, ec.value());
    target = target.parent_path() / next;  // an absolute one replaces the folder
  }
  if (std::filesystem::is_directory(target, ec)) return cannot("write", path, EISDIR);
  return target;
}

Result<void> write_file(const std::filesystem::path& path, std::string_view text) {
  static std::atomic<unsigned> counter{0};  // two threads may write one file at once
  if (is_special(path) || names_open_descriptor(path.native())) return write_through(path, text);
  const auto target = find_write_target(path);
  if (!target) return tl::unexpected(target.error());
  const std::string beside = fmt::format("{}.{}-{}.tmp", target->string(), ::getpid(), ++counter);
  UniqueFd fd(::open(beside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  int error = fd.valid() ? write_all(fd.get(), text) : errno;
  fd.reset();
  if (error == 0 && ::rename(beside.c_str(), target->c_str()) != 0) error = errno;
  if (error == 0) return {};
  ::unlink(beside.c_str());
  return cannot("write", path, error);
}

}  // namespace onceproof
