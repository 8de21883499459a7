#include "fakes/host.h"

#include <fmt/format.h>

namespace onceproof::fakes {

Result<std::unique_ptr<Host>> Host::start(HostOptions options, Clock& clock) {
  auto service = make_service(options.service);
  if (!service) return tl::unexpected(service.error());
  auto ledger = Ledger::open(options.ledger, options.durability, clock);
  if (!ledger) return tl::unexpected(ledger.error());
  faults::ServerOptions listen;
  listen.bind = options.bind;
  listen.port = options.port;
  std::unique_ptr<Host> host(
      new Host(std::move(options), std::move(*service), std::move(*ledger), clock));
  FakeParts& parts = host->parts_;
  auto server = faults::HttpServer::start(
      std::move(listen),
      {.accepted =
           [&parts](std::uint64_t connection, std::stop_token stop) {
             return meet_connection(parts, connection, std::move(stop));
           },
       .serve =
           [&parts](const faults::HttpRequest& request, std::stop_token stop) {
             return serve_request(parts, request, std::move(stop));
           },
       .refused = [&parts](const faults::HttpRequest& request,
                           int status) { log_refused(parts, request, status); }},
      clock);
  if (!server) return tl::unexpected(server.error());
  host->server_ = std::move(*server);
  return host;
}

Host::Host(HostOptions options, std::unique_ptr<Service> service, std::unique_ptr<Ledger> ledger,
           Clock& clock)
    : profile_(std::move(options.profile)),
      service_(std::move(service)),
      ledger_(std::move(ledger)),
      faults_(clock),
      parts_{.service = *service_,
             .profile = profile_,
             .ledger = *ledger_,
             .wire_log = wire_log_,
             .faults = faults_,
             .clock = clock,
             .kill_worker = std::move(options.kill_worker),
             .pause_worker = std::move(options.pause_worker)} {}

std::string Host::url_for(std::string_view worker) const {
  return fmt::format("{}/{}", url(), worker);
}

Result<void> Host::reset() {
  faults_.reset();
  wire_log_.clear();
  parts_.gate.clear();
  return ledger_->clear();
}

}  // namespace onceproof::fakes
