// A disk that loses what was not synced, for tests: the SQLite of this process writes through a VFS
// that keeps, beside each file, a copy of it as it was at its last sync. At a power cut that copy
// is what there is. Conservative: a file that was never synced does not exist; a deletion counts
// from the next sync of any file on, as on the file systems that have a log. Source: SQLite, "The
// OS Interface Or VFS".
#pragma once

#include <filesystem>

namespace onceproof {

class SyncedVfs {
 public:
  // Becomes the default VFS; files that are opened from now on are copied into `disk`, by name.
  explicit SyncedVfs(const std::filesystem::path& disk);
  // The disk as it is at this moment, into a new folder.
  void copy_disk(const std::filesystem::path& to) const;
  ~SyncedVfs();  // every file that was opened through it is closed before
};

}  // namespace onceproof
