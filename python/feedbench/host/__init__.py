"""The machine: its facts, what is wrong with it for measuring, and what shields a run from the rest of it."""
