#include "reference/synced_vfs.h"

#include <sqlite3.h>

#include <cstring>
#include <mutex>
#include <new>
#include <string>
#include <vector>

#include "base/check.h"

namespace onceproof {
namespace {

// SQLite's own interface: plain structs whose first member is the one before, and C functions.
struct File {
  sqlite3_file base;
  char path[512];
  sqlite3_file* real() { return reinterpret_cast<sqlite3_file*>(this + 1); }
};

struct State {
  sqlite3_vfs vfs{};
  sqlite3_vfs* real = nullptr;
  std::filesystem::path disk;
  std::vector<std::filesystem::path> deleted;  // names, since the last sync
  std::mutex mutex;
};
State& state() {
  static State the;
  return the;
}

File* of(sqlite3_file* file) {
  return reinterpret_cast<File*>(file);
}
sqlite3_file* real(sqlite3_file* file) {
  return of(file)->real();
}

int close_file(sqlite3_file* f) {
  return real(f)->pMethods->xClose(real(f));
}
int read_bytes(sqlite3_file* f, void* to, int n, sqlite3_int64 at) {
  return real(f)->pMethods->xRead(real(f), to, n, at);
}
int write_bytes(sqlite3_file* f, const void* from, int n, sqlite3_int64 at) {
  return real(f)->pMethods->xWrite(real(f), from, n, at);
}
int truncate_file(sqlite3_file* f, sqlite3_int64 size) {
  return real(f)->pMethods->xTruncate(real(f), size);
}
int sync_file(sqlite3_file* f, int flags) {
  const int done = real(f)->pMethods->xSync(real(f), flags);
  if (done != SQLITE_OK) return done;
  const std::scoped_lock lock(state().mutex);
  const std::filesystem::path path = of(f)->path;
  std::error_code error;
  for (const auto& name : state().deleted) std::filesystem::remove(state().disk / name, error);
  state().deleted.clear();
  std::filesystem::copy_file(path, state().disk / path.filename(),
                             std::filesystem::copy_options::overwrite_existing, error);
  return error ? SQLITE_IOERR_FSYNC : SQLITE_OK;
}
int file_size(sqlite3_file* f, sqlite3_int64* size) {
  return real(f)->pMethods->xFileSize(real(f), size);
}
int lock_file(sqlite3_file* f, int how) {
  return real(f)->pMethods->xLock(real(f), how);
}
int unlock_file(sqlite3_file* f, int how) {
  return real(f)->pMethods->xUnlock(real(f), how);
}
int check_lock(sqlite3_file* f, int* held) {
  return real(f)->pMethods->xCheckReservedLock(real(f), held);
}
int control(sqlite3_file* f, int what, void* argument) {
  return real(f)->pMethods->xFileControl(real(f), what, argument);
}
int sector_size(sqlite3_file* f) {
  return real(f)->pMethods->xSectorSize(real(f));
}
int characteristics(sqlite3_file* f) {
  return real(f)->pMethods->xDeviceCharacteristics(real(f));
}
int shm_map(sqlite3_file* f, int region, int size, int extend, void volatile** to) {
  return real(f)->pMethods->xShmMap(real(f), region, size, extend, to);
}
int shm_lock(sqlite3_file* f, int offset, int n, int flags) {
  return real(f)->pMethods->xShmLock(real(f), offset, n, flags);
}
void shm_barrier(sqlite3_file* f) {
  real(f)->pMethods->xShmBarrier(real(f));
}
int shm_unmap(sqlite3_file* f, int remove) {
  return real(f)->pMethods->xShmUnmap(real(f), remove);
}

const sqlite3_io_methods kMethods{
    2,         close_file,  read_bytes, write_bytes, truncate_file, sync_file,       file_size,
    lock_file, unlock_file, check_lock, control,     sector_size,   characteristics, shm_map,
    shm_lock,  shm_barrier, shm_unmap,  nullptr,     nullptr};

int open_file(sqlite3_vfs*, const char* name, sqlite3_file* f, int flags, int* given) {
  std::memset(static_cast<void*>(f), 0, sizeof(File));
  const int done = state().real->xOpen(state().real, name, real(f), flags, given);
  if (done != SQLITE_OK) return done;
  if (name != nullptr) std::strncpy(of(f)->path, name, sizeof of(f)->path - 1);
  f->pMethods = &kMethods;
  return SQLITE_OK;
}

int delete_file(sqlite3_vfs*, const char* name, int sync) {
  const std::scoped_lock lock(state().mutex);
  state().deleted.push_back(std::filesystem::path(name).filename());
  return state().real->xDelete(state().real, name, sync);
}

}  // namespace

SyncedVfs::SyncedVfs(const std::filesystem::path& disk) {
  State& the = state();
  the.disk = disk;
  the.real = sqlite3_vfs_find(nullptr);
  the.vfs = *the.real;
  the.vfs.zName = "synced";
  the.vfs.szOsFile = static_cast<int>(sizeof(File)) + the.real->szOsFile;
  the.vfs.xOpen = open_file;
  the.vfs.xDelete = delete_file;
  the.deleted.clear();
  CHECK(sqlite3_vfs_register(&the.vfs, 1) == SQLITE_OK);
}

void SyncedVfs::copy_disk(const std::filesystem::path& to) const {
  const std::scoped_lock lock(state().mutex);
  std::filesystem::copy(state().disk, to);
}

SyncedVfs::~SyncedVfs() {
  sqlite3_vfs_unregister(&state().vfs);
  sqlite3_vfs_register(state().real, 1);
}

}  // namespace onceproof
