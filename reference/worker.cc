#include "reference/worker.h"

#include <fmt/format.h>

#include <filesystem>
#include <map>
#include <optional>

#include "base/json.h"
#include "base/text.h"
#include "reference/executor.h"
#include "reference/http_provider.h"
#include "reference/reconciler.h"
#include "reference/sqlite_journal.h"

namespace onceproof {
namespace {

constexpr std::size_t kMaxLine = 1 << 20;
constexpr int kProtocolVersion = 1;
constexpr int kUnusable = 2;

struct Line {
  std::string text;
  bool too_long = false;  // `text` is not all of it
};

// nullopt: the end. A line that is too long is read to its end and dropped.
std::optional<Line> read_line(std::istream& in) {
  constexpr int kEnd = std::char_traits<char>::eof();
  std::streambuf* buffer = in.rdbuf();
  Line line;
  for (int c = buffer->sbumpc(); c != '\n'; c = buffer->sbumpc()) {
    if (c == kEnd) {
      if (line.text.empty() && !line.too_long) return std::nullopt;
      break;
    }
    if (line.text.size() < kMaxLine) {
      line.text += static_cast<char>(c);
    } else {
      line.too_long = true;
    }
  }
  return line;
}

// `policy`, with the times of `times` wherever a tool has none of its own; every action we can
// perform is in it.
Json with_times(const Json& policy, const Json& times) {
  const Json* given = find_member(policy, "tool_policy");
  Json tools = given == nullptr ? Json::object() : *given;
  if (!tools.is_object()) return policy;  // the policy's own reader says what is wrong with it
  for (const auto& service : http_services()) tools.emplace(service.action, Json::object());
  for (auto& tool : tools) {
    for (const char* name :
         {"call_timeout_ms", "lease_ms", "unknown_after_ms", "check_initial_ms", "check_max_ms"}) {
      const Json* time = find_member(times, name);
      const bool in_seconds =
          std::string_view(name) == "unknown_after_ms" && tool.contains("unknown_after_seconds");
      if (time != nullptr && tool.is_object() && !in_seconds) tool.emplace(name, *time);
    }
  }
  Json whole = policy;
  whole["tool_policy"] = std::move(tools);
  return whole;
}

Json answer_json(const Answer& answer) {
  Json json{{"type", "answer"},
            {"status", to_text(answer.status)},
            {"operation_key", answer.operation_key}};
  if (!answer.external_id.empty()) json["external_id"] = answer.external_id;
  if (!answer.result.is_null()) json["result"] = answer.result;
  if (!answer.error_code.empty()) json["error_code"] = answer.error_code;
  if (!answer.differing_fields.empty()) json["differing_fields"] = answer.differing_fields;
  return json;
}

Json error_json(std::string_view message) {
  return {{"type", "error"}, {"message", message}};
}

// What `init` gives: everything that a request needs.
class Session {
 public:
  static Result<std::unique_ptr<Session>> open(const Json& init, Clock& clock, Random& random,
                                               const WorkerSeams& seams, const Sealer* sealer) {
    std::unique_ptr<Session> session(new Session);
    auto opened = session->read(init, clock, seams);
    if (!opened) return tl::unexpected(opened.error());
    static const Protocol right_protocol;
    const ExecutorParts parts{clock,
                              *session->journal_,
                              random,
                              seams.protocol ? *seams.protocol : right_protocol,
                              session->policy_,
                              session->providers_by_action(),
                              *find_string(init, "worker"),
                              sealer};
    session->executor_ = std::make_unique<Executor>(parts);
    session->reconciler_ = std::make_unique<Reconciler>(parts);
    return session;
  }

  Result<Json> submit(const Json& message) {
    auto intent = read_intent(message);
    if (!intent) return tl::unexpected(intent.error());
    const Json* params = find_member(message, "params");
    if (params == nullptr) return missing("params", "an object");
    intent->params = *params;
    if (find_member(message, "operation_key") != nullptr) {
      intent->operation_key = find_string(message, "operation_key");
      if (!intent->operation_key) return missing("operation_key", "a string");
    }
    return executor_->submit(*intent).map(answer_json);
  }

