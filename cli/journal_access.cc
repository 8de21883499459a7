#include "cli/journal_access.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/file.h"
#include "base/text.h"

namespace onceproof::cli {
namespace {

constexpr std::string_view kSqlite = "sqlite:";

std::string plain(std::string_view text, std::size_t longest = 80) {
  return escape_terminal(shorten(text, longest));
}

std::string describe_state(const Operation& operation) {
  if (operation.review_since && !is_terminal(operation.status)) return "in review";
  return std::string(to_text(operation.status));
}

Json time_or_null(const std::optional<CivilTime>& time) {
  return time ? Json(to_rfc3339(*time)) : Json(nullptr);
}

// The operation and its events, one below the other, with the time between them.
std::string draw_timeline(const Operation& operation, const std::vector<Event>& events) {
  std::string text = fmt::format(
      "{}\n  {} of intent '{}'{}{}\n  {}{}{}, {} call{}\n", plain(operation.operation_key, 200),
      plain(operation.action_type), plain(operation.intent_id, 200),
      operation.tenant.empty() ? "" : " of tenant ", plain(operation.tenant),
      describe_state(operation), operation.external_id.empty() ? "" : ", the provider's id is ",
      plain(operation.external_id, 200), operation.attempt_count,
      operation.attempt_count == 1 ? "" : "s");
  if (!operation.parent_key.empty()) {
    text += fmt::format("  follows {}\n", plain(operation.parent_key, 200));
  }
  if (!operation.sealed_params.empty()) text += "  its parameters are kept, encrypted\n";
  text += '\n';
  std::optional<CivilTime> before;
  for (const auto& event : events) {
    const auto since = before ? "+" + to_text(time_between(*before, event.at)) : "";
    text +=
        fmt::format("  {:>3}  {}  {:>9}  {:<13} {:<17} {}{}{}\n", event.seq, to_rfc3339(event.at),
                    since, to_text(event.to_status), plain(event.reason), plain(event.actor),
                    event.detail.empty() ? "" : ": ", plain(event.detail, 600));
    before = event.at;
  }
  return text;
}

// SQLite says "attempt to write a readonly database", and not that to read one is to write, too.
Error explain_unwritable(Error error, const std::filesystem::path& path) {
  if (error.code != ErrorCode::journal_unavailable) return error;
  const auto folder = path.has_parent_path() ? path.parent_path() : ".";
  for (const auto& file : {path, std::filesystem::path(path.string() + "-wal"),
                           std::filesystem::path(path.string() + "-shm"), folder}) {
    if (::faccessat(AT_FDCWD, file.c_str(), W_OK, AT_EACCESS) == 0 || errno == ENOENT) continue;
    const auto why = std::generic_category().message(errno);
    error.message = fmt::format(
        "--journal: {} {} cannot be written ({}), and who looks at a journal must be able to "
        "write, too: SQLite keeps its -wal and -shm files beside it",
        file == folder ? "the folder" : "the file", plain(file.string(), 200), why);
    break;
  }
  return error;
}

}  // namespace

Result<std::unique_ptr<SqliteJournal>> open_journal(const std::string& name, FileUse use,
                                                    IntegrityCheck check) {
  if (!name.starts_with(kSqlite) || name.size() == kSqlite.size()) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("--journal '{0}': a journal is named sqlite:PATH; for a file, write "
                            "sqlite:{0}",
                            plain(name, 200)));
  }
  const std::filesystem::path path = name.substr(kSqlite.size());
  std::error_code problem;
  if (use == FileUse::existing && !std::filesystem::is_regular_file(path, problem)) {
    return fail(ErrorCode::not_found,
                fmt::format("--journal: there is no file {}", plain(path.string(), 200)));
  }
  return SqliteJournal::open(path, {.file = use, .check_at_open = check})
      .map_error([&](Error&& error) { return explain_unwritable(std::move(error), path); });
}

