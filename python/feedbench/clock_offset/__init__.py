"""How far a remote clock is off, and how well that is known: pure functions over samples.

sample      one question for the time, and the bounds that its round trip proves
bounds      what all samples prove together, for a clock that runs steadily
drift       how fast one clock gains on the other: a robust line with its interval
estimate    the paper's figure, ours, one-way delays with intervals, and `undecided`
discipline  what keeps this machine's clock: chrony, PTP
"""
