// What a fuzz target is in a build without libFuzzer: each file of the folder given goes through it
// whole, cut after every byte, and with every byte bent. Fails if there is no seed.
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

void play(const std::string& input) {
  LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(input.data()), input.size());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2 || !std::filesystem::is_directory(argv[1])) {
    std::fputs("usage: NAME_fuzz FOLDER_OF_SEEDS\n", stderr);
    return 2;
  }
  std::size_t seeds = 0;
  for (const auto& entry : std::filesystem::directory_iterator(argv[1])) {
    std::ifstream file(entry.path(), std::ios::binary);
    const std::string seed{std::istreambuf_iterator<char>(file), {}};
    ++seeds;
    play(seed);
    for (std::size_t i = 0; i < seed.size(); ++i) {
      play(seed.substr(0, i));
      std::string bent = seed;
      bent[i] = static_cast<char>(bent[i] ^ (1 << (i % 8)));
      play(bent);
    }
  }
  if (seeds == 0) std::fprintf(stderr, "no seeds in %s\n", argv[1]);
  return seeds == 0 ? 1 : 0;
}
