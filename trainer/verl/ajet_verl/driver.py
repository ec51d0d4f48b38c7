"""The driver's process: `python -m ajet_verl.driver`. It exchanges messages with the control plane; Ray places the
workers."""

from __future__ import annotations

import logging
import os
import signal
import sys
import traceback
from typing import Any

from ajet_torch import SCHEMA_VERSION
from ajet_torch.errors import WorkerError, to_error
from ajet_torch.parent import end_with_parent
from ajet_torch.protocol import Connection, Progress, connect

log = logging.getLogger("ajet_verl")


def open_session(connection: Connection, message: dict[str, Any]) -> Any:
    """Starts the driver. Modules with a slow import are imported after the first heartbeat."""
    from .versions import check_versions, read_pins

    pins = read_pins()
    check_versions(pins, sys.prefix)
    connection.progress.at("import")
    from ajet_torch.config import parse_config

    from .cluster import connect_ray, open_group, readable_errors
    from .config import DriverConfig

    config = parse_config(message.get("config", {}), DriverConfig)
    connection.progress.at("connect to Ray")
    on_gpus = connect_ray(config)
    from .session import VerlSession  # imports verl, which reads the platform only once

    connection.progress.at("start the workers")
    with readable_errors("start", config.num_workers):
        group = open_group(config, pins, on_gpus)
    return VerlSession(config, group)


def describe(session: Any, num_workers: int) -> dict[str, Any]:
    from importlib.metadata import version

    return {**session.facts, "num_ranks": num_workers, "versions": {name: version(name) for name in ("verl", "ray", "torch", "transformers")}}


def main() -> int:
    end_with_parent()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    logging.basicConfig(level=logging.INFO, stream=sys.stderr, format="%(asctime)s %(name)s %(levelname)s %(message)s")
    stream, message = connect(os.environ["AJET_CONNECT"], os.environ["AJET_TOKEN"], SCHEMA_VERSION)
    connection = Connection(stream, Progress())
    connection.start(float(message.get("heartbeat_s", 2.0)))
    try:
        session = open_session(connection, message)
        facts = describe(session, session.group.world_size)
        log.info("%.4g M parameters in %s on %s, %d verl worker(s)", facts["num_parameters"] / 1e6, facts["dtype"], facts["device"], facts["num_ranks"])
        connection.send({"kind": "ready", **facts})
        direct(session, connection)
    except WorkerError as error:
        connection.send({"kind": "failed", "code": error.code, "message": str(error)})
        return 1
    except Exception as error:
        log.error("%s", traceback.format_exc())
        failure = to_error(error)
        connection.send({"kind": "failed", "code": failure.code, "message": str(failure)})
        return 1
    finally:
        leave_ray()
    return 0


def direct(session: Any, connection: Connection) -> None:
    from ajet_torch.worker import Director

    Director(session, connection).run()


def leave_ray() -> None:
    ray = sys.modules.get("ray")
    if ray is not None:
        ray.shutdown()


if __name__ == "__main__":
    sys.exit(main())
