"""Runs agents in Python for an AgentJet swarm. This one file needs Python 3.9 or newer and nothing but the standard
library.

The server has the weights, serves the model over HTTP, records every token and trains. A program claims an episode,
calls the model of that episode with any OpenAI-compatible client, and reports a reward:

    from ajet_swarm import SwarmClient
    from openai import OpenAI

    def workflow(task, episode):
        client = OpenAI(base_url=episode.base_url("solver"), api_key=episode.key, max_retries=8)
        answer = client.chat.completions.create(model=episode.model, messages=[{"role": "user", "content": task["main_query"]}])
        return answer.choices[0].message.content

    def reward(task, output):
        return 1.0 if output.strip() == task["metadata"]["answer"] else 0.0

    with SwarmClient("http://127.0.0.1:8700") as swarm:  # the key comes from AJET_SWARM_KEY
        swarm.run(workflow, tasks=[{"task_id": "sum-1", "main_query": "1+1?", "metadata": {"answer": "2"}}], reward_fn=reward)

While the server cannot be reached, the client repeats every request with the same ids, so a repetition never starts a
second episode. The server writes an episode's end to disk before it returns the receipt. Ctrl-C stops the program and
gives running episodes back at once.
"""

from __future__ import annotations

import hashlib
import http.client
import json
import math
import os
import random
import socket
import ssl
import sys
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
import uuid
from dataclasses import dataclass, field
from typing import Any, Callable, Dict, Iterable, List, Mapping, Optional, Tuple, Union

__all__ = ["Episode", "Gone", "Outage", "SwarmClient", "SwarmError"]

WIRE_VERSION = "1"
Json = Dict[str, Any]
#: A number, or a dict with any of `reward`, `rewards` (by target or policy), `is_success`, `metadata`, `log_metrics`.
Output = Any


class SwarmError(Exception):
    """The server refused a request. `code` is from a closed list; `status` is the HTTP status."""

    def __init__(self, status: int, code: str, message: str, retry_after: Optional[float] = None, details: Optional[Json] = None):
        super().__init__(f"{code}: {message}")
        self.status = status
        self.code = code
        self.message = message
        self.retry_after = retry_after
        self.details = details or {}


class Gone(SwarmError):
    """The episode has ended on the server, so further reports about it do not count. Claim another episode."""


class Outage(Exception):
    """Raise this error from a workflow if an outside service has failed and not the agent. The episode then gets no
    reward, and another attempt follows."""


@dataclass(frozen=True)
class Episode:
    """A claimed episode. `key` is valid only for the model calls of this episode."""

    episode_id: str
    group_id: str
    place: int
    attempt: int
    seed: int
    purpose: str
    task_id: str
    #: None if the content stays with the client that added the task.
    task: Optional[Json]
    #: The hash of the task's content. None if the tasks of the run were never replaced.
    task_hash: Optional[str]
    lease_seconds: float
    model: str
    key: str
    #: The targets that learn. None means all.
    trainable_targets: Optional[List[str]]
    #: The targets of each policy if the server has several models; `rewards` may name targets or policies. None if it
    #: has one model.
    policies: Optional[Dict[str, List[str]]]
    _root: str
    _client: "SwarmClient"
    _over: threading.Event = field(default_factory=threading.Event)

    def base_url(self, agent: str = "agent", target: Optional[str] = None) -> str:
        """Returns the base URL of an agent's model, for any OpenAI-compatible client. Pass `target` if the training
        target has another name than the agent."""
        name = _quote(agent) + (f"~{_quote(target)}" if target not in (None, agent) else "")
        return f"{self._root}/{name}/v1"

    @property
    def is_over(self) -> bool:
        """Returns True if the server has taken the episode back, or if the client is stopping. A long workflow can
        check this value and end early."""
        return self._over.is_set()

    def chat(self, messages: List[Json], agent: str = "agent", target: Optional[str] = None, **parameters: Any) -> Json:
        """Makes one model call without an SDK and returns the chat completion. `parameters` are further fields of the
        request, such as `temperature`. While the server cannot be reached, the call is repeated with the same id."""
        body = {"model": self.model, "messages": messages, **parameters}
        url = f"{self.base_url(agent, target)}/chat/completions"
        headers = {"idempotency-key": uuid.uuid4().hex}
        return self._client._repeat(lambda: _request("POST", url, self.key, body, 600, headers), self._over)


