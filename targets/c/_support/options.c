#define _GNU_SOURCE  // program_invocation_short_name
#include "options.h"

#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"

enum { WRONG_COMMAND_LINE = 2, UNSUPPORTED = 127 };

static _Noreturn void end(int status, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  fprintf(stderr, "%s: ", program_invocation_short_name);
  vfprintf(stderr, format, arguments);
  fputc('\n', stderr);
  va_end(arguments);
  exit(status);
}

static int64_t whole_number(const char* name, const char* text, int64_t largest, int status) {
  char* rest;
  errno = 0;
  long long value = strtoll(text, &rest, 10);
  if (errno != 0 || rest == text || *rest != '\0' || value < 0 || value > largest) {
    end(status, "%s is \"%s\": say a whole number from 0 to %lld", name, text, (long long)largest);
  }
  return value;
}

// The knob's position; `usual` when the variable is unset.
static bool is_on(const char* variable, const char* off, const char* on, bool usual) {
  const char* value = getenv(variable);
  if (value == NULL) return usual;
  if (strcmp(value, on) == 0) return true;
  if (strcmp(value, off) != 0) end(EXIT_FAILURE, "%s is \"%s\": say %s or %s", variable, value, off, on);
  return false;
}

static bool is_on_if_able(const char* variable, bool able, bool usual) {
  bool on = is_on(variable, "off", "on", usual);
  if (on && !able) end(UNSUPPORTED, "%s=on: this server can't do that", variable);
  return on;
}

static const char* pem_file(const char* variable) {
  const char* path = getenv(variable);
  if (path == NULL || *path == '\0') end(EXIT_FAILURE, "FEEDBENCH_TLS=on wants a PEM file in %s", variable);
  return path;
}

static void read_command_line(int argc, char** argv, const char* version, struct options* options) {
  static const struct option names[] = {{"host", required_argument, NULL, 'h'},
                                        {"port", required_argument, NULL, 'p'},
                                        {"version", no_argument, NULL, 'v'},
                                        {NULL, 0, NULL, 0}};
  static const char usage[] = "usage: --host HOST --port PORT | --version";
  options->port = -1;
  opterr = 0;  // one line of ours says it all
  for (int name; (name = getopt_long(argc, argv, "", names, NULL)) != -1;) {
    switch (name) {
      case 'h':
        options->host = optarg;
        break;
      case 'p':
        options->port = (int)whole_number("--port", optarg, 65535, WRONG_COMMAND_LINE);
        break;
      case 'v':
        puts(version);
        exit(EXIT_SUCCESS);
      default:
        end(WRONG_COMMAND_LINE, usage);
    }
  }
  if (optind != argc || options->host == NULL || options->port < 0) end(WRONG_COMMAND_LINE, usage);
}

struct options options_read(int argc, char** argv, const struct abilities* abilities) {
  struct options options = {0};
  read_command_line(argc, argv, abilities->version, &options);
  if (abilities->ipv4_only && strchr(options.host, ':') != NULL) {
    end(UNSUPPORTED, "--host %s: this server knows no IPv6", options.host);
  }

  const char* delay = getenv("FEEDBENCH_DELAY_NS");
  if (delay != NULL) options.delay_ns = whole_number("FEEDBENCH_DELAY_NS", delay, INT64_MAX, EXIT_FAILURE);
  options.log_messages = is_on("FEEDBENCH_LOG_MESSAGES", "false", "true", false);
  options.deflate = is_on_if_able("FEEDBENCH_DEFLATE", abilities->deflate, abilities->deflate_by_default);
  options.reuse_port = is_on_if_able("FEEDBENCH_REUSE_PORT", abilities->reuse_port, false);
  options.tls = is_on_if_able("FEEDBENCH_TLS", abilities->tls, false);
  if (options.tls) {
    options.certificate = pem_file("FEEDBENCH_TLS_CERTIFICATE");
    options.key = pem_file("FEEDBENCH_TLS_KEY");
  }
  return options;
}

void before_answer(const struct options* options, const void* message, size_t length) {
  if (options->log_messages) {
    fwrite(message, 1, length, stdout);
    fputc('\n', stdout);
    fflush(stdout);  // a line at a time, as a program that logs to a terminal or for a follower would
  }
  if (options->delay_ns > 0) spin_ns(options->delay_ns);
}
