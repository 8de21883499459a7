#include "base/file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <thread>
#include <vector>

namespace onceproof {
namespace {

namespace fs = std::filesystem;

TempDir temp_dir() {
  return std::move(TempDir::make("onceproof-file-test").value());
}

std::size_t files_in(const fs::path& folder) {
  return static_cast<std::size_t>(
      std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}

bool is_open(int fd) {
  return ::fcntl(fd, F_GETFD) != -1;
}

TEST(UniqueFdTest, ClosesOnceAtTheEndOfItsLife) {
  int number = -1;
  {
    const UniqueFd fd(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    ASSERT_TRUE(fd.valid());
    number = fd.get();
    EXPECT_TRUE(is_open(number));
  }
  EXPECT_FALSE(is_open(number));
}

TEST(UniqueFdTest, AMoveLeavesNothingBehind) {
  UniqueFd first(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  const int number = first.get();
  UniqueFd second(std::move(first));
  EXPECT_FALSE(first.valid());
  UniqueFd third(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  const int replaced = third.get();
  third = std::move(second);
  EXPECT_EQ(third.get(), number);
  EXPECT_FALSE(is_open(replaced));
  third.reset();
  EXPECT_FALSE(third.valid());
  EXPECT_FALSE(is_open(number));
}

TEST(TempDirTest, IsPrivateAndUnderTmpdir) {
  const TempDir dir = temp_dir();
  EXPECT_EQ(dir.path().parent_path(), fs::temp_directory_path());
  EXPECT_TRUE(dir.path().filename().string().starts_with("onceproof-file-test-"));
  EXPECT_EQ(fs::status(dir.path()).permissions(), fs::perms::owner_all);
}

TEST(TempDirTest, TakesAllItHoldsWithIt) {
  fs::path path;
  {
    const TempDir dir = temp_dir();
    path = dir.path();
    fs::create_directories(path / "a" / "b");
    ASSERT_TRUE(write_file(path / "a" / "b" / "c", "text"));
    fs::create_directory_symlink("/", path / "root");  // the link goes, not what it points to
  }
  EXPECT_FALSE(fs::exists(path));
  EXPECT_TRUE(fs::exists("/"));
}

TEST(TempDirTest, AMovedOneIsRemovedOnce) {
  fs::path path;
  {
    TempDir first = temp_dir();
    path = first.path();
    const TempDir second(std::move(first));
    EXPECT_TRUE(first.path().empty());
    EXPECT_TRUE(fs::exists(path));
  }
  EXPECT_FALSE(fs::exists(path));
}

TEST(TempDirTest, SaysWhichFolderItCouldNotMake) {
  const auto dir = TempDir::make("no/such/folder");
  ASSERT_FALSE(dir);
  EXPECT_EQ(dir.error().code, ErrorCode::io_failed);
  EXPECT_EQ(dir.error().message, "cannot make a folder under " +
                                     fs::temp_directory_path().string() +
                                     ": No such file or directory");
}

TEST(ReadFileTest, ReadsBytes) {
  const TempDir dir = temp_dir();
  const std::string bytes("a\0\xff\n", 4);
  ASSERT_TRUE(write_file(dir.path() / "f", bytes));
  EXPECT_EQ(read_file(dir.path() / "f").value(), bytes);
}

TEST(ReadFileTest, NamesTheFileThatIsNotThere) {
  const TempDir dir = temp_dir();
  const auto text = read_file(dir.path() / "absent.yaml");
  ASSERT_FALSE(text);
  EXPECT_EQ(text.error().code, ErrorCode::not_found);
  EXPECT_EQ(text.error().message,
            "cannot read " + (dir.path() / "absent.yaml").string() + ": No such file or directory");
}

TEST(ReadFileTest, AFolderIsNoFile) {
  const TempDir dir = temp_dir();
  const auto text = read_file(dir.path());
  ASSERT_FALSE(text);
  EXPECT_EQ(text.error().code, ErrorCode::io_failed);
  EXPECT_EQ(text.error().message, "cannot read " + dir.path().string() + ": Is a directory");
}

TEST(ReadFileTest, StopsAtItsLimit) {
  const TempDir dir = temp_dir();
  const auto path = dir.path() / "f";
  ASSERT_TRUE(write_file(path, std::string(100'000, 'x')));
  EXPECT_EQ(read_file(path, 100'000).value().size(), 100'000U);
  const auto text = read_file(path, 99'999);
  ASSERT_FALSE(text);
  EXPECT_EQ(text.error().code, ErrorCode::limit_exceeded);
  EXPECT_EQ(text.error().message, path.string() + " is larger than 99999 bytes");
}

TEST(ReadFileTest, APipeOrADeviceIsRefusedAndNotWaitedFor) {
  const TempDir dir = temp_dir();
  const auto path = dir.path() / "fifo";
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  fs::create_symlink("fifo", dir.path() / "link");
  for (const fs::path& special : {path, dir.path() / "link", fs::path("/dev/zero")}) {
    const auto text = read_file(special);
    ASSERT_FALSE(text);
    EXPECT_EQ(text.error().message, "cannot read " + special.string() + ": it is no regular file");
  }
}

TEST(ReadFileTest, WhatIsOpenAlreadyIsReadByItsNumber) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const UniqueFd read_end(ends[0]);
  {
    const UniqueFd write_end(ends[1]);
    ASSERT_EQ(::write(write_end.get(), "text", 4), 4);
  }
  EXPECT_EQ(read_file("/dev/fd/" + std::to_string(read_end.get())).value(), "text");
}

TEST(WriteFileTest, ReplacesTheOldTextWhole) {
  const TempDir dir = temp_dir();
  const auto path = dir.path() / "f";
  ASSERT_TRUE(write_file(path, std::string(100'000, 'x')));
  ASSERT_TRUE(write_file(path, "short"));
  EXPECT_EQ(read_file(path).value(), "short");
  ASSERT_TRUE(write_file(path, ""));
  EXPECT_EQ(read_file(path).value(), "");
  EXPECT_EQ(files_in(dir.path()), 1U);
}

TEST(WriteFileTest, ReadersAndWritersAtOnceSeeOnlyWholeTexts) {
  const TempDir dir = temp_dir();
  const auto path = dir.path() / "f";
  ASSERT_TRUE(write_file(path, std::string(20'000, 'a')));
  {
    std::vector<std::jthread> writers;
    for (const char letter : {'a', 'b', 'c'}) {
      writers.emplace_back([&path, letter] {
        for (int i = 0; i < 100; ++i) {
          EXPECT_TRUE(write_file(path, std::string(20'000, letter)));
        }
      });
    }
    for (int i = 0; i < 100; ++i) {
      const std::string text = read_file(path).value();
      ASSERT_EQ(text, std::string(20'000, text.at(0)));
    }
  }
  EXPECT_EQ(files_in(dir.path()), 1U);
}

TEST(WriteFileTest, NamesTheFileAndLeavesNothingBeside) {
  const TempDir dir = temp_dir();
  const auto path = dir.path() / "no" / "f";
  const auto written = write_file(path, "x");
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code, ErrorCode::io_failed);
  EXPECT_EQ(written.error().message,
            "cannot write " + path.string() + ": No such file or directory");
  fs::create_directory(dir.path() / "folder");
  ASSERT_TRUE(write_file(dir.path() / "folder" / "inside", "x"));
  EXPECT_FALSE(write_file(dir.path() / "folder", "x"));
  EXPECT_EQ(files_in(dir.path()), 1U);
}

TEST(WriteFileTest, FollowsLinksAlsoToWhatIsNotThereYet) {
  const TempDir dir = temp_dir();
  fs::create_directory(dir.path() / "folder");
  fs::create_symlink("folder/target", dir.path() / "link");
  fs::create_symlink(dir.path() / "link", dir.path() / "second");
  for (const char* text : {"new", "newer"}) {
    ASSERT_TRUE(write_file(dir.path() / "second", text));
    EXPECT_EQ(read_file(dir.path() / "folder" / "target").value(), text);
    EXPECT_TRUE(fs::is_symlink(dir.path() / "link"));
    EXPECT_TRUE(fs::is_symlink(dir.path() / "second"));
    EXPECT_EQ(files_in(dir.path()), 3U);
    EXPECT_EQ(files_in(dir.path() / "folder"), 1U);
  }
}

TEST(WriteFileTest, ALoopOfLinksOrAFolderIsRefused) {
  const TempDir dir = temp_dir();
  fs::create_symlink("b", dir.path() / "a");
  fs::create_symlink("a", dir.path() / "b");
  fs::create_directory_symlink(".", dir.path() / "here");
  EXPECT_FALSE(write_file(dir.path() / "a", "x"));
  const auto folder = write_file(dir.path() / "here", "x");
  ASSERT_FALSE(folder);
  EXPECT_TRUE(folder.error().message.ends_with("here: Is a directory")) << folder.error().message;
  EXPECT_EQ(files_in(dir.path()), 3U);
}

TEST(WriteFileTest, APipeStaysOneAndIsWrittenTo) {
  const TempDir dir = temp_dir();
  const auto path = dir.path() / "fifo";
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  const auto unread = write_file(path, "x");
  ASSERT_FALSE(unread);
  EXPECT_EQ(unread.error().message, "cannot write " + path.string() + ": nobody reads it");
  const UniqueFd reader(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  ASSERT_TRUE(write_file(path, "text"));
  char bytes[8];
  ASSERT_EQ(::read(reader.get(), bytes, sizeof bytes), 4);
  EXPECT_EQ(std::string(bytes, 4), "text");
  EXPECT_TRUE(fs::is_fifo(path));
  EXPECT_EQ(files_in(dir.path()), 1U);
}

TEST(WriteFileTest, WhatIsOpenAlreadyIsNotReplaced) {
  const TempDir dir = temp_dir();
  const auto path = dir.path() / "f";
  const UniqueFd open(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  ASSERT_EQ(::write(open.get(), "a", 1), 1);
  ASSERT_TRUE(write_file("/dev/fd/" + std::to_string(open.get()), "b"));
  EXPECT_EQ(read_file(path).value(), "ab");
  struct stat held {};
  ASSERT_EQ(::fstat(open.get(), &held), 0);
  EXPECT_EQ(held.st_nlink, 1U);
}

// A limit on file sizes stands in for a full disk.
TEST(WriteFileTest, AWriteThatIsCutShortLeavesTheOldText) {
  const TempDir dir = temp_dir();
  const auto path = dir.path() / "f";
  ASSERT_TRUE(write_file(path, "old"));
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit small{.rlim_cur = 1000, .rlim_max = before.rlim_max};
  const auto old_handler = std::signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  const auto written = write_file(path, std::string(2000, 'x'));
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, old_handler);
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().message, "cannot write " + path.string() + ": File too large");
  EXPECT_EQ(read_file(path).value(), "old");
  EXPECT_EQ(files_in(dir.path()), 1U);
}

}  // namespace
}  // namespace onceproof