class SwarmClient:
    """A client of a swarm server. Two programs must not use the same `client` name at the same time.

    `revision` is the name of this version of the agent's code and the reward's code. Change it when you change the
    code: a group of episodes never mixes two revisions. `share` is the kind of task that this program runs, if the
    server has several.
    """

    def __init__(
        self,
        url: str,
        key: Optional[str] = None,
        client: Optional[str] = None,
        revision: str = "",
        share: str = "default",
        lease_seconds: float = 60,
        heartbeat_seconds: float = 1,
        timeout: float = 60,
        on_notice: Optional[Callable[[str], None]] = None,
        on_end: Optional[Callable[[Json, Json], None]] = None,
    ) -> None:
        parts = urllib.parse.urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.netloc:
            raise ValueError(f"The server's address is {url!r}. Pass an address such as http://127.0.0.1:8700.")
        self.url = url.rstrip("/")
        self.client = client or f"{socket.gethostname()}-{os.path.basename(os.getcwd())}"
        self.revision = revision
        self.share = share
        self._asks_after: Optional[int] = None
        self.lease_seconds = lease_seconds
        self._key = (key if key is not None else os.environ.get("AJET_SWARM_KEY") or "").strip()
        if any(not "!" <= character <= "~" for character in self._key):
            raise ValueError("The key contains a space, a line break or another character that keys never contain. Copy it again.")
        self._life = uuid.uuid4().hex
        self._timeout = timeout
        self._heartbeat_seconds = heartbeat_seconds
        self._on_notice = on_notice or (lambda message: print(message, file=sys.stderr))
        #: Called with the receipt and the report of each episode that `run` ends.
        self._on_end = on_end or (lambda receipt, end: None)
        self._said: Dict[str, float] = {}
        self._running: Dict[str, Episode] = {}
        self._lock = threading.Lock()
        self._closed = threading.Event()
        self._beating: Optional[threading.Thread] = None

    def __enter__(self) -> "SwarmClient":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    # These methods are the requests of the protocol. Each method repeats its request with the same ids until the
    # server gives a final answer.

    def server(self) -> Json:
        """Returns the state, versions and counts of the server."""
        return self._ask("GET", "/server")

    def add_tasks(self, tasks: Iterable[Json], portable: bool = True, split: str = "train", replace_tasks: bool = False) -> Json:
        """Sends the whole list of tasks to the server. Each task is a dict with `task_id` and any of `main_query`,
        `init_messages`, `metadata`.

        A list that differs from that of the run replaces it: groups that were drawn before keep their tasks, and new
        groups come from the new list. A list that a newer one has replaced is refused unless `replace_tasks` is True.

        With `portable=False`, the content of the tasks is not sent to the server, so only clients with the same tasks
        can run them. `split` is "train" or "evaluation".
        """
        rows = [_to_row(index, task, portable) for index, task in enumerate(tasks)]
        if not rows:
            raise ValueError("There are no tasks. Pass at least one.")
        name = hashlib.sha256(json.dumps([[row["task_id"], row["hash"]] for row in rows]).encode()).hexdigest()
        table = {"split": split, "share": self.share, "list": name, "again": replace_tasks}
        tries = 0
        while True:
            try:
                for part in _parts(rows):
                    is_last = part[-1] is rows[-1]
                    answer = self._ask("POST", "/tasks", {"tasks": part, **table, **({"total": len(rows)} if is_last else {})})
                return answer
            except SwarmError as error:  # after a restart, the server asks for all parts again
                tries += 1
                if error.code != "tasks_missing" or tries == 10:
                    raise

    def claim(self, count: int = 1, wait: float = 20, purpose: str = "any", claim_id: Optional[str] = None) -> List[Episode]:
        """Claims episodes and renews their leases until they end. Returns an empty list if the server has no episode to
        give now."""
        return self._claim(count, wait, purpose, claim_id)[0]

    def end(
        self,
        episode: Union[Episode, str],
        reward: Optional[float] = None,
        *,
        status: str = "completed",
        rewards: Optional[Mapping[str, float]] = None,
        turn_rewards: Optional[List[Json]] = None,
        is_success: Optional[bool] = None,
        metadata: Optional[Json] = None,
        log_metrics: Optional[Mapping[str, float]] = None,
        error: Optional[str] = None,
    ) -> Json:
        """Reports the end of an episode and returns the receipt. Raises Gone if the server has already dropped the
        episode."""
        episode_id = episode if isinstance(episode, str) else episode.episode_id
        body: Json = {
            "client": self.client,
            "status": status,
            "reward": reward,
            "is_success": is_success,
            "metadata": metadata or {},
            "log_metrics": dict(log_metrics or {}),
        }
        if rewards is not None:
            body["rewards"] = dict(rewards)
        if turn_rewards is not None:
            body["turn_rewards"] = turn_rewards
        if error is not None:
            body["error"] = error[:100_000]
        try:
            return self._ask("POST", f"/episodes/{_quote(episode_id)}/end", body)
        finally:
            self._forget(episode_id)

    def abandon(self, episode: Union[Episode, str], reason: str = "") -> Json:
        """Gives an episode back, so another client can claim it."""
        episode_id = episode if isinstance(episode, str) else episode.episode_id
        try:
            return self._ask("POST", f"/episodes/{_quote(episode_id)}/abandon", {"client": self.client, "reason": reason})
        finally:
            self._forget(episode_id)

    def heartbeat(self, episode_ids: Optional[List[str]] = None, leaving: bool = False) -> Json:
        """Renews leases. After the first claim, a thread calls this method at regular intervals. The answer of the
        server lists episodes that have ended there."""
        ids = list(self._running) if episode_ids is None else episode_ids
        body = {"client": self.client, "life": self._life, "episodes": ids, "leaving": leaving}
        if self._asks_after is not None:
            body["asks_after"] = self._asks_after
        return self._send("POST", "/heartbeats", body, 10)

    def ask_for_step(self) -> Json:
        """Asks for the next step, if the server waits until clients ask (any_client_asks, all_clients_ask)."""
        self._asks_after = int(self.server()["version"])
        return self.heartbeat()

    def close(self) -> None:
        """Gives back all running episodes and frees the client name. If a client ends without this call, the server
        takes its episodes back after their leases expire."""
        if self._closed.is_set():
            return
        self._closed.set()
        for episode in list(self._running.values()):
            episode._over.set()
        try:
            self._send("POST", "/heartbeats", {"client": self.client, "life": self._life, "episodes": [], "leaving": True}, 3)
        except (SwarmError, OSError, http.client.HTTPException, ValueError):
            pass

    def run(
        self,
        workflow: Callable[[Json, Episode], Output],
        tasks: Optional[Iterable[Json]] = None,
        reward_fn: Optional[Callable[[Json, Output], Any]] = None,
        *,
        parallel: int = 8,
        portable: bool = True,
        max_episodes: Optional[int] = None,
        replace_tasks: bool = False,
    ) -> Json:
        """Claims episodes, runs `workflow(task, episode)` on each, and reports the verdict of `reward_fn(task,
        output)`.

        Without `reward_fn`, the output of the workflow is the reward: a number, or a dict (see `Output`). If the
        workflow raises an exception, the episode has failed. If it raises an Outage or a connection error, that is an
        outage, and another attempt follows. Returns counts after the server stops or has no more tasks. Ctrl-C gives
        all running episodes back.
        """
        known: Dict[str, Json] = {}
        if tasks is not None:
            known = {task["task_id"]: task for task in map(_to_task, tasks)}
            self.add_tasks(known.values(), portable, replace_tasks=replace_tasks)
        counts = {"completed": 0, "failed": 0, "outages": 0, "gone": 0}
        state = _RunState(parallel, max_episodes)
        failures: List[BaseException] = []

        def work() -> None:
            try:
                while not (self._closed.is_set() or state.is_over.is_set()):
                    self._work_once(workflow, reward_fn, known, counts, state, tasks is not None)
            except BaseException as error:  # the main thread raises it
                failures.append(error)
                state.is_over.set()

        threads = [threading.Thread(target=work, name=f"ajet-{number}", daemon=True) for number in range(parallel)]
        for thread in threads:
            thread.start()
        try:
            while any(thread.is_alive() for thread in threads):
                for thread in threads:
                    thread.join(0.1)
        except KeyboardInterrupt:
            self.close()
            raise
        if failures:
            self.close()
            raise failures[0]
        return dict(counts)

    # The parts of `run`.

    def _claim(self, count: int, wait: float, purpose: str, claim_id: Optional[str]) -> Tuple[List[Episode], Json]:
        body = {
            "claim_id": claim_id or uuid.uuid4().hex,
            "client": self.client,
            "life": self._life,
            "can": [self.share],
            "count": count,
            "purpose": purpose,
            "revision": self.revision,
            "lease_seconds": self.lease_seconds,
            "wait_seconds": wait,
        }
        answer = self._ask("POST", "/episodes", body, timeout=self._timeout + wait)
        episodes = [self._to_episode(found) for found in answer["episodes"]]
        with self._lock:
            for episode in episodes:
                self._running[episode.episode_id] = episode
            if self._beating is None and episodes:
                self._beating = threading.Thread(target=self._beat, name="ajet-heartbeats", daemon=True)
                self._beating.start()
        return episodes, answer

    def _work_once(self, workflow: Any, reward_fn: Any, known: Dict[str, Json], counts: Dict[str, int], state: "_RunState", has_tasks: bool) -> None:
        if not state.take():
            return
        try:
            episodes, answer = self._claim(1, 20, "any", None)
        except Gone:
            return state.give_back()
        if not episodes:
            state.give_back()
            reason = answer.get("reason")
            if reason in ("stopped", "complete") or (reason == "no_task" and (has_tasks or sum(counts.values()) > 0)):
                state.is_over.set()
            self._closed.wait(max(answer.get("retry_after_ms", 0) / 1000, 0.1))
            return
        for episode in episodes:
            outcome = self._run_episode(workflow, reward_fn, known, episode)
            with self._lock:
                counts[outcome] += 1
                state.outages = state.outages + 1 if outcome == "outages" else 0
            if state.outages > 0:  # another claim during an outage would only waste an attempt
                self._closed.wait(min(60.0, 0.5 * 2 ** min(state.outages - 1, 7)))

    def _run_episode(self, workflow: Any, reward_fn: Any, known: Dict[str, Json], episode: Episode) -> str:
        task = known.get(episode.task_id)
        if task is None or episode.task_hash not in (None, _to_row(0, task, False)["hash"]):
            task = episode.task
        try:
            if task is None:
                raise Outage(f"This client does not have task {episode.task_id!r}, and the server does not have its content.")
            output = workflow(json.loads(json.dumps(task)), episode)
            verdict = reward_fn(task, output) if reward_fn is not None else output
            end = _to_end(verdict)
        except Exception as error:
            if episode.is_over or _is_gone(error):
                self._forget(episode.episode_id)
                return "gone"
            status = "outage" if _is_outage(error) else "failed"
            self._notice(f"An episode ended with status {status}: {type(error).__name__}: {error}")
            end = {"status": status, "error": f"{type(error).__name__}: {error}"}
        return self._report(episode, end)

    def _report(self, episode: Episode, end: Json) -> str:
        try:
            receipt = self.end(episode, **end)
        except Gone:
            return "gone"
        except SwarmError as error:
            if error.status not in (400, 413, 422):
                raise
            self._notice(f"The server refused the end of an episode, so the episode counts as failed: {error}")
            try:
                receipt = self.end(episode, status="failed", error=str(error))
            except Gone:
                return "gone"
        self._on_end(receipt, end)
        return {"completed": "completed", "failed": "failed", "outage": "outages"}[receipt["status"]]

    def _beat(self) -> None:
        while not self._closed.wait(self._heartbeat_seconds):
            try:
                answer = self.heartbeat()
            except (SwarmError, OSError, http.client.HTTPException, ValueError) as error:
                if isinstance(error, SwarmError) and error.status == 401:  # the key was deleted or has expired
                    for episode in list(self._running.values()):
                        episode._over.set()
                continue
            for gone in answer.get("gone", []):
                episode = self._running.get(gone["episode_id"])
                if episode is not None:
                    episode._over.set()

    def _forget(self, episode_id: str) -> None:
        with self._lock:
            self._running.pop(episode_id, None)

    def _to_episode(self, found: Json) -> Episode:
        # Uses the host at which this client reaches the server. It may be the near end of a tunnel.
        root = self.url + urllib.parse.urlsplit(found["base_url"]).path.rstrip("/")
        names = ("episode_id", "group_id", "place", "attempt", "seed", "purpose", "task_id", "lease_seconds", "model", "key")
        return Episode(
            **{name: found[name] for name in names},
            task=found.get("task"),
            task_hash=found.get("task_hash"),
            trainable_targets=found.get("trainable_targets"),
            policies=found.get("policies"),
            _root=root,
            _client=self,
        )

    def _notice(self, message: str) -> None:
        with self._lock:
            now = time.monotonic()
            if now - self._said.get(message, -math.inf) < 30:
                return
            self._said[message] = now
        self._on_notice(message)

    def _ask(self, method: str, path: str, body: Optional[Json] = None, timeout: Optional[float] = None) -> Json:
        return self._repeat(lambda: self._send(method, path, body, timeout or self._timeout), self._closed)

    def _send(self, method: str, path: str, body: Optional[Json], timeout: float) -> Json:
        return _request(method, f"{self.url}/swarm/v1{path}", self._key, body, timeout, {"x-ajet-wire": WIRE_VERSION})

    def _repeat(self, request: Callable[[], Json], over: threading.Event) -> Json:
        gap = 0.1
        while True:
            try:
                return request()
            except (SwarmError, OSError, http.client.HTTPException) as error:
                if over.is_set() or not _passes(error):
                    raise
                asked = getattr(error, "retry_after", None) or 0.0
                wait = max(asked, gap * random.uniform(0.5, 1))
                if wait > 0.4:
                    self._notice(f"The server {'asks to wait' if isinstance(error, SwarmError) else 'cannot be reached'}: {error}")
                if over.wait(wait):
                    raise
                gap = min(gap * 2, 5.0)


