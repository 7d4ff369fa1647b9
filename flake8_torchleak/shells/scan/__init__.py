"""`torchleak scan`: `torchleak check` over many checkouts, on one machine or on a cluster of Dask or Ray.

What is known of a repository is written as soon as it is there, so a scan that was ended goes on where it was.
"""
