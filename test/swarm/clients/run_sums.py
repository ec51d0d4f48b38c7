"""A small agent in Python that asks one question for each task. Two of its episodes fail, each in a different way."""

import json
import sys
import threading

import ajet_swarm

lock = threading.Lock()
struck = set()
mishaps = [RuntimeError("the agent cannot count"), ajet_swarm.Outage("the sandbox is down")]


def workflow(task, episode):
    answer = episode.chat([{"role": "user", "content": task["main_query"]}], agent="solver")
    with lock:
        # Choose another task for each failure. A failure may end its group, and then the other episodes of the group
        # are lost.
        mishap = mishaps.pop() if mishaps and task["task_id"] not in struck else None
        struck.add(task["task_id"])
    if mishap is not None:
        raise mishap
    return answer["choices"][0]["message"]["content"]


def reward(task, output):
    return {"reward": float(output == task["metadata"]["a"]["answer"]), "metadata": {"said": output}}


with ajet_swarm.SwarmClient(sys.argv[1], client="sums") as swarm:
    print(json.dumps(swarm.run(workflow, reward_fn=reward, parallel=3)))
