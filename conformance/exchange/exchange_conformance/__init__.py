"""Runs unmodified exchange clients against the simulated exchange and judges what they understood.

Stages speak through files: `collect` writes what each client claims to have received and what a raw
connection, the witness, received beside it; `judge` joins both with the exchange's ledger.
"""
