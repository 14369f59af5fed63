// The sink `stamps`: one write to the kernel for each message.
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "feed_sink.h"

// As on disk, on a little-endian machine.
struct header {
  char magic[8];
  uint32_t version;
  uint32_t zero;
};
struct record {
  uint64_t monotonic_ns;
  uint64_t unix_ms;
  uint32_t payload_bytes;
  uint32_t kind;  // one byte, and three of zero
};
_Static_assert(sizeof(struct header) == 16 && sizeof(struct record) == 24, "no padding");
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "written as in memory");

static const char* path;
static int file;

static _Noreturn void fail(void) { feed_end(FEED_FAILED, "cannot write %s: %s", path, strerror(errno)); }

// The kernel takes a part when the disk fills up; the next call then says why.
static void write_all(struct iovec parts[2]) {
  while (parts[0].iov_len + parts[1].iov_len > 0) {
    ssize_t written = writev(file, parts, 2);
    if (written < 0) {
      if (errno == EINTR) continue;
      fail();
    }
    size_t left = (size_t)written;
    for (int part = 0; part < 2; part++) {
      size_t taken = left < parts[part].iov_len ? left : parts[part].iov_len;
      parts[part].iov_base = (char*)parts[part].iov_base + taken;
      parts[part].iov_len -= taken;
      left -= taken;
    }
  }
}

void stamps_open(const struct feed_settings* settings) {
  path = settings->output;
  file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  struct stat about;
  if (file < 0 || fstat(file, &about) < 0) fail();
  if (about.st_size > 0) return;
  struct header header = {.magic = "FBSTAMP", .version = 1};
  header.magic[7] = 'S';  // all eight, no zero behind
  struct iovec parts[2] = {{&header, sizeof header}, {NULL, 0}};
  write_all(parts);
}

void stamps_write(struct moment at, enum feed_kind kind, const void* payload, size_t length) {
  struct record record = {at.monotonic_ns, at.unix_ms, (uint32_t)length, kind};
  struct iovec parts[2] = {{&record, sizeof record}, {(void*)payload, length}};
  write_all(parts);
}
