"""Recordings: what a WebSocket delivered, a line a frame, as `feedbench exchange --replay` plays it."""
