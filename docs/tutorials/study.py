"""
Write a portability study
=========================

This tutorial measures how well a program performs on all of your machines instead of
only the best one. ``jetpy study`` runs jetpy and other partitioners on every back end,
with several numbers of threads. It checks that jetpy's parts are the same everywhere,
and writes tables and a page. In this tutorial, it compares jetpy with METIS on a small
mesh. Then you compute Pennycook's metric of performance portability from the table.

First run ``pip install '.[report]'``, then ``python docs/tutorials/study.py``. It takes
half a minute, because each run starts a process.
"""

# %%
# Run the study
# -------------
# The study has one graph, k = 8, one and two threads, two presets of jetpy, and only
# the back end ``cpu``. Without ``--backends``, ``jetpy study`` runs every back end that
# works on the machine. The graph is so small that more threads hardly help and METIS is
# fastest. For your own study, use graphs of the size that you need. After an
# interruption, the same command resumes the study: it does not repeat runs that are in
# its folder.

import csv
import subprocess
import sys
from math import inf
from pathlib import Path
from statistics import harmonic_mean

import matplotlib.pyplot as plt

import jetpy

jetpy.write_graph("mesh.graph", jetpy.generators.delaunay(20_000))
study = "jetpy study mesh.graph -k 8 --backends cpu --threads 1,2"
study += " --presets fast,default --tools metis --machine here -o study --quiet"
subprocess.run([sys.executable, "-m", *study.split()], check=True)
print(*sorted(path.name for path in Path("study").iterdir()))

# %%
# Read the tables
# ---------------
# ``performance.csv`` has a row for each run. The study compares *applications* on
# *platforms*. In this study, a platform is a number of threads on this machine. The
# figures of merit are the seconds (``fom``) and the cut (``fom_cut``); smaller is
# better. They are empty if a run failed or did not find balanced parts.


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
# The seconds differ from run to run. The cuts of jetpy do not: its parts have the same
# checksum with any number of threads, and on GPUs.

parts = {(run["preset"], run["parts_sha"]) for run in runs if run["tool"] == "jetpy"}
assert len(parts) == 2, "of two presets"

# %%
# Pennycook's metric
# ------------------
# The *efficiency* of an application on a platform is the best figure on this platform
# divided by the figure of the application. The best efficiency is 1. The metric is the
# harmonic mean of the efficiencies over all platforms. It is 0 if the application fails
# on any platform.


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
# Plot both metrics. The best application is at the top right.

figure, ax = plt.subplots(figsize=(5, 4), layout="constrained")
for application, (time, cut) in found.items():
    ax.plot(time, cut, "o", label=application)
ax.set(xlabel="portability by time", ylabel="portability by cut", xlim=(0, 1.05))
ax.legend()
figure.savefig("portability.png")
print("wrote portability.png")

# %%
# Merge several machines
# ----------------------
# ``study/report.html`` has this metric and others, for all graphs and numbers of parts.
# To merge the studies of several machines, copy their folders to one machine and run:
#
# .. code-block:: console
#
#    $ jetpy study --merge study study-of-the-gpu -o both
#
# The merged study has the platforms of both. An application gets 0 if it cannot run on
# one of the platforms. A platform on which it was not tried does not count. :doc:`A
# study of performance portability </study>` describes the tables and the page.

page = Path("study/report.html")
assert page.stat().st_size > 10_000
print("open", page)
