"""The machines of a Ray cluster"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator, Sequence
from typing import Any

from ..errors import ChronolinkError, at_least_one
from ..executor import TIMES, Executor, Outcome, Work, reason
from ._worker import cores, work_alone


class RayCluster(Executor):
    """Every piece is a Ray task in a fresh process, begun again by Ray when its process or machine is lost.

    Needs the extra `ray`. A connection that is open already is used as it is.

    Args:
        address: of a cluster, such as `ray://host:10001`; `auto` finds the one that runs here, `local` starts one.
        threads: cores a piece takes.
        workers: pieces at once in a cluster that `local` starts; as many as there are cores for if left out.
    """

    def __init__(self, address: str = "auto", threads: int = 1, workers: int | None = None) -> None:
        at_least_one(threads=threads, workers=1 if workers is None else workers)
        self.threads, self.ray = threads, _ray()
        if not self.ray.is_initialized():
            _connect(self.ray, address, threads * (workers or max(1, cores() // threads)))

    def run(self, work: Sequence[Work]) -> Iterator[Outcome]:
        task = self.ray.remote(num_cpus=self.threads, max_retries=TIMES - 1, max_calls=1)(work_alone)
        running = {task.remote(piece, self.threads): piece for piece in work}
        try:
            while running:
                ended, _ = self.ray.wait(list(running))
                for reference in ended:
                    yield self._outcome(reference, running.pop(reference))
        finally:
            for reference in running:
                self.ray.cancel(reference, force=True)

    def _outcome(self, reference: Any, piece: Work) -> Outcome:
        try:
            outcome: Outcome = self.ray.get(reference)
            return outcome
        except self.ray.exceptions.WorkerCrashedError:
            return Outcome(piece.name, error=f"its process was lost {TIMES} times")
        except Exception as error:  # a value that cannot be sent, a cluster that is gone
            return Outcome(piece.name, error=reason(error))


def _ray() -> Any:
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")  # spares a warning
    try:
        import ray
    except ImportError as error:
        raise ChronolinkError("Ray is not installed; pip install 'chronolink[ray]'") from error
    return ray


def _connect(ray: Any, address: str, room: int) -> None:
    local: dict[str, Any] = {"num_cpus": room, "include_dashboard": False} if address == "local" else {}
    try:
        ray.init(address, logging_level=logging.ERROR, log_to_driver=False, **local)
    except (ConnectionError, ValueError, RuntimeError) as error:
        raise ChronolinkError(
            f"no Ray cluster answers at '{address}' ({reason(error)}); start one by `ray start --head` or use 'local'"
        ) from error
