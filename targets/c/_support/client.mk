# How the feed clients written with a C library are built, beside server.mk: include it after that.
#   $(BUILD)/client from client.c and what of SOURCES the target names in CLIENT_SOURCES
CLIENT_OBJECTS := $(patsubst %.c,$(BUILD)/%.o,client.c feed.c feed_settings.c stamps_sink.c sqlite_sink.c $(CLIENT_SOURCES))

$(BUILD)/client: LIBRARIES += $(shell pkg-config --libs sqlite3) -pthread
$(BUILD)/client: $(CLIENT_OBJECTS)
	$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(LIBRARIES)
