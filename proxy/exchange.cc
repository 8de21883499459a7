#include "proxy/exchange.h"

#include <fmt/format.h>

#include "base/text.h"

namespace onceproof::proxy {
namespace {

constexpr Milliseconds kGentle{2'000};

std::string path_of(std::string_view target) {
  return std::string(target.substr(0, target.find_first_of("?#")));
}

std::string header(const net::RequestHead& head, const std::string& name) {
  const auto it = head.headers.find(name);
  return it == head.headers.end() ? std::string() : it->second;
}

bool has_no_body(int status) {
  return status == 204 || status == 304;
}

// A reply of the proxy's own, or of a fault.
std::string text_of(const faults::HttpReply& reply, bool keep, bool to_head) {
  std::string text = fmt::format("HTTP/1.1 {} \r\n", reply.status);
  if (!keep) text += "Connection: close\r\n";
  for (const auto& [name, value] : reply.headers) text += fmt::format("{}: {}\r\n", name, value);
  if (!has_no_body(reply.status)) {
    text += fmt::format("Content-Length: {}\r\nContent-Type: {}\r\n", reply.body.size(),
                        reply.content_type);
  }
  text += "\r\n";
  if (!to_head && !has_no_body(reply.status)) text += reply.body;
  return text;
}

}  // namespace

Exchange::Exchange(Session& session, net::HeadOnly request)
    : session_(session),
      parts_(session.parts),
      request_(std::move(request)),
      path_(path_of(request_.head.target)),
      client_(session, request_.head) {}

bool Exchange::run() {
  log_request();
  const Next next = play();
  if (next != Next::keep) session_.upstream.reset();
  if (parts_.on_end) parts_.on_end(facts_.request);
  return next == Next::keep && !session_.stop.stop_requested();
}

Exchange::Next Exchange::play() {
  if (net::lists(header(request_.head, "upgrade"), "websocket")) {
    return give_up(501, "upgrade_not_implemented",
                   "the proxy does not carry websockets; nothing was sent to the upstream");
  }
  Next next = strike(faults::Point::request_received);
  if (next != Next::go_on) return next;
  if (const auto twice = parts_.duplicates.visit(request_.head.method, path_, facts_.key)) {
    next = read_body_into(held_, parts_.limits.duplicate_bytes);
    if (next != Next::go_on) return next;
    if (client_.body_done() && held_.size() <= parts_.limits.duplicate_bytes) {
      deliver_once();
    } else {
      note(fmt::format("a body of more than {} bytes is not delivered twice",
                       parts_.limits.duplicate_bytes));
    }
  }
  next = send();
  while (next == Next::go_on) next = step();
  return next;
}

void Exchange::log_request() {
  facts_.service = "upstream";
  facts_.route = route_of(parts_.routes, request_.head.method, path_);
  facts_.key = header(request_.head, parts_.key_header);
  fakes::WireEntry entry;
  entry.connection = session_.client.number();
  entry.service = facts_.service;
  entry.route = facts_.route;
  entry.method = request_.head.method;
  entry.target = request_.head.target;
  entry.headers = request_.head.headers;
  entry.key = facts_.key;
  entry.received_at = parts_.clock.monotonic();
  facts_.request = parts_.wire_log.add(std::move(entry));
  if (client_.body_done()) log_body();
}

void Exchange::log_body() {
  const auto now = parts_.clock.monotonic();
  parts_.wire_log.update(facts_.request, [&](fakes::WireEntry& e) {
    e.body = client_.beginning();
    e.body_sha256 = client_.digest();
    e.received_at = now;
  });
}

void Exchange::note(std::string_view text, std::string_view fault) {
  parts_.wire_log.update(facts_.request, [&](fakes::WireEntry& e) {
    if (!text.empty()) e.note += (e.note.empty() ? "" : "; ") + std::string(text);
    if (e.fault.empty()) e.fault = fault;
  });
}

std::optional<Strike> Exchange::visit(faults::Point point) {
  if (const auto firing = parts_.faults.visit(point, facts_)) {
    auto strike = make_strike(firing->action);
    note(strike ? "" : "the proxy cannot do what the fault says", firing->fault);
    return strike;
  }
  if (point != faults::Point::after_commit) return std::nullopt;
  const auto rule = parts_.truncations.visit(request_.head.method, path_, facts_.key);
  if (!rule) return std::nullopt;
  note("", "truncate");
  Strike strike;
  strike.ending = faults::Ending::close;
  strike.let_through = rule->at;
  return strike;
}

Exchange::Next Exchange::strike(faults::Point point) {
  const auto strike = visit(point);
  if (!strike) return Next::go_on;
  if (strike->delay > Milliseconds{0}) {
    return parts_.clock.wait_for(strike->delay, session_.stop) ? Next::go_on : Next::end;
  }
  if (strike->let_through) {
    let_through_ = strike->let_through;
    return Next::go_on;
  }
  if (point == faults::Point::request_received) {
    std::string dropped;
    while (!client_.body_done()) {
      dropped.clear();
      if (const Next next = read_body_into(dropped, 0); next != Next::go_on) return next;
    }
  } else {
    // To the upstream all is well: its reply is read to the end.
    const auto whole = drop_reply(parts_.limits.drain);
    if (!whole || !reply_->keep_alive || !client_.body_done()) session_.upstream.reset();
  }
  return carry_out(*strike);
}

Exchange::Next Exchange::carry_out(const Strike& strike) {
  return strike.reply ? answer(*strike.reply) : end(strike.ending);
}

// Until the body ends or `into` has more than `limit` bytes.
Exchange::Next Exchange::read_body_into(std::string& into, std::size_t limit) {
  while (!client_.body_done()) {
    client_.say_continue();
    const auto piece = client_.read_body(into);
    if (piece != ClientSide::Piece::bytes) return body_failed(piece);
    if (client_.body_done()) log_body();
    if (into.size() > limit) break;
  }
  return Next::go_on;
}

// The first of two deliveries: its reply is nobody's. held_ is the whole body.
void Exchange::deliver_once() {
  note("", "duplicate");
  if (auto opened = open(); !opened) {
    return note("delivered once only: " + opened.error().message);
  }
  session_.upstream->put(request_.text + held_);
  const auto status = drop_reply(parts_.limits.reply);
  note(status ? fmt::format("delivered twice; the upstream answered {} to the first", *status)
              : "delivered twice; the upstream's reply to the first did not come whole");
  if (!status || !reply_->keep_alive || !arrived_.empty()) session_.upstream.reset();
  arrived_.clear();
  reply_.reset();
  interim_ = 0;
}

Exchange::Next Exchange::body_failed(ClientSide::Piece how) {
  session_.upstream.reset();
  if (how == ClientSide::Piece::left) {
    note("the client went away in the middle of its body");
    return end(faults::Ending::close);
  }
  if (how == ClientSide::Piece::slow) {
    return give_up(408, "request_timeout", "no more of the body came in time");
  }
  return give_up(400, "malformed_request", client_.broken());
}

Exchange::Next Exchange::answer(const faults::HttpReply& reply) {
  const auto& head = request_.head;
  const bool keep = head.keep_alive && !head.http_1_0 && client_.body_done();
  const std::string text = text_of(reply, keep, head.method == "HEAD");
  if (!client_.send_last(text, [&] { record_answer(reply.status, false); })) record_broken();
  return conclude(keep);
}

Exchange::Next Exchange::give_up(int status, std::string_view code, std::string_view message) {
  session_.upstream.reset();
  note(message);
  parts_.wire_log.update(facts_.request,
                         [](fakes::WireEntry& e) { e.disposition = fakes::Disposition::failed; });
  if (client_.sent() > 0) return end(faults::Ending::reset);
  return answer(faults::error_reply(status, code, message));
}

void Exchange::record_answer(int status, bool truth) {
  const auto now = parts_.clock.monotonic();
  const auto strike = visit(faults::Point::response_sent);
  if (strike) after_ = strike->ending;
  parts_.wire_log.update(facts_.request, [&](fakes::WireEntry& e) {
    e.status = status;
    e.responded_at = now;
    e.delivered = truth;
  });
}

void Exchange::record_broken() {
  after_ = faults::Ending::close;
  note("the client took no more of the reply");
  parts_.wire_log.update(facts_.request, [](fakes::WireEntry& e) {
    e.responded_at.reset();
    e.delivered = false;
  });
}

// The last byte of a reply is out.
Exchange::Next Exchange::conclude(bool keep) {
  net::Socket& socket = session_.client.socket();
  if (after_ == faults::Ending::reset) socket.await_acknowledged();
  if (after_ != faults::Ending::answer) return end(after_);
  if (keep) return Next::keep;
  // What the client still sends must not turn into an RST that eats the reply.
  if (!client_.body_done()) socket.close_gently(kGentle);
  return end(faults::Ending::close);
}

Exchange::Next Exchange::end(faults::Ending ending) {
  net::Socket& socket = session_.client.socket();
  if (ending == faults::Ending::hang) {
    socket.await_peer_end(parts_.clock.monotonic() + parts_.limits.hang);
  }
  if (ending == faults::Ending::reset) {
    socket.reset();
  } else {
    socket.close();
  }
  return Next::end;
}

}  // namespace onceproof::proxy
