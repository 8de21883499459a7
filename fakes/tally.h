// What a wire log comes to in numbers: for the metrics. Only what is decided is counted, also of
// entries that the log has forgotten; a reply that breaks after its last byte was due is taken
// back.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>

namespace onceproof::fakes {

struct WireEntry;
enum class Disposition;

struct Tally {
  // Upper bounds in seconds, inclusive.
  static constexpr std::array kBounds{0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05,
                                      0.1,    0.25,  0.5,    1.0,   2.5,  10.0};
  // Service, route, disposition.
  std::map<std::tuple<std::string, std::string, Disposition>, std::uint64_t> requests;
  // Of the requests whose reply was written: how many took at most the bound of the same place
  // (each in the first that holds it).
  std::array<std::uint64_t, kBounds.size()> within{};
  std::uint64_t timed = 0;
  double seconds = 0;

  void add(const WireEntry& entry);
};

}  // namespace onceproof::fakes
