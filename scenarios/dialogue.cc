#include "scenarios/dialogue.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <thread>

#include "base/text.h"

namespace onceproof::scenarios {
namespace {

constexpr std::array kStatuses{"succeeded", "failed_final", "conflict", "verification_required",
                               "unknown",   "in_progress",  "pending",  "review"};

std::string shown(const std::string& text) {
  return escape_terminal(shorten(text, 300));
}

std::string_view kind_text(Exchange::Kind kind) {
  switch (kind) {
    case Exchange::Kind::submit:
      return "submit";
    case Exchange::Kind::status:
      return "status";
    case Exchange::Kind::reconcile:
      break;
  }
  return "reconcile";
}

// "request 7 (submit A)"
std::string describe(const Exchange& exchange, std::int64_t id) {
  const auto space = exchange.intent.empty() ? "" : " ";
  return fmt::format("request {} ({}{}{})", id, kind_text(exchange.kind), space, exchange.intent);
}

Answer read_answer(const Json& message) {
  Answer answer;
  answer.status = find_string(message, "status").value_or("");
  answer.external_id = find_string(message, "external_id").value_or("");
  answer.error_code = find_string(message, "error_code").value_or("");
  if (const Json* result = find_member(message, "result")) answer.result = *result;
  answer.raw = message;
  return answer;
}

}  // namespace

Dialogue::Dialogue(Stage& stage, History& history, Clock& clock, Milliseconds answer_timeout,
                   MonotonicTime deadline, std::stop_token stop)
    : stage_(stage),
      history_(history),
      clock_(clock),
      answer_timeout_(answer_timeout),
      deadline_(deadline),
      stop_(std::move(stop)) {}

bool Dialogue::exchange(Exchange request) {
  std::vector<Exchange> one;
  one.push_back(std::move(request));
  return exchange_all(std::move(one));
}

bool Dialogue::exchange_all(std::vector<Exchange> requests) {
  if (!failure_.empty() || stop_.stop_requested()) return false;
  std::vector<Pending> all(requests.size());
  std::size_t sent = 0;
  for (; sent < requests.size(); ++sent) {
    all[sent].exchange = std::move(requests[sent]);
    if (!send(all[sent])) break;
  }
  all.resize(sent);
  if (sent == 1) {
    receive(all[0]);
  } else {
    std::vector<std::jthread> threads;  // each answer gets its own time
    for (auto& pending : all) threads.emplace_back([this, &pending] { receive(pending); });
  }
  bool well = true;
  for (auto& pending : all) {
    well = take_in(pending) && well;
    history_.exchanges.push_back(std::move(pending.exchange));
  }
  return well && failure_.empty();
}

bool Dialogue::send(Pending& pending) {
  pending.worker = stage_.find_worker(pending.exchange.worker);
  if (pending.worker == nullptr || !stage_.is_alive(pending.exchange.worker)) {
    const auto why = stage_.killed_by(pending.exchange.worker);
    stage_.note_exit(pending.exchange.worker);
    fail_sut(
        why.empty()
            ? fmt::format("worker {} ended unasked between two requests", pending.exchange.worker)
            : fmt::format(
                  "worker {} is dead ({}) when step {} needs it; put `- restart: {}` before it",
                  pending.exchange.worker, why, pending.exchange.step + 1,
                  pending.exchange.worker));
    return false;
  }
  pending.id = next_id_++;
  pending.exchange.sent_at = clock_.monotonic();
  const auto sent = pending.worker->send(make_message(pending.exchange, pending.id));
  if (!sent) pending.answer = tl::unexpected(sent.error());
  return true;
}

// In a thread of its own if there are several: touches nothing but its own exchange.
void Dialogue::receive(Pending& pending) {
  if (!pending.answer) return;
  const auto deadline = std::min(deadline_, pending.exchange.sent_at + answer_timeout_);
  pending.answer = pending.worker->receive(deadline, stop_);
  if (pending.answer) pending.exchange.answered_at = clock_.monotonic();
}

bool Dialogue::take_in(Pending& pending) {
  if (!pending.answer) return explain_silence(pending);
  if (auto why = complaint(pending); !why.empty()) {
    fail_sut(std::move(why));
    return false;
  }
  const Json& message = *pending.answer;
  if (pending.exchange.kind == Exchange::Kind::reconcile) {
    pending.exchange.checked = static_cast<int>(find_integer(message, "checked").value_or(0));
    pending.exchange.settled = static_cast<int>(find_integer(message, "settled").value_or(0));
  } else {
    pending.exchange.answer = read_answer(message);
  }
  return true;
}

// No answer came: because we killed the worker, because we are to stop, or because the SUT broke
// the protocol.
bool Dialogue::explain_silence(const Pending& pending) {
  const auto& error = pending.answer.error();
  const auto& name = pending.exchange.worker;
  if (!stage_.killed_by(name).empty()) return true;
  if (error.code == ErrorCode::interrupted) return false;
  stage_.note_exit(name);
  std::string why = fmt::format("{}, at {}", error.message, describe(pending.exchange, pending.id));
  if (error.code == ErrorCode::timed_out) {
    why = clock_.monotonic() >= deadline_
              ? fmt::format("the cell's time was over before worker {} answered {}", name,
                            describe(pending.exchange, pending.id))
              : fmt::format("worker {} did not answer {} within {}", name,
                            describe(pending.exchange, pending.id), to_text(answer_timeout_));
  }
  fail_sut(why + last_words(*pending.worker));
  return false;
}

// What is wrong with the answer; empty: nothing.
std::string Dialogue::complaint(const Pending& pending) const {
  const Json& message = *pending.answer;
  const auto request = describe(pending.exchange, pending.id);
  const auto& worker = pending.exchange.worker;
  const auto type = find_string(message, "type").value_or("");
  if (type == "error") {
    return fmt::format("worker {} could not serve {}: {}", worker, request,
                       shown(find_string(message, "message").value_or("it did not say why")));
  }
  const bool is_reconcile = pending.exchange.kind == Exchange::Kind::reconcile;
  if (type != (is_reconcile ? "done" : "answer")) {
    return fmt::format("worker {} answered {} with '{}'; expected type {}", worker, request,
                       shown(to_line(message)), is_reconcile ? "done" : "answer");
  }
  if (find_integer(message, "id") != pending.id) {
    return fmt::format("worker {} answered {} with another id: '{}'", worker, request,
                       shown(to_line(message)));
  }
  const auto status = find_string(message, "status").value_or("");
  if (!is_reconcile && std::ranges::find(kStatuses, status) == kStatuses.end()) {
    return fmt::format("worker {} answered {} with the status '{}'; there are: {}", worker, request,
                       shown(status), fmt::join(kStatuses, ", "));
  }
  return {};
}

Json Dialogue::make_message(const Exchange& exchange, std::int64_t id) const {
  Json message{{"type", kind_text(exchange.kind)}, {"id", id}};
  if (exchange.kind == Exchange::Kind::reconcile) return message;
  const auto& intent = history_.intents.at(exchange.intent);
  message["tenant"] = intent.tenant;
  message["intent"] = intent.intent_id;
  message["action"] = intent.action;
  if (exchange.kind == Exchange::Kind::submit) {
    message["params"] = exchange.params;
    const auto& key = history_.scenario.intents.at(exchange.intent).operation_key;
    if (key) message["operation_key"] = *key;
  }
  return message;
}

Exchange Dialogue::make_submit(const SubmitStep& step, std::size_t index) const {
  Exchange made;
  made.kind = Exchange::Kind::submit;
  made.step = index;
  made.worker = step.worker;
  made.intent = step.intent;
  const Json& params = history_.intents.at(step.intent).params;
  made.params = params;
  if (step.changed_params.is_object()) made.params.update(step.changed_params);
  made.changed = made.params != params;
  return made;
}

std::string Dialogue::last_status(const std::string& intent) const {
  for (auto it = history_.exchanges.rbegin(); it != history_.exchanges.rend(); ++it) {
    if (it->intent == intent && it->answer && !it->changed) return it->answer->status;
  }
  return {};
}

bool Dialogue::is_settled(const std::string& intent) const {
  const auto status = last_status(intent);
  return status == "succeeded" || status == "failed_final" || status == "review";
}

void Dialogue::fail_sut(std::string why) {
  if (failure_.empty()) failure_ = std::move(why);
}

}  // namespace onceproof::scenarios
