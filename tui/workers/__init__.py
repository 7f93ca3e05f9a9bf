"""Workers that play the runs of a study: processes on this machine or a Dask cluster, and how runs get to them."""
