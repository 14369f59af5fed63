"""Papík's analysis of who receives what an exchange sends, from the clients' files to his tables and figures.

series, problem      what is told apart, and what can be wrong with it
source               which file holds which series
stamps, sqlite, recording   the files as batches of messages
ingest               batches as Parquet, one folder a series
dialect              where each exchange puts its event times
deliveries           Parquet as one DuckDB table: identity, age
common               the events that all clients of an exchange received
ages, normality      what a distribution of ages is like: pure
account, study       all that there is to tell, as frozen values
tables, beside, figures, write   tables 1–12 and figures 9–11 of the paper
run                  all of it in order
"""

from feedbench.pipeline.run import Options, run_pipeline
from feedbench.pipeline.study import Study

__all__ = ["Options", "Study", "run_pipeline"]
