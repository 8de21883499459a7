// The baseline of the journal's benchmarks: the same schema and the same statements, on one
// connection of one thread, with nothing around them: no queue, no savepoints, no values read back.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <string>

#include "base/file.h"
#include "reference/sqlite_rows.h"

namespace onceproof {

// About what a payment's row has: keys of their real length, three digests.
Operation bench_operation(std::string operation_key, std::size_t number);
// Of the next number; ordered in time, as make_operation_key does.
std::string ordered_key(std::size_t number);
std::string random_key();

class BareJournal {
 public:
  // Creates the file with the journal's own schema. Throws away what it cannot do: a benchmark.
  explicit BareJournal(const std::filesystem::path& path);

  void begin();
  void commit();
  void register_and_claim(const Operation& operation);    // row + two events
  void record_success(const std::string& operation_key);  // row + one event
  // Rows 1..rows in one transaction, without events.
  void fill(std::size_t rows, const std::function<std::string(std::size_t)>& make_key);
  std::size_t look_up(const std::string& operation_key);  // by primary key; bytes of its columns

 private:
  JournalConnection connection_;
};

}  // namespace onceproof
