// Settings that arrive as environment variables.
#ifndef FLOOR_KNOB_H
#define FLOOR_KNOB_H

#include <stdint.h>

// The whole number of nanoseconds that the variable holds, 0 when it is absent. Ends the process with a line on stderr
// when it holds anything else.
int64_t knob_ns(const char* variable);

#endif
