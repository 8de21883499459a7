#include "reports/report_folder.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/file.h"
#include "reports/console.h"
#include "reports/json.h"
#include "reports/junit.h"

namespace onceproof::reports {
namespace {

constexpr int kMostSameNames = 1'000;

// "2026-12-01T06-05-36": no colons, for every file system.
std::string folder_name(const RunReport& report) {
  auto time = to_rfc3339(report.started_at).substr(0, 19);
  std::ranges::replace(time, ':', '-');
  return fmt::format("{}-seed-{}", time, report.seed);
}

Result<std::filesystem::path> make_folder(const RunReport& report,
                                          const std::filesystem::path& out) {
  std::error_code ec;
  std::filesystem::create_directories(out, ec);
  for (int i = 1; !ec && i < kMostSameNames; ++i) {
    const auto folder = out / (folder_name(report) + (i == 1 ? "" : fmt::format("-{}", i)));
    if (std::filesystem::create_directory(folder, ec)) return folder;
  }
  return fail(ErrorCode::io_failed, fmt::format("cannot make a folder for the reports in {}: {}",
                                                out.string(), ec.message()));
}

// Beside and renamed: `latest` always points somewhere.
void point_latest(const std::filesystem::path& out, const std::filesystem::path& folder) {
  std::error_code ignored;
  const auto next = out / (".latest-" + folder.filename().string());
  std::filesystem::create_directory_symlink(folder.filename(), next, ignored);
  std::filesystem::rename(next, out / "latest", ignored);
  std::filesystem::remove(next, ignored);
}

}  // namespace

Result<std::filesystem::path> write_report_folder(const RunReport& report,
                                                  const std::filesystem::path& out) {
  auto folder = make_folder(report, out);
  if (!folder) return folder;
  auto done =
      write_file(*folder / "results.json",
                 to_json(report).dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
  if (done) done = write_file(*folder / "junit.xml", to_junit(report));
  for (const auto& cell : report.cells) {
    const auto text = explain(report, cell, false);
    if (!done || text.empty()) continue;
    auto name = cell.id;
    std::ranges::replace(name, '/', '.');
    done = write_file(*folder / (name + ".txt"), text);
  }
  if (!done) return tl::unexpected(done.error());
  point_latest(out, *folder);
  return folder;
}

}  // namespace onceproof::reports
