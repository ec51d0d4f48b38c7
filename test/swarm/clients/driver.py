"""Drives the Python client: it reads a line of JSON for each verb, and writes a line."""

import json
import math
import sys

import ajet_swarm

options = json.loads(sys.argv[1])
swarm = ajet_swarm.SwarmClient(options["url"], options["key"], options["client"])
claimed = {}


def claim(claim_id, wait_seconds):
    episodes = swarm.claim(claim_id=claim_id, wait=wait_seconds)
    claimed.update({episode.episode_id: episode for episode in episodes})
    shown = ("episode_id", "task_id", "key", "model", "policies")
    return {"episodes": [{**{name: getattr(one, name) for name in shown}, "base_url": one._root} for one in episodes]}


def chat(episode, text, agent="solver"):
    known = claimed[episode["episode_id"]]
    if episode["key"] != known.key:
        known = ajet_swarm.Episode(**{**known.__dict__, "key": episode["key"]})
    answer = known.chat([{"role": "user", "content": text}], agent=agent)
    return {"content": answer["choices"][0]["message"]["content"]}


def end(episode_id, reward=None, rewards=None):
    return swarm.end(episode_id, math.nan if reward == "<NaN>" else reward, rewards=rewards)


verbs = {
    "server": swarm.server,
    "add_tasks": lambda tasks, rows: swarm.add_tasks(
        {"task_id": t["taskId"], "main_query": t["mainQuery"], "metadata": t["metadata"]} for t in tasks
    ),
    "claim": claim,
    "heartbeat": lambda episodes, leaving=False: swarm.heartbeat(episodes, leaving),
    "end": end,
    "abandon": lambda episode_id: swarm.abandon(episode_id),
    "chat": chat,
}

for line in sys.stdin:
    request = json.loads(line)
    try:
        outcome = {"ok": verbs[request["verb"]](**request["args"])}
    except ajet_swarm.SwarmError as error:
        outcome = {"error": error.code}
    except ValueError as error:
        outcome = {"error": f"ValueError: {error}"}
    print(json.dumps(outcome), flush=True)
swarm.close()
