# How the feed clients written with a C++ library are built, beside server.mk: include it after that.
#   $(BUILD)/client from client.cpp
$(BUILD)/client: LIBRARIES += $(shell pkg-config --libs sqlite3)
$(BUILD)/client: $(addprefix $(BUILD)/,client.o feed.o feed_settings.o stamps_sink.o sqlite_sink.o)
	$(CXX) $(CXXFLAGS) $(LDFLAGS) -o $@ $^ $(LIBRARIES)
