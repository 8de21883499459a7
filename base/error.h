// Operating failures as values: what failed, and whether it is certain that nothing happened.
// Invariant: every code stands in one table with its certainty; a code is never made outside it.
// Not for business answers (those are data) and not for bugs (those are CHECKs).
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

namespace onceproof {

// definite: the thing asked for certainly did not happen. indefinite: it may have happened.
enum class Certainty { definite, indefinite };

enum class ErrorCode {
  invalid_argument,
  parse_failed,
  not_found,
  already_exists,
  limit_exceeded,
  io_failed,
  lease_held,
  stale_attempt,
  journal_unavailable,
  journal_corrupt,
  connection_failed,
  timed_out,
  port_busy,
  sut_failed,
  unsupported,
  interrupted,
};

struct ErrorRow {
  ErrorCode code;
  std::string_view name;
  Certainty certainty;
  std::string_view retry;     // when asking again makes sense
  std::string_view sentence;  // what it means, for people
};

// All codes, in the order of the enum. `onceproof errors` prints it; docs/errors.md is generated
// from it.
std::span<const ErrorRow> error_table();
const ErrorRow& error_row(ErrorCode code);

struct Error {
  ErrorCode code;
  std::string message;  // what was wrong, where, and what would be right

  Certainty certainty() const { return error_row(code).certainty; }
};

template <typename T>
using Result = tl::expected<T, Error>;

// `return fail(ErrorCode::not_found, "no scenario 'x'; see onceproof list");`
inline tl::unexpected<Error> fail(ErrorCode code, std::string message) {
  return tl::unexpected<Error>(Error{code, std::move(message)});
}

}  // namespace onceproof
