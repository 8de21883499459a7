#include "fakes/metrics.h"

#include <fmt/format.h>

#include "fakes/tally.h"

namespace onceproof::fakes {
namespace {

std::string escape_label(std::string_view value) {
  std::string escaped;
  for (const char c : value) {
    if (c == '\\' || c == '"') escaped += '\\';
    if (c == '\n') {
      escaped += "\\n";
    } else {
      escaped += c;
    }
  }
  return escaped;
}

void add_family(std::string& text, std::string_view name, std::string_view type,
                std::string_view help) {
  text += fmt::format("# HELP {0} {1}\n# TYPE {0} {2}\n", name, help, type);
}

void add_value(std::string& text, std::string_view name, std::string_view type,
               std::string_view help, double value) {
  add_family(text, name, type, help);
  text += fmt::format("{} {}\n", name, value);
}

void add_requests(std::string& text, const Tally& tally) {
  add_family(text, "onceproof_requests_total", "counter",
             "Requests whose disposition is decided, since the start or the last reset.");
  for (const auto& [labels, count] : tally.requests) {
    const auto& [service, route, disposition] = labels;
    text += fmt::format(
        "onceproof_requests_total{{service=\"{}\",route=\"{}\",disposition=\"{}\"}} {}\n",
        escape_label(service), escape_label(route), to_text(disposition), count);
  }
}

void add_durations(std::string& text, const Tally& tally) {
  constexpr std::string_view kName = "onceproof_request_duration_seconds";
  add_family(text, kName, "histogram",
             "From a request's last byte to its reply's, of replies that were written.");
  std::uint64_t so_far = 0;
  for (std::size_t i = 0; i < Tally::kBounds.size(); ++i) {
    so_far += tally.within[i];
    text += fmt::format("{}_bucket{{le=\"{}\"}} {}\n", kName, Tally::kBounds[i], so_far);
  }
  text += fmt::format("{0}_bucket{{le=\"+Inf\"}} {1}\n{0}_sum {2}\n{0}_count {1}\n", kName,
                      tally.timed, tally.seconds);
}

void add_faults(std::string& text, const std::vector<faults::FaultRecord>& records) {
  add_family(text, "onceproof_faults_fired_total", "counter", "How often each fault struck.");
  for (const auto& record : records) {
    text +=
        fmt::format("onceproof_faults_fired_total{{fault=\"{}\",point=\"{}\",action=\"{}\"}} {}\n",
                    escape_label(record.fault.name), faults::to_text(record.fault.at),
                    faults::to_text(record.fault.action.kind), record.firings.size());
  }
}

}  // namespace

Result<std::string> metrics_text(Host& host, MonotonicTime start, MonotonicTime now) {
  const auto effects = host.effect_count();
  if (!effects) return tl::unexpected(effects.error());
  const Tally tally = host.wire_log().tally();
  std::string text;
  add_requests(text, tally);
  add_durations(text, tally);
  add_faults(text, host.faults().records());
  add_value(text, "onceproof_ledger_effects", "gauge", "Effects in the ledger.",
            static_cast<double>(*effects));
  add_value(text, "onceproof_open_connections", "gauge", "Connections of clients to the fake.",
            static_cast<double>(host.connections()));
  add_value(text, "onceproof_uptime_seconds", "gauge", "Since the admin API started.",
            std::chrono::duration<double>(now - start).count());
  return text;
}

}  // namespace onceproof::fakes
