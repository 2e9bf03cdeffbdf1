"""
Write a portability study
=========================

For those who ask how well a program does on all of their machines, rather than on its
best one. ``jetpy study`` runs jetpy, and other partitioners beside, on every back end
and with several numbers of threads; it checks that parts are the same everywhere, and
writes tables and a page. Here it does so on a small mesh, with METIS beside; then S. J.
Pennycook's metric of performance portability is computed from the table by hand.

Needs ``pip install '.[report]'``; run it by ``python docs/tutorials/study.py``, which
takes half a minute: each run has a process of its own.
"""

# %%
# The study
# ---------
# One graph, eight parts, one and two threads, and two presets of jetpy. The graph is so
# small that threads have little to do, and that METIS is done soonest: take graphs of
# the size that you need. A study that was interrupted goes on where it stopped: what is
# in its folder is not run again.

import csv
import subprocess
import sys
from math import inf
from pathlib import Path
from statistics import harmonic_mean

import matplotlib.pyplot as plt

import jetpy

jetpy.write_graph("mesh.graph", jetpy.generators.delaunay(20_000))
study = "jetpy study mesh.graph -k 8 --threads 1,2 --presets fast,default"
study += " --tools metis --machine here -o study --quiet"
subprocess.run([sys.executable, "-m", *study.split()], check=True)
print(*sorted(path.name for path in Path("study").iterdir()))

# %%
# The tables
# ----------
# ``performance.csv`` has a row for each run. What is compared is an *application*;
# where it runs is a *platform*, here so many threads of this machine. Figures of merit
# are seconds, ``fom``, and the cut, ``fom_cut``: less is better. They are empty where a
# run failed, or found no balanced parts.


def table(name):
    """Return the rows of a table of the study, as dictionaries."""
    with open(Path("study") / name, newline="") as file:
        return list(csv.DictReader(file))


runs = table("performance.csv")
for run in runs:
    where = f"{run['application']:14} {run['platform']:10}"
    print(where, f"{run['fom']:>9} s, cut {run['fom_cut']:>5}")
assert len(runs) == 6
assert all(run["status"] == "done" for run in runs)

# %%
# Seconds differ from run to run, cuts of jetpy do not: its parts have the same checksum
# with any number of threads, and on GPUs.

parts = {(run["preset"], run["parts_sha"]) for run in runs if run["tool"] == "jetpy"}
assert len(parts) == 2, "of two presets"

# %%
# Pennycook's metric
# ------------------
# The *efficiency* of an application on a platform is the best figure there over its
# own: 1 is best. The metric is the harmonic mean over all platforms; it is 0 if there
# is one where the application fails.


def portability(application, figure):
    """Return Pennycook's metric of an application; less of the figure is better."""
    efficiencies = []
    for platform in {run["platform"] for run in runs}:
        here = [run for run in runs if run["platform"] == platform and run[figure]]
        values = {run["application"]: float(run[figure]) for run in here}
        efficiencies.append(min(values.values()) / values.get(application, inf))
    return harmonic_mean(efficiencies)


found = {}
for application in dict.fromkeys(run["application"] for run in runs):
    time, cut = (portability(application, figure) for figure in ("fom", "fom_cut"))
    found[application] = time, cut
    print(f"{application:14} by time {time:.3f}, by cut {cut:.3f}")
assert all(0 < value <= 1 for values in found.values() for value in values)

# %%
# Both at once; up and to the right is better.

figure, ax = plt.subplots(figsize=(5, 4), layout="constrained")
for application, (time, cut) in found.items():
    ax.plot(time, cut, "o", label=application)
ax.set(xlabel="portability by time", ylabel="portability by cut", xlim=(0, 1.05))
ax.legend()
figure.savefig("portability.png")
print("wrote portability.png")

# %%
# Several machines
# ----------------
# ``study/report.html`` has this metric and more, for all graphs and numbers of parts.
# To join what several machines have found, copy their folders to one of them:
#
# .. code-block:: console
#
#    $ jetpy study --merge study study-of-the-gpu -o both
#
# Platforms are then those of both. An application that can't run on one of them gets 0;
# what was only not tried there does not count.
# :doc:`A study of performance portability </study>` tells what tables and page hold.

page = Path("study/report.html")
assert page.stat().st_size > 10_000
print("open", page)
