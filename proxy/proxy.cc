#include "proxy/proxy.h"

#include <fmt/format.h>

#include "base/text.h"
#include "proxy/exchange.h"
#include "proxy/strike.h"

namespace onceproof::proxy {
namespace {

constexpr Milliseconds kRefusalPatience{2'000};

std::string refusal_text(const net::Refusal& refusal) {
  const auto reply = faults::error_reply(refusal.status, refusal.code, refusal.message);
  return fmt::format(
      "HTTP/1.1 {} \r\nConnection: close\r\nContent-Length: {}\r\nContent-Type: {}\r\n\r\n{}",
      refusal.status, reply.body.size(), reply.content_type, reply.body);
}

// With the upstream's name in the Host line; all else stays.
std::string with_host(const std::string& head, const std::string& authority) {
  for (auto at = head.find("\r\n"); at + 2 < head.size(); at = head.find("\r\n", at + 2)) {
    const auto begin = at + 2;
    const auto end = head.find("\r\n", begin);
    if (to_lower(std::string_view(head).substr(begin, 5)) != "host:") continue;
    return head.substr(0, begin + 5) + " " + authority + head.substr(end);
  }
  return head;
}

}  // namespace

Proxy::Proxy(ProxyOptions options, std::unique_ptr<Upstream> upstream, Clock& clock)
    : options_(std::move(options)),
      upstream_(std::move(upstream)),
      clock_(clock),
      faults_(clock),
      duplicates_(options_.duplicates),
      truncations_(options_.truncations) {
  parts_ = std::make_unique<ProxyParts>(
      ProxyParts{*upstream_, options_.limits, options_.routes, to_lower(options_.key_header),
                 faults_, wire_log_, duplicates_, truncations_, clock_, nullptr});
  if (!options_.on_end) return;
  parts_->on_end = [this](std::uint64_t number) {
    for (const auto& entry : wire_log_.entries(number - 1, 1)) options_.on_end(entry);
  };
}

Result<std::unique_ptr<Proxy>> Proxy::start(ProxyOptions options, Clock& clock) {
  if (!is_http_token(options.key_header)) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("'{}' is no name of a header", escape_terminal(options.key_header)));
  }
  auto upstream = Upstream::make(options.upstream, options.ca_file);
  if (!upstream) return tl::unexpected(upstream.error());
  std::unique_ptr<Proxy> proxy(new Proxy(std::move(options), std::move(*upstream), clock));
  Proxy* self = proxy.get();
  for (const auto& fault : self->options_.faults) {
    if (auto armed = self->arm(fault); !armed) return tl::unexpected(armed.error());
  }
  auto listener = net::Listener::start(
      {self->options_.bind, self->options_.port, self->options_.limits.connections},
      [self](net::Connection& connection, const std::stop_token& stop) {
        self->serve(connection, stop);
      },
      clock);
  if (!listener) return tl::unexpected(listener.error());
  proxy->listener_ = std::move(*listener);
  return proxy;
}

Result<std::string> Proxy::arm(faults::Fault fault) {
  if (auto checked = check_for_proxy(fault); !checked) return tl::unexpected(checked.error());
  return faults_.arm(std::move(fault));
}

void Proxy::serve(net::Connection& connection, const std::stop_token& stop) {
  net::RequestReader reader(connection, options_.limits, clock_);
  Session session{connection, reader, nullptr, *parts_, stop};
  while (!stop.stop_requested()) {
    auto next = reader.next_head();
    if (const auto* refused = std::get_if<net::RefusedRequest>(&next)) {
      fakes::WireEntry entry;
      entry.connection = connection.number();
      entry.service = "upstream";
      entry.route = "other";
      entry.method = refused->head.method;
      entry.target = refused->head.target;
      entry.received_at = clock_.monotonic();
      entry.status = refused->refusal.status;
      entry.disposition = fakes::Disposition::rejected;
      entry.note = refused->refusal.message;
      const auto number = wire_log_.add(std::move(entry));
      connection.socket().write(refusal_text(refused->refusal),
                                clock_.monotonic() + options_.limits.write);
      connection.socket().close_gently(kRefusalPatience);
      if (parts_->on_end) parts_->on_end(number);
      return;
    }
    auto* head = std::get_if<net::HeadOnly>(&next);
    if (head == nullptr) return;
    if (options_.upstream_host) head->text = with_host(head->text, upstream_->url().authority);
    if (!Exchange(session, std::move(*head)).run()) return;
  }
}

}  // namespace onceproof::proxy
