"""Performance studies: the same partitions on all back ends, other partitioners, and a page.

`runner` makes the missing runs, each by `child` in a separate process (`processes`), and adds the
results to the `study` in its folder (`files`). `page` presents all results (`results`,
`efficiency`, `launches`) with `metrics` and `figures`. `merge` joins the studies of several
machines.
"""