class _RunState:
    """Counts how many more episodes a run may claim, and decides when the run is over."""

    def __init__(self, parallel: int, max_episodes: Optional[int]) -> None:
        if parallel < 1:
            raise ValueError(f"parallel is {parallel}; it must be 1 or more.")
        self.is_over = threading.Event()
        self.outages = 0
        self._left = math.inf if max_episodes is None else max_episodes
        self._lock = threading.Lock()

    def take(self) -> bool:
        with self._lock:
            if self._left < 1:
                self.is_over.set()
                return False
            self._left -= 1
            return True

    def give_back(self) -> None:
        with self._lock:
            self._left += 1


class _Connection(http.client.HTTPConnection):
    """Sends a request. A server may refuse a long body before it has read all of it. The client then cannot send the
    rest of the body, but it still reads the answer."""

    def send(self, data: Any) -> None:
        try:
            super().send(data)
        except (BrokenPipeError, ConnectionResetError):
            if self.sock is None:
                raise


class _SecureConnection(_Connection, http.client.HTTPSConnection):
    pass


class _Handler(urllib.request.HTTPHandler):
    def http_open(self, req: urllib.request.Request) -> Any:
        return self.do_open(_Connection, req)


class _SecureHandler(urllib.request.HTTPSHandler):
    def https_open(self, req: urllib.request.Request) -> Any:
        return self.do_open(_SecureConnection, req)


