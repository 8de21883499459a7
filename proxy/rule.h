// "METHOD PATH [nth=N] [times=N] [key=K] [at=BYTES]": which requests the proxy's own faults hit,
// and what a request's route is called. Invariant: which request a rule hits is decided by its
// match and its count alone.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/guarded.h"

namespace onceproof::proxy {

// A method and a path, each a glob (fnmatch: * stands for any text).
struct RequestPattern {
  std::string method = "*";
  std::string path = "*";
  bool matches(std::string_view request_method, std::string_view request_path) const;
};
// "POST /payments/*". Errors: parse_failed.
Result<RequestPattern> parse_pattern(std::string_view text);

struct Route {
  std::string name;
  RequestPattern pattern;
};
// "create=POST /payments". Errors: parse_failed.
Result<Route> parse_route(std::string_view text);
// The name of the first route that matches; "POST /payments" if none does.
std::string route_of(const std::vector<Route>& routes, std::string_view method,
                     std::string_view path);

struct Rule {
  RequestPattern on;
  std::optional<std::string> key;
  std::uint32_t nth = 1;    // from the nth that matches,
  std::uint32_t times = 1;  // so many in a row
  std::uint64_t at = 0;     // truncate: bytes of the reply that go through
};
// Errors: parse_failed, naming the word. `takes_at`: at=BYTES must be there; else it may not.
Result<Rule> parse_rule(std::string_view text, bool takes_at);

// Thread-safe: visits from concurrent requests are counted in one order.
class RuleCounter {
 public:
  explicit RuleCounter(std::vector<Rule> rules);
  // The first rule that is due; every rule that matches counts the visit.
  std::optional<Rule> visit(std::string_view method, std::string_view path, std::string_view key);

 private:
  struct Counted {
    Rule rule;
    std::uint64_t visits = 0;
  };
  Guarded<std::vector<Counted>> rules_;
};

}  // namespace onceproof::proxy
