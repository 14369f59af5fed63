"""Dask is an optional part: whoever asks for several machines without it is told how to have it."""

from __future__ import annotations

import logging
from importlib import import_module
from importlib.util import find_spec

from feedbench.errors import ClusterError

MODULE = "distributed"


def need_dask(module: str = MODULE) -> None:
    """ClusterError when the library is not installed. Its talk is kept to what went wrong."""
    if find_spec(module) is None:
        raise ClusterError(
            "several machines want Dask, which is not installed here",
            hint="try: pip install 'feedbench[cluster]'",
        )
    import_module(module)  # sets the levels of its loggers
    # Lost connections are told in our words; Dask would print a traceback for each.
    for name in [name for name in logging.root.manager.loggerDict if name.split(".")[0] == module]:
        logging.getLogger(name).setLevel(logging.CRITICAL)