_opener = urllib.request.build_opener(_Handler, _SecureHandler)


def _request(method: str, url: str, key: Optional[str], body: Optional[Json], timeout: float, headers: Mapping[str, str]) -> Json:
    data = None if body is None else json.dumps(body, allow_nan=False, ensure_ascii=False).encode()
    request = urllib.request.Request(url, data=data, method=method, headers=dict(headers))
    if data is not None:
        request.add_header("content-type", "application/json")
    if key:
        request.add_header("authorization", f"Bearer {key}")
    try:
        with _opener.open(request, timeout=timeout) as response:
            text = response.read()
    except urllib.error.HTTPError as error:
        raise _to_error(error.code, error.read(), error.headers.get("retry-after")) from None
    answer = _parse(text)
    if not isinstance(answer, dict):
        raise ConnectionError(f"{url} answered with something other than JSON. Check the address of the server.")
    if "error" in answer:  # the server sends the status of a long call before the call can fail
        raise _to_error(500, text, None)
    return answer


def _to_error(status: int, text: bytes, retry_after: Optional[str]) -> Exception:
    answer = _parse(text)
    error = answer.get("error") if isinstance(answer, dict) else None
    if not isinstance(error, dict):
        shown = text[:200].decode("utf-8", "replace")
        if status >= 500 or status == 429:
            return ConnectionError(f"status {status}: {shown}")
        return SwarmError(status, "not_a_swarm", f"status {status}: {shown}. Correct the address of the server.")
    milliseconds = error.get("retry_after_ms")
    seconds = milliseconds / 1000 if milliseconds is not None else float(retry_after) if (retry_after or "").isdigit() else None
    kind = Gone if status == 410 else SwarmError
    return kind(status, str(error.get("code")), str(error.get("message")), seconds, error.get("details"))


