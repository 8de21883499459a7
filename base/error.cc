#include "base/error.h"

#include <array>

#include "base/check.h"

namespace onceproof {
namespace {

constexpr std::array kTable{
    ErrorRow{ErrorCode::invalid_argument, "invalid_argument", Certainty::definite,
             "after correcting the value", "A value is outside what is allowed; nothing was done."},
    ErrorRow{ErrorCode::parse_failed, "parse_failed", Certainty::definite,
             "after correcting the text",
             "A text is not of the expected form; the message gives file:line:column."},
    ErrorRow{ErrorCode::not_found, "not_found", Certainty::definite, "when it exists",
             "The named thing does not exist."},
    ErrorRow{ErrorCode::already_exists, "already_exists", Certainty::definite, "with another name",
             "The named thing exists already and was left as it was."},
    ErrorRow{ErrorCode::limit_exceeded, "limit_exceeded", Certainty::definite,
             "with less, or with the limit raised", "An input is larger than its limit."},
    ErrorRow{ErrorCode::io_failed, "io_failed", Certainty::indefinite, "after the cause is mended",
             "The operating system refused a read or a write; part of it may have happened."},
    ErrorRow{ErrorCode::lease_held, "lease_held", Certainty::definite, "when the lease has ended",
             "Another worker holds a live lease on the operation; no call was made."},
    ErrorRow{ErrorCode::stale_attempt, "stale_attempt", Certainty::definite,
             "after reading the operation again",
             "The record moved on to a later attempt; this write was refused."},
    ErrorRow{ErrorCode::journal_unavailable, "journal_unavailable", Certainty::indefinite,
             "with backoff, reading the operation first",
             "The journal did not answer; its last write may or may not be there."},
    ErrorRow{ErrorCode::journal_corrupt, "journal_corrupt", Certainty::definite, "never",
             "The journal failed its integrity check; it is not used until a person looked at it."},
    ErrorRow{ErrorCode::connection_failed, "connection_failed", Certainty::indefinite,
             "after verifying the outcome", "The connection broke; the request may have arrived."},
    ErrorRow{ErrorCode::timed_out, "timed_out", Certainty::indefinite,
             "after verifying the outcome",
             "No complete answer came in time; the outcome is unknown."},
    ErrorRow{ErrorCode::port_busy, "port_busy", Certainty::definite, "on another port",
             "The port is in use by another process."},
    ErrorRow{ErrorCode::sut_failed, "sut_failed", Certainty::indefinite, "after mending the SUT",
             "The system under test could not be started, broke its protocol, hung or exited."},
    ErrorRow{ErrorCode::unsupported, "unsupported", Certainty::definite, "never",
             "This combination is not offered; the message says what is."},
    ErrorRow{ErrorCode::interrupted, "interrupted", Certainty::indefinite, "when you like",
             "The work was stopped by a signal before its end."},
};

}  // namespace

std::span<const ErrorRow> error_table() {
  return kTable;
}

const ErrorRow& error_row(ErrorCode code) {
  const auto index = static_cast<std::size_t>(code);
  CHECK(index < kTable.size() && kTable[index].code == code);
  return kTable[index];
}

}  // namespace onceproof
