#include "scenarios/suts/stderr_ring.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

#include "base/check.h"

namespace onceproof::scenarios {
namespace {

constexpr int kFinishMs = 200;

UniqueFd make_eventfd() {
  UniqueFd fd(::eventfd(0, EFD_CLOEXEC));
  CHECK(fd.valid());  // out of descriptors: nothing could be run at all
  return fd;
}

void raise_eventfd(const UniqueFd& fd) {
  const std::uint64_t one = 1;
  CHECK(::write(fd.get(), &one, sizeof one) == sizeof one);
}

}  // namespace

StderrRing::StderrRing(int fd)
    : fd_(fd), stop_(make_eventfd()), ended_(make_eventfd()), thread_([this] { run(); }) {}

StderrRing::~StderrRing() {
  raise_eventfd(stop_);
}

std::string StderrRing::tail() {
  auto bytes = bytes_.lock();
  return bytes->size() <= kBytes ? *bytes : bytes->substr(bytes->size() - kBytes);
}

void StderrRing::finish() {
  pollfd entry{ended_.get(), POLLIN, 0};
  ::poll(&entry, 1, kFinishMs);
}

void StderrRing::run() {
  char chunk[1 << 16];
  for (;;) {
    pollfd entries[2] = {{fd_, POLLIN, 0}, {stop_.get(), POLLIN, 0}};
    if (::poll(entries, 2, -1) < 0 && errno != EINTR) break;
    if (entries[1].revents != 0) break;
    if (entries[0].revents == 0) continue;
    const ssize_t n = ::read(fd_, chunk, sizeof chunk);
    if (n == 0 || (n < 0 && errno != EINTR && errno != EAGAIN)) break;
    if (n < 0) continue;
    auto bytes = bytes_.lock();
    bytes->append(chunk, static_cast<std::size_t>(n));
    if (bytes->size() > 2 * kBytes) bytes->erase(0, bytes->size() - kBytes);
  }
  raise_eventfd(ended_);
}

}  // namespace onceproof::scenarios