def _parse(text: bytes) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return None


def _passes(error: BaseException) -> bool:
    """Returns whether a repetition of the request may get another answer."""
    if isinstance(error, SwarmError):
        return error.status in (408, 425, 429, 502, 503, 504, 507) or error.retry_after is not None
    return not isinstance(getattr(error, "reason", error), ssl.SSLCertVerificationError)


def _chain(error: Optional[BaseException]) -> Iterable[BaseException]:
    for _ in range(10):
        if error is None:
            return
        yield error
        error = error.__cause__ or error.__context__


def _is_gone(error: BaseException) -> bool:
    return any(isinstance(one, Gone) or getattr(one, "status_code", None) == 410 for one in _chain(error))


def _is_outage(error: BaseException) -> bool:
    """Returns whether the cause was an outage and not the agent: a connection failed, or a server had an internal
    error. A request that was refused as wrong is the agent's error."""
    for one in _chain(error):
        if isinstance(one, Outage):
            return True
        status = one.status if isinstance(one, SwarmError) else getattr(one, "status_code", None)
        if isinstance(status, int) and (isinstance(one, SwarmError) or type(one).__module__.split(".")[0] in ("openai", "anthropic")):
            return status not in (400, 413, 422)
        if isinstance(one, urllib.error.HTTPError):
            return False  # a tool returned this status, and no connection failed
        if isinstance(one, (ConnectionError, TimeoutError, socket.timeout, urllib.error.URLError, http.client.HTTPException)):
            return True
        if type(one).__name__ in ("APIConnectionError", "APITimeoutError", "ConnectError", "ConnectTimeout"):  # openai, httpx
            return True
    return False


