"""Starts Ray and the group of workers on it."""

from __future__ import annotations

import logging
import os
import socket
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Iterator

import psutil
import ray

from ajet_torch.errors import WorkerError, first_line, to_error
from ajet_torch.worker import SAME_ON_ALL_RANKS

from .config import DriverConfig

log = logging.getLogger("ajet_verl")
PACKAGES = Path(__file__).resolve().parents[2]
LONGEST_SCRATCH = 40
"""The maximum length of the folder in which Ray creates its sockets, because a socket's path has at most 107
characters."""
START_ATTEMPTS = 5
os.environ.setdefault("RAY_gcs_server_port_wait_time_s", "120")  # the default of 30 is too short on a busy machine
QUIET = {"log_to_driver": False, "configure_logging": False}
ON_CPU = {"VERL_PLATFORM": "cpu", "VERL_ENGINE_DEVICE": "cuda", "VERL_USE_EXTERNAL_MODULES": "ajet_verl.cpu"}
"""The environment of workers without a GPU. verl registers its engines only for GPUs, so the module in the last line
registers them for a CPU."""


def connect_ray(config: DriverConfig) -> bool:
    """Starts or joins Ray. Returns whether the workers run on GPUs. Raises `no_ray` or `too_few_gpus`."""
    is_own = config.ray_address == ""
    try:
        start_ray(config.num_workers) if is_own else join_ray(config.ray_address)
    except Exception as error:  # Ray also raises errors of other classes
        where = "Ray cannot be started on this machine" if is_own else f"There is no Ray cluster at verl.ray_address {config.ray_address!r}"
        repair = "See its message." if is_own else "Start it with `ray start --head`, on other nodes `ray start --address=HEAD:6379`, or set verl.ray_address to null, so the run starts Ray on this machine."
        raise WorkerError("no_ray", f"{where}: {first_line(error)} {repair}") from error
    on_gpus = check_resources(config)
    if not on_gpus:
        os.environ.update(ON_CPU)  # set before verl is imported, because verl reads it only once
    return on_gpus


def start_ray(num_workers: int) -> None:
    """Starts Ray on the loopback, even if another Ray runs. Ray's processes must start within 30 s. A busy machine may
    need longer, so the start is repeated."""
    scratch = os.environ.get("AJET_SCRATCH", "")
    folder = {"_temp_dir": scratch} if 0 < len(scratch) <= LONGEST_SCRATCH else {}
    cpus = max(num_workers + 1, os.cpu_count() or 1)
    for attempt in range(START_ATTEMPTS):
        try:
            ray.init("local", **QUIET, **folder, num_cpus=cpus, include_dashboard=False, object_store_memory=512 << 20, _node_ip_address="127.0.0.1")
            return
        except Exception as error:
            if "timed out" not in str(error) or attempt == START_ATTEMPTS - 1:
                raise
            log.warning("Ray did not start in time. Trying again.")
            ray.shutdown()
            end_children()


def end_children() -> None:
    """Ends the processes that a failed start of Ray has left, because they would slow down the next start. The driver
    has no other child processes."""
    children = psutil.Process().children(recursive=True)
    for child in children:
        with suppress(psutil.NoSuchProcess):
            child.kill()
    psutil.wait_procs(children, timeout=10)


def join_ray(address: str) -> None:
    """Raises OSError at once if no process listens at the address. Ray itself would try to connect for a quarter of an
    hour."""
    host, _, port = address.rpartition(":")
    if port.isdigit() and "://" not in address:
        socket.create_connection((host, int(port)), timeout=10).close()
    modules = [str(PACKAGES / "torch" / "ajet_torch"), str(PACKAGES / "verl" / "ajet_verl")]
    ray.init(**QUIET, address=address, runtime_env={"py_modules": modules})


def check_resources(config: DriverConfig) -> bool:
    """Returns whether the cluster has GPUs. Raises `too_few_gpus`, because Ray would wait for missing GPUs without a
    message."""
    nodes = [node["Resources"] for node in ray.nodes() if node["Alive"]]
    on_gpus = any(node.get("GPU", 0) > 0 for node in nodes)
    kind = "GPU" if on_gpus else "CPU"
    rooms = [int(node.get(kind, 0)) // config.gpus_per_node for node in nodes]
    if sum(rooms) < config.num_nodes:
        have = ", ".join(str(int(node.get(kind, 0))) for node in nodes)
        raise WorkerError(
            "too_few_gpus",
            f"The run wants {config.num_nodes} x {config.gpus_per_node} {kind}s (verl.num_nodes x trainer_common.n_gpus_per_node), but Ray's nodes have {have}. "
            "Start more nodes with `ray start --address=HEAD:6379`, or lower these keys.",
        )
    free = ray.available_resources().get(kind, 0)
    if free < config.num_workers:
        log.warning("Ray has %d free %ss of the %d that are wanted. Waiting for the others.", free, kind, config.num_workers)
    return on_gpus


def open_group(config: DriverConfig, pins: dict[str, str], on_gpus: bool) -> Any:
    """Opens verl's worker group. Each worker has one GPU or CPU. The resources are reserved first. Finding the address
    of the first worker then needs only Ray, and not the slow import of verl."""
    from verl.single_controller.ray import RayClassWithInitArgs, RayResourcePool, RayWorkerGroup

    from .worker import RowWorker

    pool = RayResourcePool(process_on_nodes=[config.gpus_per_node] * config.num_nodes, use_gpu=on_gpus, max_colocate_count=1)
    device = "cuda" if on_gpus else "cpu"
    first = pool.get_placement_groups(device_name=device)[0]
    strategy = ray.util.scheduling_strategies.PlacementGroupSchedulingStrategy(placement_group=first, placement_group_bundle_index=0)
    address, port = ray.get(ray.remote(num_cpus=1)(free_address).options(scheduling_strategy=strategy).remote())
    made = RayClassWithInitArgs(cls=ray.remote(RowWorker), config=config, pins=pins)
    environment = {} if on_gpus else ON_CPU
    return RayWorkerGroup(
        resource_pool=pool, ray_cls_with_init=made, device_name=device, master_addr=address, master_port=port, worker_env={**environment, "HF_HUB_OFFLINE": "1"},
    )


def free_address() -> tuple[str, str]:
    """Returns the address of the node on which this function runs, and a free port. All workers connect to them."""
    with socket.socket() as sock:
        sock.bind(("", 0))
        return ray.util.get_node_ip_address().strip("[]"), str(sock.getsockname()[1])


@contextmanager
def readable_errors(doing: str, num_workers: int) -> Iterator[None]:
    """Turns Ray's errors into WorkerErrors. The code is `worker_died` if the group cannot continue."""
    try:
        yield
    except ray.exceptions.RayTaskError as error:
        cause = to_error(error.cause if isinstance(error.cause, BaseException) else error)
        if num_workers == 1 or cause.code in SAME_ON_ALL_RANKS:
            raise cause from error
        raise lost(f"One of {num_workers} verl workers failed at the task '{doing}': {cause}") from error
    except ray.exceptions.RayActorError as error:
        raise lost(f"A verl worker was lost at the task '{doing}': {one_line(error)}") from error
    except (ray.exceptions.RayError, ConnectionError) as error:
        raise lost(f"Ray failed while the verl workers had the task '{doing}': {one_line(error)}") from error


def lost(what: str) -> WorkerError:
    return WorkerError("worker_died", f"{what} Start Ray again if it has ended, and continue the run from its last checkpoint with --resume.")


def one_line(error: BaseException) -> str:
    return " ".join(str(error).split())[:600]
