#include "proxy/strike.h"

#include <fmt/format.h>

namespace onceproof::proxy {

std::optional<Strike> make_strike(const faults::Action& action) {
  Strike strike;
  switch (action.kind) {
    case faults::ActionKind::close:
      strike.ending = faults::Ending::close;
      return strike;
    case faults::ActionKind::reset:
      strike.ending = faults::Ending::reset;
      return strike;
    case faults::ActionKind::hang:
      strike.ending = faults::Ending::hang;
      return strike;
    case faults::ActionKind::status:
      strike.reply = {
          .status = action.status, .body = action.body, .content_type = action.content_type};
      if (action.duration > Milliseconds{0}) {
        strike.reply->headers.emplace_back("Retry-After", faults::retry_after_text(action));
      }
      return strike;
    case faults::ActionKind::delay:
      strike.delay = action.duration;
      return strike;
    default:  // kill: there is no worker to kill
      return std::nullopt;
  }
}

Result<void> check_for_proxy(const faults::Fault& fault) {
  if (make_strike(fault.action)) return {};
  return fail(ErrorCode::invalid_argument,
              fmt::format("fault: the proxy cannot {}; it can close, reset, hang, status and delay "
                          "(and duplicate and truncate by options of its own)",
                          faults::to_text(fault.action.kind)));
}

}  // namespace onceproof::proxy
