"""Feed clients: what they recorded (stamps, received), what was sent (ledger), and both together (join)."""
