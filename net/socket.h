// One accepted connection at the level of bytes: bounded reads and writes, and the exact ways in
// which a connection can end.
// Invariant: no call blocks beyond its deadline, and cut() from another thread ends every wait at
// once. The descriptor never reaches a child process and is closed once.
// One thread owns a Socket; only cut() and cut_if_quiet() may come from others.
#pragma once

#include <mutex>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/file.h"

namespace onceproof::net {

class Socket {
 public:
  // Sets TCP_NODELAY. Waits end by real time, whatever clock is given: a virtual one stands still.
  Socket(UniqueFd fd, Clock& clock);
  ~Socket();

  enum class Arrival { bytes, closed, timed_out };
  // Appends what has arrived, at most 16 KiB, to `into`. closed: FIN, RST or cut.
  Arrival read_some(std::string& into, MonotonicTime deadline);
  // The last read found an RST, not a FIN.
  bool was_reset() const { return was_reset_; }
  // Waits for the first of what is asked of two; nothing in the answer: the time is over.
  struct Events {
    bool read = false;   // there is something to read, or the peer has ended
    bool write = false;  // the kernel takes bytes again
    bool ended = false;  // the peer has closed or reset (or half-closed), whatever is left to read
  };
  struct Pair {
    Events first, second;
    bool none() const {
      return !first.read && !first.write && !first.ended && !second.read && !second.write &&
             !second.ended;
    }
  };
  static Pair await(Socket& first, Socket& second, const Pair& asked, MonotonicTime deadline);
  // How many bytes the kernel took: all of them, unless the connection broke or the time was over.
  // `more`: hold back what does not fill a packet, for more follows at once.
  std::size_t write(std::string_view bytes, MonotonicTime deadline, bool more = false);
  // Until the peer has closed or reset (or half-closed: no telling apart), or the time is over.
  void await_peer_end(MonotonicTime deadline);
  // Until the peer's kernel has acknowledged all that was written, it is gone, or about 200 ms.
  void await_acknowledged();

  // The endings; the Socket is of no use afterwards.
  void close();  // FIN; what the peer sent and nobody read does not turn it into an RST
  void reset();  // RST
  // FIN, then what the peer still sends is dropped until it closes too, for at most `patience`: a
  // peer in the middle of a long body can so read the reply before its connection dies.
  void close_gently(Milliseconds patience);

  // Ends every wait of the owner; the peer sees FIN.
  void cut();
  // The same, unless something has arrived that nobody has read yet. True: it was cut.
  bool cut_if_quiet();

 private:
  bool wait_for(short events, MonotonicTime deadline);
  void drop_arrived();

  Clock& clock_;
  std::mutex closing_;  // held to close fd_ and to touch it from another thread
  UniqueFd fd_;
  bool was_reset_ = false;
};

}  // namespace onceproof::net