  Result<Json> status(const Json& message) {
    const auto intent = read_intent(message);
    if (!intent) return tl::unexpected(intent.error());
    auto answer = executor_->status(intent->tenant, intent->action, intent->intent_id);
    if (!answer && answer.error().code == ErrorCode::not_found) {
      // A worker that died before it registered the intent: nothing was called for it.
      return Json{{"type", "answer"}, {"status", "pending"}, {"error_code", "not_registered"}};
    }
    return answer.map(answer_json);
  }

  Result<Json> reconcile() {
    return reconciler_->run_once().map([](const ReconcilePass& pass) {
      return Json{{"type", "done"}, {"checked", pass.checked}, {"settled", pass.settled}};
    });
  }

 private:
  Session() = default;

  static tl::unexpected<Error> missing(std::string_view member, std::string_view what) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("member \"{}\" is missing or of a wrong type; it is {}", member, what));
  }

  static Result<Intent> read_intent(const Json& message) {
    Intent intent;
    const auto id = find_string(message, "intent");
    const auto action = find_string(message, "action");
    if (!id) return missing("intent", "a string");
    if (!action) return missing("action", "a string");
    if (find_member(message, "tenant") != nullptr) {
      const auto tenant = find_string(message, "tenant");
      if (!tenant) return missing("tenant", "a string");
      intent.tenant = *tenant;
    }
    intent.intent_id = *id;
    intent.action = *action;
    return intent;
  }

  Result<void> read(const Json& init, Clock& clock, const WorkerSeams& seams) {
    if (find_integer(init, "protocol") != kProtocolVersion) {
      return fail(ErrorCode::unsupported,
                  fmt::format("member \"protocol\" is not {}; this worker speaks no other version",
                              kProtocolVersion));
    }
    if (find_string(init, "worker").value_or("").empty()) {
      return missing("worker", "a string that is not empty");
    }
    const auto state_dir = find_string(init, "state_dir");
    if (!state_dir) return missing("state_dir", "a string");
    const Json* given = find_member(init, "policy");
    const Json* times = find_member(init, "times");
    if (given != nullptr && !given->is_object()) return missing("policy", "an object");
    if (times != nullptr && !times->is_object()) return missing("times", "an object");
    auto policy = policy_from_json(with_times(given == nullptr ? Json::object() : *given,
                                              times == nullptr ? Json::object() : *times));
    if (!policy) return tl::unexpected(policy.error());
    policy_ = std::move(*policy);
    return make_providers(init, clock, seams).and_then([&] {
      return open_journal(*state_dir, seams);
    });
  }

  Result<void> make_providers(const Json& init, Clock& clock, const WorkerSeams& seams) {
    const Json* services = find_member(init, "services");
    if (services == nullptr || !services->is_object()) return missing("services", "an object");
    for (const auto& service : http_services()) {
      const Json* given = find_member(*services, service.service);
      if (given == nullptr) continue;
      const auto url = find_string(*given, "url");
      if (!url) return missing(fmt::format("services.{}.url", service.service), "a string");
      const Json* promised = find_member(*given, "guarantees");
      auto guarantees = guarantees_from_json(promised == nullptr ? Json::object() : *promised);
      if (!guarantees) return tl::unexpected(guarantees.error());
      auto made = HttpProvider::make(service, *url, std::move(*guarantees), clock);
      if (!made) return tl::unexpected(made.error());
      std::unique_ptr<Provider> provider = std::move(*made);
      if (seams.decorate_provider) provider = seams.decorate_provider(std::move(provider));
      providers_[std::string(service.action)] = std::move(provider);
    }
    return {};
  }

  Result<void> open_journal(const std::filesystem::path& folder, const WorkerSeams& seams) {
    std::error_code problem;
    if (!std::filesystem::is_directory(folder, problem)) {
      return fail(ErrorCode::io_failed,
                  fmt::format("state_dir '{}' cannot be used: {}; it must be a folder that exists",
                              escape_terminal(shorten(folder.string(), 200)),
                              problem ? problem.message() : "it is no folder"));
    }
    auto journal = SqliteJournal::open(folder / "journal.db");
    if (!journal) {
      return fail(journal.error().code, fmt::format("state_dir '{}' cannot be used: {}",
                                                    escape_terminal(shorten(folder.string(), 200)),
                                                    journal.error().message));
    }
    journal_ = std::move(*journal);
    if (seams.decorate_journal) journal_ = seams.decorate_journal(std::move(journal_));
    return {};
  }

