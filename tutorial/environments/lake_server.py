"""Gymnasium's FrozenLake as an OpenEnv server: pip install openenv==0.10.0 gymnasium; python lake_server.py [port]"""

import socket
import sys

import gymnasium
import uvicorn
from openenv.core.env_server import Action, Environment, Observation, State, create_fastapi_app

DIRECTIONS = {"up": (-1, 0, 3), "down": (1, 0, 1), "left": (0, -1, 0), "right": (0, 1, 2)}
SIZE = 4


class LakeAction(Action):
    direction: str


class LakeObservation(Observation):
    text: str


class LakeEnvironment(Environment):
    """One walk over a map: `reset` gets the map of a task, `step` a direction."""

    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(self):
        super().__init__()
        self.gym = None
        self.cell = 0
        self.steps = 0

    def reset(self, seed=None, episode_id=None, map=None, **kwargs):
        letters = ["F"] * (SIZE * SIZE)
        letters[map["start"]] = "S"
        letters[map["goal"]] = "G"
        for hole in map["holes"]:
            letters[hole] = "H"
        self.letters = letters
        rows = ["".join(letters[at : at + SIZE]) for at in range(0, SIZE * SIZE, SIZE)]
        self.gym = gymnasium.make("FrozenLake-v1", desc=rows, is_slippery=False)
        self.cell, _ = self.gym.reset(seed=seed)
        self.steps = 0
        return LakeObservation(text=self.describe(), reward=None, done=False)

    def step(self, action, **kwargs):
        """An answer that is not a direction ends the walk."""
        if action.direction not in DIRECTIONS:
            return LakeObservation(text="lost", reward=0.0, done=True)
        self.cell, reward, terminated, truncated, _ = self.gym.step(DIRECTIONS[action.direction][2])
        self.steps += 1
        return LakeObservation(text=self.describe(), reward=float(reward), done=bool(terminated or truncated))

    @property
    def state(self):
        return State(step_count=self.steps)

    def describe(self):
        return "\n".join(f"{name}: {self.look(*shift[:2])}" for name, shift in DIRECTIONS.items())

    def look(self, down, right):
        row, column = self.cell // SIZE + down, self.cell % SIZE + right
        if not (0 <= row < SIZE and 0 <= column < SIZE):
            return "edge"
        ground = "hole" if self.letters[row * SIZE + column] == "H" else "ice"
        is_closer = self.distance(row * SIZE + column) < self.distance(self.cell)
        return f"{ground}, closer" if is_closer else ground

    def distance(self, cell):
        goal = self.letters.index("G")
        return abs(cell // SIZE - goal // SIZE) + abs(cell % SIZE - goal % SIZE)


app = create_fastapi_app(LakeEnvironment, LakeAction, LakeObservation, max_concurrent_envs=256)

if __name__ == "__main__":
    listening = socket.create_server(("127.0.0.1", int(sys.argv[1]) if len(sys.argv) > 1 else 8000))
    print(f"listening on {listening.getsockname()[1]}", flush=True)
    uvicorn.Server(uvicorn.Config(app, log_level="warning")).run(sockets=[listening])
