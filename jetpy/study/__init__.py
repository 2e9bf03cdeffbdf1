"""Studies: the same partitions on all back ends, other partitioners beside, and a page about it.

`runner` makes the runs that are missing, each by `child` in a process of its own (`processes`),
and adds what they found to the `study` in its folder (`files`); `page` tells all there is
(`results`, `efficiency`, `launches`) by `metrics` and `figures`; `merge` joins the studies of
several machines.
"""