def _to_end(verdict: Any) -> Json:
    if isinstance(verdict, bool):
        return {"reward": float(verdict), "is_success": verdict}
    if isinstance(verdict, (int, float)):
        return {"reward": _finite(verdict, "reward")}
    if not isinstance(verdict, Mapping):
        raise TypeError(f"The reward is {verdict!r}. Return a number or a dict with `reward`.")
    unknown = set(verdict) - {"reward", "rewards", "turn_rewards", "is_success", "metadata", "log_metrics"}
    if unknown:
        raise TypeError(f"The reward has an unknown key {sorted(map(str, unknown))[0]!r}. Use only reward, rewards, is_success, metadata, log_metrics and turn_rewards.")
    if verdict.get("reward") is None and not verdict.get("rewards"):
        raise TypeError("The workflow returned no reward. Return a number, or pass reward_fn.")
    end = dict(verdict)
    if end.get("reward") is not None:
        end["reward"] = _finite(end["reward"], "reward")
    for target, value in (end.get("rewards") or {}).items():
        _finite(value, f"rewards[{target!r}]")
    return end


def _finite(value: Any, name: str) -> float:
    number = float(value)
    if not math.isfinite(number):
        raise ValueError(f"{name} is {value!r}. Return a finite number.")
    return number


def _to_task(task: Json) -> Json:
    if not isinstance(task, Mapping) or not isinstance(task.get("task_id"), str) or not task["task_id"]:
        raise ValueError(f"A task is {task!r}. Pass a dict whose `task_id` is a non-empty string.")
    defaults: Json = {"main_query": "", "init_messages": [], "metadata": {}}
    return {**defaults, **task}


def _to_row(index: int, task: Json, portable: bool) -> Json:
    content = _to_task(task)
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    row = {"task_id": content["task_id"], "index": index, "hash": hashlib.sha256(text.encode()).hexdigest()}
    return {**row, "task": content} if portable else row


def _parts(rows: List[Json]) -> Iterable[List[Json]]:
    part: List[Json] = []
    size = 0
    for row in rows:
        length = len(json.dumps(row, ensure_ascii=False).encode())
        if part and (len(part) == 1000 or size + length > 2**21):
            yield part
            part, size = [], 0
        part.append(row)
        size += length
    yield part


def _quote(name: str) -> str:
    quoted = urllib.parse.quote(name, safe="").replace("~", "%7E")
    return quoted.replace(".", "%2E") if quoted.strip(".") == "" else quoted
