"""The walker of tutorial 1 in Python: its model is served by a swarm, and learns from what is reported here.

    python3 lake.py http://127.0.0.1:8700 [tasks.jsonl]

The key comes from AJET_SWARM_KEY. Without a file it runs the tasks that another client has sent to the server.
"""

import json
import sys

from ajet_swarm import SwarmClient

SYSTEM_PROMPT = (
    "You walk on a frozen lake. Reach the goal. Do not step into a hole. "
    "Answer with one word: up, down, left or right."
)
SHIFTS = {"up": (-1, 0), "down": (1, 0), "left": (0, -1), "right": (0, 1)}


class FrozenLake:
    """Four by four cells, numbered row by row from 0."""

    def __init__(self, lake):
        self.cell, self.goal, self.holes = lake["start"], lake["goal"], lake["holes"]

    @property
    def is_walking(self):
        return self.cell != self.goal and self.cell not in self.holes

    def step(self, direction):
        beyond = self.neighbour(direction)
        self.cell = self.cell if beyond is None else beyond

    def neighbour(self, direction):
        down, right = SHIFTS[direction]
        row, column = self.cell // 4 + down, self.cell % 4 + right
        return row * 4 + column if 0 <= row < 4 and 0 <= column < 4 else None

    def describe(self):
        return "\n".join(f"{direction}: {self.look(direction)}" for direction in SHIFTS)

    def look(self, direction):
        cell = self.neighbour(direction)
        if cell is None:
            return "edge"
        ground = "hole" if cell in self.holes else "ice"
        return f"{ground}, closer" if self.distance(cell) < self.distance(self.cell) else ground

    def distance(self, cell):
        return abs(cell // 4 - self.goal // 4) + abs(cell % 4 - self.goal % 4)


def walk(task, episode):
    lake = FrozenLake(task["metadata"]["map"])
    messages = [{"role": "system", "content": SYSTEM_PROMPT}]
    for _ in range(10):
        if not lake.is_walking:
            break
        messages.append({"role": "user", "content": lake.describe()})
        answer = episode.chat(messages, agent="walker")["choices"][0]["message"]
        messages.append(answer)
        if answer["content"].strip() not in SHIFTS:
            break
        lake.step(answer["content"].strip())
    return lake.cell == lake.goal


if __name__ == "__main__":
    tasks = None
    if len(sys.argv) > 2:
        with open(sys.argv[2], encoding="utf-8") as lines:
            tasks = [json.loads(line) for line in lines]
    with SwarmClient(sys.argv[1], revision="lake-1") as swarm:
        print(json.dumps(swarm.run(walk, tasks, parallel=16)))
