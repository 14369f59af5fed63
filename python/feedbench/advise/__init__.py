"""From what runs have shown to what a user can choose: the decision report.

need        what the user states: load, limit, budget, languages, doors
evidence    what runs and capacity searches have shown of each choice, and at which load
judge       whether a choice is shown to meet the need, shown not to, or neither
dominance   which of those that meet it another one beats in every respect
report      the whole: choices, what was left out and why, how it flips, and the commands that repeat it
text        that for the terminal

Nothing is extrapolated: a choice meets a need only by a measurement at least as heavy, and fails it only by
one at most as heavy.
"""
