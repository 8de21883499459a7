// Read connections to one journal's file: one for each thread that is reading at this moment, kept
// for the next. Invariant: never more than max_readers; a connection reads what was committed
// before it was asked, and cannot write.
#pragma once

#include <condition_variable>
#include <filesystem>
#include <memory>
#include <mutex>
#include <vector>

#include "base/error.h"
#include "reference/sqlite_rows.h"

namespace onceproof {

class SqliteReaders {
 public:
  // Opens nothing yet.
  SqliteReaders(std::filesystem::path path, Durability durability, Milliseconds busy_timeout,
                std::size_t max_readers)
      : path_(std::move(path)),
        durability_(durability),
        busy_timeout_(busy_timeout),
        max_readers_(max_readers) {}

  // Runs `work` (JournalConnection& -> a Result) on a connection of its own. Thread-safe.
  // Errors: those of `work`; journal_unavailable: no connection became free within busy_timeout, or
  // it cannot be opened.
  template <typename Work>
  auto read(Work work) -> decltype(work(std::declval<JournalConnection&>())) {
    auto connection = borrow();
    if (!connection) return tl::unexpected(std::move(connection.error()));
    auto answer = work(**connection);
    give_back(std::move(*connection));
    return answer;
  }

 private:
  using Connection = std::unique_ptr<JournalConnection>;
  Result<Connection> borrow();
  Result<Connection> open() const;
  void give_back(Connection connection);

  const std::filesystem::path path_;
  const Durability durability_;
  const Milliseconds busy_timeout_;
  const std::size_t max_readers_;
  std::mutex mutex_;
  std::condition_variable returned_;
  std::vector<Connection> idle_;
  std::size_t lent_ = 0;
};

}  // namespace onceproof
