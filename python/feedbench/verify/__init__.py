"""Puts a server through conversations with a known right outcome, before anything of it is timed.

case (what is said and expected) → conversation (one connection) → examination (one target) → verdicts.
"""
