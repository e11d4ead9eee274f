"""Workflows of DBOS on SQLite whose steps do nothing, led by the benchmark: a line with a number of steps on its input
is one workflow, answered by a line with the milliseconds of a step. Argument: the folder of the database. Ends when its
input does."""

import sys
import time

from dbos import DBOS

DBOS(
    config={
        "name": "bench",
        "system_database_url": f"sqlite:///{sys.argv[1]}/dbos.sqlite",
        "run_admin_server": False,
        "log_level": "ERROR",
    }
)


@DBOS.step()
def step(number):
    return number


@DBOS.workflow()
def steps(count):
    began = time.perf_counter()
    for number in range(count):
        step(number)
    return (time.perf_counter() - began) / count * 1e3


DBOS.launch()
print("ready", flush=True)
for line in sys.stdin:
    print(steps(int(line)), flush=True)
DBOS.destroy()
