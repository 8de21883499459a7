// The upstream's side of an Exchange: bytes go out and come back, both at once.
#include <fmt/format.h>

#include "proxy/exchange.h"

namespace onceproof::proxy {
namespace {

using Arrival = net::Socket::Arrival;

}  // namespace

Result<void> Exchange::open() {
  auto& upstream = session_.upstream;
  if (upstream && upstream->is_quiet()) {
    upstream->start_request();
    return {};
  }
  upstream.reset();  // stale: nothing of this request was put into it
  auto made = parts_.upstream.connect(parts_.limits.connect, parts_.clock, session_.stop);
  if (!made) return tl::unexpected(made.error());
  upstream = std::move(*made);
  return {};
}

Exchange::Next Exchange::send() {
  const std::string begin = request_.text + held_;
  held_.clear();
  // Twice at most, and the second time only if the kernel took no byte of the first.
  for (int attempt = 1;; ++attempt) {
    if (auto opened = open(); !opened) {
      return give_up(502, "upstream_unreachable",
                     fmt::format("no connection to the upstream ({}); nothing was sent",
                                 opened.error().message));
    }
    session_.upstream->put(begin);
    if (session_.upstream->flush()) return Next::go_on;
    if (attempt == 2 || !session_.upstream->nothing_left()) break;
    session_.upstream.reset();
  }
  upload_over_ = true;  // what it said before it closed may still be there
  return Next::go_on;
}

Exchange::Next Exchange::step() {
  UpstreamConnection& upstream = *session_.upstream;
  const bool backlogged = upstream.backlogged() && !upload_over_;
  const bool body = !client_.body_done() && !upload_over_ && !backlogged;
  if (body && client_.has_ahead()) return take_body();
  if (upstream.pending()) return take_reply();
  const auto patience = body || backlogged ? parts_.limits.body
                        : client_ended_    ? parts_.limits.gone
                                           : parts_.limits.reply;
  const net::Socket::Pair asked{{.read = body, .ended = !body && !client_ended_},
                                {.read = true, .write = backlogged}};
  const auto found = net::Socket::await(session_.client.socket(), upstream.socket(), asked,
                                        parts_.clock.monotonic() + patience);
  if (found.none()) return out_of_time(body);
  if (found.first.ended) client_ended_ = true;
  if (found.second.write && !upstream.flush()) upload_over_ = true;
  if (found.second.read) return take_reply();
  if (found.first.read) return take_body();
  return Next::go_on;
}

Exchange::Next Exchange::out_of_time(bool awaited_body) {
  if (awaited_body) return body_failed(ClientSide::Piece::slow);
  if (client_ended_) {
    note("the client went away before the reply");
    return end(faults::Ending::close);
  }
  return give_up(504, "upstream_silent",
                 "nothing came from the upstream in time; it may have done its work");
}

Exchange::Next Exchange::take_body() {
  std::string piece;
  const auto how = client_.read_body(piece);
  if (how != ClientSide::Piece::bytes) return body_failed(how);
  if (client_.body_done()) log_body();
  session_.upstream->put(piece);
  if (!session_.upstream->flush()) upload_over_ = true;
  return Next::go_on;
}

Exchange::Next Exchange::take_reply() {
  switch (session_.upstream->read_some(arrived_, parts_.clock.monotonic())) {
    case Arrival::timed_out:  // TLS's own business
      return Next::go_on;
    case Arrival::closed:
      return upstream_ended();
    case Arrival::bytes:
      break;
  }
  if (reply_) return pass_on("");
  const auto head = find_head(false);
  if (head) return *head > 0 ? begin_reply(*head) : Next::go_on;
  const bool switched = head.error().code == ErrorCode::unsupported;
  return give_up(switched ? 501 : 502, switched ? "upgrade_not_implemented" : "upstream_malformed",
                 head.error().message);
}

Exchange::Next Exchange::upstream_ended() {
  if (session_.stop.stop_requested()) return end(faults::Ending::close);
  if (!reply_) {
    return give_up(502, "upstream_closed",
                   "the upstream's connection ended before a reply; it may have done its work, and "
                   "the proxy never repeats a request by itself");
  }
  const bool cut = session_.upstream->was_cut();
  session_.upstream.reset();
  if (reply_->body.ends_with_connection() && !cut) {
    if (!client_.send_last("", [&] { record_answer(reply_->status, true); })) record_broken();
    return conclude(false);
  }
  note("the upstream ended in the middle of its reply");
  if (cut) session_.client.socket().await_acknowledged();
  return end(cut ? faults::Ending::reset : faults::Ending::close);
}

// The bytes of the final reply's head, at the front of arrived_; 0: not whole yet. Interim replies
// before it are passed on.
Result<std::size_t> Exchange::find_head(bool dropping) {
  for (;;) {
    const auto end = arrived_.find("\r\n\r\n");
    const bool whole = end != std::string::npos;
    if ((whole ? end : arrived_.size()) > parts_.limits.reply_head_bytes) {
      return fail(ErrorCode::parse_failed,
                  fmt::format("the head of the upstream's reply has more than {} bytes",
                              parts_.limits.reply_head_bytes));
    }
    if (!whole) return std::size_t{0};
    const std::string text = arrived_.substr(0, end + 4);
    auto head = parse_reply_head(text, request_.head.method);
    if (!head) return tl::unexpected(head.error());
    if (head->status == 101) {
      return fail(ErrorCode::unsupported,
                  "the upstream changed the protocol, which the proxy does not carry");
    }
    if (!head->interim()) {
      reply_ = std::move(*head);
      return text.size();
    }
    if (++interim_ > parts_.limits.interim_replies) {
      return fail(ErrorCode::parse_failed, "the upstream sends interim replies without end");
    }
    const bool told = head->status == 100 && client_.was_told_to_continue();
    if (!dropping && !told && !request_.head.http_1_0) client_.pass_interim(text);
    arrived_.erase(0, text.size());
  }
}

Exchange::Next Exchange::begin_reply(std::size_t head_bytes) {
  const auto now = parts_.clock.monotonic();
  parts_.wire_log.update(facts_.request, [&](fakes::WireEntry& e) {
    e.committed_at = now;
    e.upstream_status = reply_->status;
  });
  std::string head = arrived_.substr(0, head_bytes);
  arrived_.erase(0, head_bytes);
  const Next next = strike(faults::Point::after_commit);
  return next == Next::go_on ? pass_on(std::move(head)) : next;
}

// `piece`, and what has arrived behind it.
Exchange::Next Exchange::pass_on(std::string piece) {
  const std::size_t used = reply_->body.take(arrived_);
  piece.append(arrived_, 0, used);
  arrived_.erase(0, used);
  if (let_through_ && client_.sent() + piece.size() > *let_through_) {
    client_.send(std::string_view(piece).substr(0, *let_through_ - client_.sent()));
    note(fmt::format("the reply was cut after {} bytes", client_.sent()));
    return end(faults::Ending::close);
  }
  if (!reply_->body.broken().empty()) {
    note("the upstream's reply: " + reply_->body.broken());
    return end(faults::Ending::reset);
  }
  if (!reply_->body.done()) {
    if (client_.send(piece)) return Next::go_on;
    record_broken();
    return end(faults::Ending::close);
  }
  // Before the last byte leaves: the client may send its next request at once, and on a connection
  // that is over.
  const bool whole = client_.body_done() && !session_.upstream->backlogged();
  if (!reply_->keep_alive || !arrived_.empty() || !whole) session_.upstream.reset();
  const auto record = [&] { record_answer(reply_->status, !let_through_); };
  if (!client_.send_last(piece, record)) record_broken();
  return conclude(request_.head.keep_alive && reply_->keep_alive && whole);
}

// Reads the reply to its end and gives its status to nobody; nullopt: it did not come whole.
std::optional<int> Exchange::drop_reply(Milliseconds patience) {
  const auto deadline = parts_.clock.monotonic() + patience;
  for (;;) {
    if (!reply_) {
      const auto head = find_head(true);
      if (!head) return std::nullopt;
      arrived_.erase(0, *head);
    }
    if (reply_) {
      arrived_.erase(0, reply_->body.take(arrived_));
      if (reply_->body.done()) return reply_->status;
      if (!reply_->body.broken().empty()) return std::nullopt;
    }
    const auto arrival = pump(deadline);
    if (arrival == Arrival::bytes) continue;
    const bool ends = arrival == Arrival::closed && reply_ && reply_->body.ends_with_connection() &&
                      !session_.upstream->was_cut();
    return ends ? std::optional<int>(reply_->status) : std::nullopt;
  }
}

// Waits for bytes of the reply, and hands on what is still to be sent meanwhile.
Arrival Exchange::pump(MonotonicTime deadline) {
  UpstreamConnection& upstream = *session_.upstream;
  for (;;) {
    if (!upstream.pending()) {
      const net::Socket::Pair asked{{.write = upstream.backlogged()}, {.read = true}};
      const auto found = net::Socket::await(upstream.socket(), upstream.socket(), asked, deadline);
      if (found.none()) return Arrival::timed_out;
      if (found.first.write && !upstream.flush() && !found.second.read) return Arrival::closed;
      if (!found.second.read) continue;
    }
    const auto arrival = upstream.read_some(arrived_, parts_.clock.monotonic());
    if (arrival != Arrival::timed_out) return arrival;
  }
}

}  // namespace onceproof::proxy
