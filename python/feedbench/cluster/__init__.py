"""Several machines, over Dask: hosts that offer what a plan needs, and the controller that uses them.

dask          the optional library, and how to have it
certificates  who may take part: an authority and three certificates
contact       an address, and what encrypts the way to it
scheduler     the Dask scheduler that hosts and controllers meet at
greeting      what a host is asked before it may take part: version and clock
worker        a host as a Dask worker
station       what one host does for a run: it starts targets and engines, and knows nothing of Dask
agent         the Dask actor through which a controller reaches a station
connection    the controller's side: hosts by name, and what is lost when one of them is
assignment    which host does what: pure
suitable      what can't be asked of several machines: pure
place         where a block's processes run, for the block runner
agents        one load on several hosts: shares, a common start, and the sum of what they measured
clocks        clocks of hosts against the controller's: samples in, a document out
"""
