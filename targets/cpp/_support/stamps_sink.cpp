// The sink `stamps`: one write to the kernel for each message.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>

#include "sink.hpp"

namespace support {
namespace {

constexpr std::uint32_t kind_connected = 3;
constexpr std::uint32_t kind_end = 4;

// As on disk, on a little-endian machine.
struct Header {
  char magic[8] = {'F', 'B', 'S', 'T', 'A', 'M', 'P', 'S'};
  std::uint32_t version = 1;
  std::uint32_t zero = 0;
};
struct Record {
  std::uint64_t monotonic_ns;
  std::uint64_t unix_ms;
  std::uint32_t payload_bytes;
  std::uint32_t kind;  // one byte, and three of zero
};
static_assert(sizeof(Header) == 16 && sizeof(Record) == 24);
static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__);

class Stamps : public Sink {
 public:
  explicit Stamps(const std::string& path) : file_(open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644)) {
    struct stat about {};
    if (file_ < 0 || fstat(file_, &about) < 0) fail();
    if (about.st_size == 0) {
      Header header;
      write_all({&header, sizeof header}, {});
    }
  }

  void connected(Moment at) override { write(at, kind_connected, {}); }
  void message(Moment at, Kind kind, std::string_view payload) override {
    write(at, static_cast<std::uint32_t>(kind), payload);
  }
  void end(Moment at, std::string_view reason) override { write(at, kind_end, reason); }

 private:
  [[noreturn]] static void fail() { throw std::runtime_error(std::strerror(errno)); }

  void write(Moment at, std::uint32_t kind, std::string_view payload) {
    Record record{at.monotonic_ns, at.unix_ms, static_cast<std::uint32_t>(payload.size()), kind};
    write_all({&record, sizeof record}, {const_cast<char*>(payload.data()), payload.size()});
  }

  // The kernel takes a part when the disk fills up; the next call then says why.
  void write_all(iovec head, iovec payload) {
    iovec parts[] = {head, payload};
    while (parts[0].iov_len + parts[1].iov_len > 0) {
      const ssize_t written = writev(file_, parts, 2);
      if (written < 0) {
        if (errno == EINTR) continue;
        fail();
      }
      auto left = static_cast<std::size_t>(written);
      for (iovec& part : parts) {
        const std::size_t taken = left < part.iov_len ? left : part.iov_len;
        part.iov_base = static_cast<char*>(part.iov_base) + taken;
        part.iov_len -= taken;
        left -= taken;
      }
    }
  }

  const int file_;
};

}  // namespace

std::unique_ptr<Sink> open_stamps(const std::string& path) { return std::make_unique<Stamps>(path); }

}  // namespace support
