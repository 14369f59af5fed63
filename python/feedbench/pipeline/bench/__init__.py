"""How fast the pipeline is: on as many events as the paper had, and beside a straightforward polars version.

generate          as many events as wished for, as the pipeline's ingest leaves them
straightforward   the same result as anyone would write it with polars and hashlib
partitions        one process against workers: `make bench-partitions`
contest           the two against each other, in processes of their own, in turns
"""
