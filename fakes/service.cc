#include "fakes/service.h"

#include <fmt/format.h>

#include "fakes/payments.h"

namespace onceproof::fakes {

faults::HttpReply Service::refuse_key(const Reading&, KeyProblem problem) const {
  return problem == KeyProblem::mismatch
             ? faults::error_reply(422, "idempotency_mismatch",
                                   "this Idempotency-Key was used with another body")
             : faults::error_reply(409, "idempotency_in_flight",
                                   "the first request with this Idempotency-Key has not ended");
}

Result<std::unique_ptr<Service>> make_service(std::string_view name) {
  if (name == "payments") return std::unique_ptr<Service>(std::make_unique<Payments>());
  return fail(ErrorCode::invalid_argument,
              fmt::format("no service '{}'; there is: payments", name));
}

}  // namespace onceproof::fakes
