"""A feed as a plan has it."""

from feedbench.feed.settings import Feed

FEED = Feed(
    exchange="gemini",
    personality="gemini",
    path="/v1/marketdata/BTCUSD",
    subscribe=(),
    design="sliced",
    rate_per_s=1000,
    arrivals="poisson",
    branching_ratio=0.6,
    symbols=1,
    tls=False,
    faults=(),
)
