"""Executes a plan: blocks of fresh processes, rounds of engine calls, a status for every cell whatever
happens.
"""
