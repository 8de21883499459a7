#include "fakes/key_gate.h"

namespace onceproof::fakes {

Result<KeyGate::Entry> KeyGate::enter(const std::string& key, const std::string& fingerprint,
                                      Ledger& ledger, Milliseconds window, MonotonicTime now) {
  auto in_flight = in_flight_.lock();
  if (const auto first = in_flight->find(key); first != in_flight->end()) {
    if (first->second != fingerprint) return Entry{Mismatch{}};
    return Entry{InFlight{}};
  }
  auto stored = ledger.find_key(key);
  if (!stored) return tl::unexpected(stored.error());
  if (*stored && now < (*stored)->first_seen_at + window) {
    if ((*stored)->fingerprint != fingerprint) return Entry{Mismatch{}};
    return Entry{std::move(**stored)};
  }
  (*in_flight)[key] = fingerprint;
  return Entry{Fresh{}};
}

void KeyGate::leave(const std::string& key) {
  in_flight_.lock()->erase(key);
}

}  // namespace onceproof::fakes
