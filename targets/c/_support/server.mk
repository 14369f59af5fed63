# How the servers written with a C library are built; a target's Makefile names its parts and includes this.
#   SOURCES   beside server.c and what every server takes from _support
#   PACKAGES  that pkg-config knows, beside jansson
#   LIBRARIES for the linker, of what pkg-config doesn't know
# make BUILD=<folder> leaves the program at <folder>/server; OPTIMIZE="-O0 -g" makes it a debug build.
BUILD ?= build
OPTIMIZE ?= -O2
SUPPORT := ../_support
vpath %.c $(SUPPORT)

PACKAGES += jansson
CFLAGS += -std=c11 -D_DEFAULT_SOURCE -Wall -Wextra $(OPTIMIZE) -I$(SUPPORT) $(shell pkg-config --cflags $(PACKAGES))
LIBRARIES += $(shell pkg-config --libs $(PACKAGES))
OBJECTS := $(patsubst %.c,$(BUILD)/%.o,server.c options.c stamp.c $(SOURCES))

$(BUILD)/server: $(OBJECTS)
	$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(LIBRARIES)

# Everything is compiled again when any header changes: these are a handful of small files.
$(BUILD)/%.o: %.c $(wildcard *.h $(SUPPORT)/*.h) Makefile $(SUPPORT)/server.mk | $(BUILD)
	$(CC) $(CFLAGS) -c -o $@ $<

$(BUILD):
	mkdir -p $@
