"""An event's age in parts, for clients as they are.

capture    the wire's stamps, by feedbench-wire-stamps
parts      joined with the ledger and the client's record: pure
measure    clients in turn
"""
