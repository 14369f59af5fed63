// Command line and knobs (spec/README.md), the same for every server written with a C library.
#ifndef SUPPORT_OPTIONS_H
#define SUPPORT_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// "1.2.3" from the three macros of a library's version header.
#define VERSION_TEXT(major, minor, patch) VERSION_PART(major) "." VERSION_PART(minor) "." VERSION_PART(patch)
#define VERSION_PART(number) #number

struct options {
  const char* host;
  int port;
  int64_t delay_ns;  // spun away before each answer; 0: none
  bool log_messages;
  bool deflate;
  bool reuse_port;
  bool tls;
  const char* certificate;  // PEM files; NULL without tls
  const char* key;
};

// What a library can do, and what it does by itself.
struct abilities {
  const char* version;  // of the library, printed for --version
  bool deflate;
  bool deflate_by_default;
  bool reuse_port;
  bool tls;
  bool ipv4_only;
};

// Ends the process with a line on stderr: with status 2 for a wrong command line, 1 for a knob that can't be read, and
// 127 for one that asks for what the library can't do.
struct options options_read(int argc, char** argv, const struct abilities* abilities);

// What the knobs ask for between a message and its answer; usually nothing.
void before_answer(const struct options* options, const void* message, size_t length);

#endif
