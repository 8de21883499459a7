#include "base/file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <system_error>

namespace onceproof {
namespace {

std::string reason(int error) {
  return std::generic_category().message(error);
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
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid()) {
    return fail(errno == ENOENT ? ErrorCode::not_found : ErrorCode::io_failed,
                fmt::format("cannot read {}: {}", path.string(), reason(errno)));
  }
  std::string text;
  char buffer[1 << 14];
  for (;;) {
    const ssize_t n = ::read(fd.get(), buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) {
      return fail(ErrorCode::io_failed,
                  fmt::format("cannot read {}: {}", path.string(), reason(errno)));
    }
    if (n == 0) return text;
    text.append(buffer, static_cast<std::size_t>(n));
    if (text.size() > max_bytes) {
      return fail(ErrorCode::limit_exceeded,
                  fmt::format("{} is larger than {} bytes", path.string(), max_bytes));
    }
  }
}

Result<void> write_file(const std::filesystem::path& path, std::string_view text) {
  static std::atomic<unsigned> counter{0};  // two threads may write one file at once
  const std::string beside = fmt::format("{}.{}-{}.tmp", path.string(), ::getpid(), ++counter);
  UniqueFd fd(::open(beside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  int error = fd.valid() ? 0 : errno;
  while (error == 0 && !text.empty()) {
    const ssize_t n = ::write(fd.get(), text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) {
      error = errno;
    } else {
      text.remove_prefix(static_cast<std::size_t>(n));
    }
  }
  fd.reset();
  if (error == 0 && ::rename(beside.c_str(), path.c_str()) != 0) error = errno;
  if (error == 0) return {};
  ::unlink(beside.c_str());
  return fail(ErrorCode::io_failed,
              fmt::format("cannot write {}: {}", path.string(), reason(error)));
}

}  // namespace onceproof
