"""Starts SkyRL's server and its engine on a free port of the loopback: `python serve.py <EngineConfig as JSON>` prints
the address.

SkyRL's own start command must be a child of `uv run`, and also starts the engine with `uv run`. This program runs both
in its own interpreter.
"""

import json
import socket
import sys
import typing

import typing_extensions

typing.TypedDict = typing_extensions.TypedDict  # before Python 3.12, pydantic refuses the TypedDict of `typing`, which SkyRL uses


def serve(config_json: str) -> None:
    import uvicorn
    from skyrl.tinker import api
    from skyrl.tinker.config import EngineConfig, config_to_argv

    api._build_uv_run_cmd_engine = lambda _parent, config: [sys.executable, __file__, "engine", *config_to_argv(config)]
    api.app.state.engine_config = EngineConfig.model_validate(json.loads(config_json))
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        print(f"http://127.0.0.1:{listener.getsockname()[1]}", flush=True)
        uvicorn.Server(uvicorn.Config(api.app, log_level="warning")).run(sockets=[listener])


def run_engine() -> None:
    from skyrl.tinker.engine import main

    del sys.argv[1]
    main()


if __name__ == "__main__":
    run_engine() if sys.argv[1] == "engine" else serve(sys.argv[1])
