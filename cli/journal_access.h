// What the commands that look at a journal share: how it is named, opened and printed.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/error.h"
#include "cli/commands.h"
#include "reference/sealer.h"
#include "reference/sqlite_journal.h"

namespace onceproof::cli {

// `name` is "sqlite:PATH". Errors: invalid_argument (another form), those of SqliteJournal::open;
// if it failed because a file or the folder cannot be written, the message says which.
Result<std::unique_ptr<SqliteJournal>> open_journal(const std::string& name, FileUse use,
                                                    IntegrityCheck check = IntegrityCheck::none);

// The key for parameters at rest: ONCEPROOF_KEY_FILE names a file, ONCEPROOF_KEY is the text
// itself. nullopt: neither is set. Errors: invalid_argument (both; no key), those of read_file.
Result<std::optional<Sealer>> read_sealer(const Context& context);

// Every operation that passes the filter, page by page (filter.limit is the page's size), until a
// visit fails. Errors: those of list() and of the visit.
Result<void> visit_operations(SqliteJournal& journal, ListFilter filter,
                              const std::function<Result<void>(const Operation&)>& visit);

// Never negative, also if a clock went back or a file says nonsense.
Milliseconds time_between(CivilTime earlier, CivilTime later);

// One line: key, status, action, intent, calls, age or id.
std::string summarize(const Operation& operation);
// Prints the operation and its events, one below the other; returns it. Errors: not_found,
// journal_unavailable.
Result<Operation> print_timeline(SqliteJournal& journal, const std::string& key);
// Every member but what is sealed and the parameters' digests, which amounts could be guessed from.
Json to_json(const Operation& operation);
Json to_json(const Event& event);
// The same value as to_line's, in a form that a terminal shows as it stands.
std::string to_terminal_line(const Json& value);

}  // namespace onceproof::cli