  std::map<std::string, Provider*> providers_by_action() const {
    std::map<std::string, Provider*> providers;
    for (const auto& [action, provider] : providers_) providers[action] = provider.get();
    return providers;
  }

  Policy policy_;
  std::unique_ptr<Journal> journal_;
  std::map<std::string, std::unique_ptr<Provider>> providers_;
  std::unique_ptr<Executor> executor_;
  std::unique_ptr<Reconciler> reconciler_;
};

// Reads lines and answers them, one by one.
class Worker {
 public:
  Worker(WorkerIo io, Clock& clock, Random& random, const WorkerSeams& seams, const Sealer* sealer)
      : io_(io), clock_(clock), random_(random), seams_(seams), sealer_(sealer) {}

  int run() {
    while (auto line = read_line(io_.in)) {
      const auto exit_code = serve(*line);
      if (!io_.out) {
        complain("stdout is closed");
        return kUnusable;
      }
      if (exit_code) return *exit_code;
    }
    return 0;
  }

 private:
  // The exit code, if this was the last line to serve.
  std::optional<int> serve(const Line& line) {
    if (line.too_long) {
      write(error_json(fmt::format("a line is longer than {} bytes", kMaxLine)));
      return std::nullopt;
    }
    const auto message = parse_json(line.text, "stdin");
    if (!message || !message->is_object()) {
      write(error_json(message ? "stdin: the line is no JSON object" : message.error().message));
      return std::nullopt;
    }
    const std::string type = find_string(*message, "type").value_or("");
    if (type == "shutdown") return 0;
    if (type == "init") return serve_init(*message);
    serve_request(type, *message);
    return std::nullopt;
  }

  std::optional<int> serve_init(const Json& message) {
    if (session_) {
      write(error_json("a second init; there is one per process"));
      return std::nullopt;
    }
    auto session = Session::open(message, clock_, random_, seams_, sealer_);
    if (!session) {
      write(error_json(session.error().message));
      complain(session.error().message);
      return kUnusable;
    }
    session_ = std::move(*session);
    write(Json{{"type", "ready"},
               {"name", "onceproof-reference"},
               {"version", ONCEPROOF_VERSION},
               {"capabilities", Json::array({"submit", "reconcile", "status", "review"})}});
    return std::nullopt;
  }

  void serve_request(const std::string& type, const Json& message) {
    Result<Json> answer = answer_request(type, message);
    Json json = answer ? std::move(*answer) : error_json(answer.error().message);
    // An id comes back as it came; without one, the answer has none.
    if (const Json* id = find_member(message, "id")) json["id"] = *id;
    write(json);
  }

  Result<Json> answer_request(const std::string& type, const Json& message) {
    if (type != "submit" && type != "status" && type != "reconcile") {
      return fail(
          ErrorCode::invalid_argument,
          fmt::format("unknown type '{}'; there are: init, submit, reconcile, status, shutdown",
                      escape_terminal(shorten(type, 80))));
    }
    if (!session_) return fail(ErrorCode::invalid_argument, fmt::format("{} before init", type));
    if (!find_integer(message, "id")) {
      return fail(ErrorCode::invalid_argument,
                  "member \"id\" is missing or of a wrong type; it is an integer");
    }
    if (type == "submit") return session_->submit(message);
    if (type == "status") return session_->status(message);
    return session_->reconcile();
  }

  void write(const Json& message) { io_.out << to_line(message) << '\n' << std::flush; }
  void complain(std::string_view message) {
    io_.err << "onceproof worker: " << escape_terminal(message) << '\n' << std::flush;
  }

  WorkerIo io_;
  Clock& clock_;
  Random& random_;
  const WorkerSeams& seams_;
  const Sealer* sealer_;
  std::unique_ptr<Session> session_;
};

}  // namespace

int run_worker(WorkerIo io, Clock& clock, Random& random, const WorkerSeams& seams,
               const Sealer* sealer) {
  return Worker(io, clock, random, seams, sealer).run();
}

}  // namespace onceproof
