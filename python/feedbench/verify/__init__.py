"""Puts targets through conversations with a known right outcome, before anything of them is timed.

case (what is said and expected) → conversation (one connection, with a server or a client as its peer)
→ examination (one target) → campaign (many) → verdicts.
"""
