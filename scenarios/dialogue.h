// What the runner and the workers say to each other: sends requests, reads answers, writes both
// into the history, and holds the SUT to the protocol (docs/sut-protocol.md). Invariant: after the
// first breach of the protocol nothing more is sent, and failure() says what it was. A worker that
// we killed breaches nothing: its exchange has no answer.
#pragma once

#include <cstdint>
#include <stop_token>
#include <string>
#include <vector>

#include "base/clock.h"
#include "scenarios/history.h"
#include "scenarios/stage.h"

namespace onceproof::scenarios {

class Dialogue {
 public:
  // All outlive this. `deadline` is the cell's.
  Dialogue(Stage& stage, History& history, Clock& clock, Milliseconds answer_timeout,
           MonotonicTime deadline, std::stop_token stop);

  // One request and its answer. False: the cell cannot go on (failure() or interrupted).
  bool exchange(Exchange request);
  // All are sent, in order and each to a worker of its own, before any answer is read.
  bool exchange_all(std::vector<Exchange> requests);

  Exchange make_submit(const SubmitStep& step, std::size_t index) const;

  // What the SUT last said of an intent, as it stands in the scenario; empty: nothing yet.
  std::string last_status(const std::string& intent) const;
  bool is_settled(const std::string& intent) const;  // succeeded, failed_final or review

  // Why the cell cannot be judged; the first cause stays. Empty: nothing went wrong.
  const std::string& failure() const { return failure_; }
  void fail_sut(std::string why);

 private:
  struct Pending {
    Exchange exchange;
    std::int64_t id = 0;
    Worker* worker = nullptr;
    Result<Json> answer = Json();
  };

  bool send(Pending& pending);
  void receive(Pending& pending);
  bool take_in(Pending& pending);
  bool explain_silence(const Pending& pending);
  Json make_message(const Exchange& exchange, std::int64_t id) const;
  std::string complaint(const Pending& pending) const;

  Stage& stage_;
  History& history_;
  Clock& clock_;
  Milliseconds answer_timeout_;
  MonotonicTime deadline_;
  std::stop_token stop_;
  std::int64_t next_id_ = 1;
  std::string failure_;
};

}  // namespace onceproof::scenarios
