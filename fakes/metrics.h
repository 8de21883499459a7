// A fake's figures as Prometheus reads them (text exposition format 0.0.4). Invariant: every family
// has its HELP and TYPE once, its samples follow at once, label values are escaped.
// Source: prometheus.io/docs/instrumenting/exposition_formats.
#pragma once

#include <string>

#include "fakes/host.h"

namespace onceproof::fakes {

inline constexpr const char* kMetricsType = "text/plain; version=0.0.4; charset=utf-8";

// Errors: those of Host::effect_count.
Result<std::string> metrics_text(Host& host, MonotonicTime start, MonotonicTime now);

}  // namespace onceproof::fakes