Result<std::optional<Sealer>> read_sealer(const Context& context) {
  if (context.key_file.empty() && context.key.empty()) return std::optional<Sealer>();
  if (!context.key_file.empty() && !context.key.empty()) {
    return fail(ErrorCode::invalid_argument,
                "ONCEPROOF_KEY_FILE and ONCEPROOF_KEY are both set; set one of them");
  }
  const auto wrap = [](Sealer&& sealer) { return std::optional<Sealer>(std::move(sealer)); };
  if (!context.key.empty()) return Sealer::from_text(context.key, "ONCEPROOF_KEY").map(wrap);
  const auto text = read_file(context.key_file, 64 << 10);
  if (!text) return tl::unexpected(text.error());
  return Sealer::from_text(*text, context.key_file).map(wrap);
}

Result<void> visit_operations(SqliteJournal& journal, ListFilter filter,
                              const std::function<Result<void>(const Operation&)>& visit) {
  while (true) {
    const auto operations = journal.list(filter);
    if (!operations) return tl::unexpected(operations.error());
    for (const auto& operation : *operations) {
      if (auto done = visit(operation); !done) return done;
    }
    if (operations->size() < filter.limit) return {};
    filter.after_key = operations->back().operation_key;
  }
}

Milliseconds time_between(CivilTime earlier, CivilTime later) {
  // From the epoch on: the distance of two such times has room in 64 bits.
  const auto begin = std::max(earlier, CivilTime{});
  return later > begin ? later - begin : Milliseconds{0};
}

std::string summarize(const Operation& operation) {
  std::string what = operation.external_id.empty() ? operation.error_code : operation.external_id;
  return fmt::format("{}  {:<12}  {:<20}  {}  {} call{}{}{}", plain(operation.operation_key),
                     describe_state(operation), plain(operation.action_type),
                     plain(operation.intent_id), operation.attempt_count,
                     operation.attempt_count == 1 ? "" : "s", what.empty() ? "" : "  ",
                     plain(what));
}

Result<Operation> print_timeline(SqliteJournal& journal, const std::string& key) {
  auto operation = journal.load(key);
  if (!operation) return operation;
  const auto events = journal.events(key);
  if (!events) return tl::unexpected(events.error());
  fmt::print("{}", draw_timeline(*operation, *events));
  return operation;
}

Json to_json(const Operation& operation) {
  return {{"operation_key", operation.operation_key},
          {"tenant", operation.tenant},
          {"intent", operation.intent_id},
          {"action", operation.action_type},
          {"request_hash", operation.request_hash},
          {"hash_version", operation.hash_version},
          {"status", to_text(operation.status)},
          {"attempt_count", operation.attempt_count},
          {"first_attempt_at", time_or_null(operation.first_attempt_at)},
          {"last_attempt_at", time_or_null(operation.last_attempt_at)},
          {"lease_owner", operation.lease_owner},
          {"lease_until", time_or_null(operation.lease_until)},
          {"external_id", operation.external_id},
          {"result", operation.result},
          {"error_code", operation.error_code},
          {"params_kept", !operation.sealed_params.empty()},
          {"parent_key", operation.parent_key},
          {"unknown_since", time_or_null(operation.unknown_since)},
          {"next_check_at", time_or_null(operation.next_check_at)},
          {"review_since", time_or_null(operation.review_since)},
          {"resolved_by", operation.resolved_by},
          {"created_at", to_rfc3339(operation.created_at)},
          {"updated_at", to_rfc3339(operation.updated_at)},
          {"event_count", operation.event_count}};
}

Json to_json(const Event& event) {
  return {{"seq", event.seq},
          {"at", to_rfc3339(event.at)},
          {"actor", event.actor},
          {"from", event.from_status ? Json(to_text(*event.from_status)) : Json(nullptr)},
          {"to", to_text(event.to_status)},
          {"reason", event.reason},
          {"detail", event.detail}};
}

std::string to_terminal_line(const Json& value) {
  std::string line = to_line(value);
  if (escape_terminal(line) == line) return line;
  return value.dump(-1, ' ', true, Json::error_handler_t::replace);  // \u009b, and all else, too
}

}  // namespace onceproof::cli
