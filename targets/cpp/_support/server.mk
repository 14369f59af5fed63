# How the servers written with a C++ library are built; a target's Makefile names its parts and includes this.
#   STANDARD  of the language
#   PACKAGES  that pkg-config knows, beside nlohmann_json
#   LIBRARIES for the linker, of what pkg-config doesn't know
#   OBJECTS   beside the server's own
# make BUILD=<folder> leaves the program at <folder>/server; OPTIMIZE="-O0 -g" makes it a debug build.
BUILD ?= build
OPTIMIZE ?= -O3
STANDARD ?= c++17
SUPPORT := ../_support
vpath %.cpp $(SUPPORT)

PACKAGES += nlohmann_json
CPPFLAGS += -I$(SUPPORT) $(shell pkg-config --cflags $(PACKAGES))
CXXFLAGS += -std=$(STANDARD) -Wall -Wextra -pthread $(OPTIMIZE)
LIBRARIES += $(shell pkg-config --libs $(PACKAGES))
OBJECTS += $(addprefix $(BUILD)/,server.o options.o stamp.o)

$(BUILD)/server: $(OBJECTS)
	$(CXX) $(CXXFLAGS) $(LDFLAGS) -o $@ $^ $(LIBRARIES)

# Everything is compiled again when any header changes: these are a handful of small files.
$(BUILD)/%.o: %.cpp $(wildcard *.hpp $(SUPPORT)/*.hpp) Makefile $(SUPPORT)/server.mk | $(BUILD)
	$(CXX) $(CPPFLAGS) $(CXXFLAGS) -c -o $@ $<

$(BUILD):
	mkdir -p $@
