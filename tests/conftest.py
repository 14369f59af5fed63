"""Stands here so that every test finds what tests share (`synthetic_run`), whatever folder it lies in."""
