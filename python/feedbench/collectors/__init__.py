"""Collectors of one market's data through REST, WebSocket and FIX, as `latency_bench` has them, made to last.

venue        an exchange: its paths, its subscription, how its messages are read
clock        the time that collectors live by; a test brings its own
back_off     how long to wait after a failure, and when to leave an exchange alone
observation  what a collector saw of one message, and what went wrong meanwhile
rest         polls a ticker, keeping its connection
websocket    subscribes to a ticker by message, and connects again when it is lost
fix_session  FIX 4.2 without sockets: numbers, heartbeats, gaps
fix_echo     the server on loopback that answers
fix          asks it, with a throttle
offset       asks an exchange for its time, for `feedbench.clock_offset`
composite    all three at once, with questions for the time between
"""
