"""Studies: the same partitions on all back ends, other partitioners beside, and a page about it.

`runner` makes the runs that are missing, each by `child` in a process of its own (`processes`),
and appends what they found to tables (`files`); `page` tells all there is by `metrics` and
`figures`; `merge` joins the results of several machines.
"""
