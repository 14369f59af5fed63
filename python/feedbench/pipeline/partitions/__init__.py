"""The same study in parts, on several processes or hosts: the memory of each is bounded by one part.

split       who reads which files, and how many partitions by hash there are: pure
task        one part of the work: done once, its result a file
scatter     some of a client's messages as events, by exchange and hash prefix
gather      one exchange's events of one prefix: which ones all clients have
crew        Dask: processes of this machine, or the workers of a scheduler
run         all of it in order
"""
