// One request's way through a fake, for every service: keys and mismatches, the fault points, the
// ledger's commit, the reply, and its entry in the wire log.
// Order: read -> admit -> [request_received] -> [before_commit] -> commit, look up, replay or
// refuse -> [after_commit]
// -> the reply's last byte -> [response_sent]. A key is in flight from its admission until its
// answer is stored, or until the request was struck down before the commit.
#pragma once

#include <stop_token>

#include "fakes/fake_parts.h"

namespace onceproof::fakes {

// Blocks as long as a `delay` fault says. Any thread.
faults::Decision serve_request(FakeParts& parts, const faults::HttpRequest& request,
                               std::stop_token stop);
// A connection was accepted and nothing of it was read: the point `connect`. What is done to it;
// `answer`: it goes on. One that a fault strikes has an entry in the wire log, route "connect".
faults::Ending meet_connection(FakeParts& parts, std::uint64_t connection, std::stop_token stop);
// A request that never became one (too long, garbage): logged, nothing else.
void log_refused(FakeParts& parts, const faults::HttpRequest& request, int status);

}  // namespace onceproof::fakes
