"""The words that a reader of the report needs, each in a sentence or two."""

GLOSSARY = (
    ("Round trip", "From the moment a message was due to be sent until its answer came back."),
    (
        "Event age",
        "From the birth of an event until its receipt, one way. Never on one axis with round trips.",
    ),
    (
        "Median, p99, p99.9",
        "Half of the messages took less than the median; one in a hundred took longer than p99, "
        "one in a thousand longer than p99.9. A dash: too few messages to tell.",
    ),
    (
        "Block",
        "Fresh processes of all targets, measured side by side in short slices in random order. "
        "Blocks, not messages, are what intervals are made of: "
        "one program differs more from start to start than from message to message.",
    ),
    ("Interval", "Where the value would lie in 95 of 100 such runs."),
    (
        "Different, equivalent, undecided",
        "Different: the difference is larger than the margin and too regular to be chance. "
        "Equivalent: the whole interval lies inside the margin. "
        "Undecided: neither could be shown; more blocks might.",
    ),
    (
        "Rank interval",
        "2–4 means: at least one target is shown to be better, and it may be anything from second to fourth.",
    ),
    ("Tier", "Targets that no decision separates share one."),
    (
        "Sentinel",
        "A second copy of one target. If the two copies came out different, the method would be wrong, "
        "and no ranking is printed.",
    ),
    (
        "Control",
        "A copy slowed by a known time. If that isn’t found, with its sign and size, no ranking is printed.",
    ),
    (
        "Gate",
        "A limit on the environment, blind to the results. "
        "A block that fails one is dropped for all targets.",
    ),
    (
        "Ceiling, generator-bound",
        "What a bare TCP loop reaches on this machine. A cell too near to it may show the load generator’s "
        "limit instead of the target’s.",
    ),
)
