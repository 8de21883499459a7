// One operation's turn with the provider: ask, or call, and record what the core decides. Shared by
// Executor and Reconciler. Invariant: every write names the attempt that it is about; what was
// learned is written before it is told. Decides nothing itself. Source: guide, steps 6-7.
#pragma once

#include "reference/executor.h"

namespace onceproof {

class Turn {
 public:
  static constexpr std::string_view kKeyMissing = "key_missing";

  // All of them must outlive the turn.
  Turn(const ExecutorParts& parts, const ToolPolicy& policy, Provider& provider)
      : parts_(parts), policy_(policy), provider_(provider) {}

  struct Recorded {
    enum class How {
      written,
      bounced,     // the record had moved on; `operation` is what the journal says now
      unrecorded,  // the journal did not take it, also after some retries; `operation` is as it was
                   // before
    };
    Operation operation;
    How how = How::written;
    bool duplicate = false;  // a second effect came to light; the journal keeps it as an event
    std::string error_code;  // written: what was learned; unrecorded: of the journal
  };

  struct Verified {
    Decision decision;  // claim_and_call: nothing was recorded, the driver goes on
    Recorded recorded;
  };

  // What every attempt of an operation sends: the very parameters of the first one if they were
  // kept, for a provider may compare bytes, and a field that does not count may be another one now;
  // else those given.
  Json params_of(const Operation& operation, const Json& given, const Json& normalised);
  // Claims the next attempt; nullopt: somebody else was faster. Errors: not_found,
  // journal_unavailable.
  Result<std::optional<Claim>> claim(const Operation& operation);
  // Asks the provider, once. Blocks for at most call_timeout, plus local transactions.
  Verified verify(const Operation& operation);
  // Sends the claimed attempt, if its lease still allows it. `prior` is the status before the
  // claim. Blocks as verify.
  Recorded call(const Operation& claimed, Status prior, const Json& params);
  // Claims, and sends the parameters that were kept; to a person if they are damaged. Nothing is
  // done if this process does not have their key: another one may.
  Recorded deliver(const Operation& operation);
  // A resend was decided, and its parameters are not at hand. Past unknown_after it goes to a
  // person; before, what a dead worker left is noted as unknown, so that unknown_after begins, and
  // of what is noted nothing is written: its check stays due, so that the next submit resends at
  // once.
  Recorded leave_to_submit(const Operation& operation);

 private:
  struct Learned {  // what there is to write, beside the decision
    std::string external_id;
    Json result;
    std::string error_code;
  };
  struct Written {
    Operation operation;
    bool duplicate = false;
  };

  Recorded record(const Operation& operation, const Decision& decision, const Learned& learned);
  Result<Written> write(const Operation& operation, const Decision& decision,
                        const Learned& learned);
  Recorded read_again(const Operation& operation);
  std::vector<Operation> follow_ups(const Operation& operation, const Learned& learned,
                                    CivilTime now) const;
  Json allowed_result(const Json& result) const;

  const ExecutorParts& parts_;
  const ToolPolicy& policy_;
  Provider& provider_;
  Json params_;  // null: not known; what follows a success may name them
};

}  // namespace onceproof
