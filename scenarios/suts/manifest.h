// onceproof.yaml: how a team's own executor is started. docs/scenarios.md describes it.
//
//   name: my-executor            # required
//   adapter: exec                # required; JSON Lines over stdin and stdout
//   command: [python3, sut.py]   # required; without a slash it is found by PATH, else from
//   working_dir working_dir: .               # from the manifest's own folder, which is the default
//   env: {LOG_LEVEL: debug}      # added to what a worker gets anyway
//   start_timeout: 5s            # from its start to "ready"
//   answer_timeout: 10s          # for one message
//
// Invariant: what is read is usable as far as a file can tell; whether the command can be started
// shows when it is.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "base/error.h"
#include "scenarios/suts/sut.h"

namespace onceproof::scenarios {

// Errors: not_found, io_failed, limit_exceeded (1 MiB), parse_failed; each with file:line:column
// where there is one.
Result<SutSpec> load_manifest(const std::filesystem::path& file);
// `file` stands in messages; its folder is what working_dir starts from.
Result<SutSpec> parse_manifest(std::string_view text, const std::filesystem::path& file);

}  // namespace onceproof::scenarios
