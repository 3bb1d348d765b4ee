"""Several processes, a fresh one a piece"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from multiprocessing import get_context, parent_process
from multiprocessing.connection import Connection, wait
from threading import Thread

from ..errors import at_least_one
from ..executor import TIMES, Executor, Outcome, Work, reason
from ._worker import cores, work_alone


class Processes(Executor):
    """Up to `workers` processes at once on this machine; each does one piece and ends, so no memory is shared.

    A piece whose process was killed by a signal is done again. All processes end with this one.

    Args:
        workers: processes at once.
        threads: of each process; a fair share of the cores if left out.
    """

    def __init__(self, workers: int, threads: int | None = None) -> None:
        at_least_one(workers=workers, threads=1 if threads is None else threads)
        self.workers, self.threads = workers, threads or max(1, cores() // workers)

    def run(self, work: Sequence[Work]) -> Iterator[Outcome]:
        waiting, running = list(work)[::-1], list[_Worker]()
        try:
            while waiting or running:
                while waiting and len(running) < self.workers:
                    try:
                        running.append(_Worker(waiting[-1], self.threads))
                    except Exception as error:  # the piece cannot be sent to another process
                        yield Outcome(waiting[-1].name, error=reason(error))
                    waiting.pop()
                yield from _ended(running)
        finally:
            for worker in running:
                worker.kill()


class _Worker:
    """A process at work on a piece; begun again when it is lost."""

    def __init__(self, piece: Work, threads: int) -> None:
        self.piece, self.threads, self.begun = piece, threads, 0
        self.begin()

    def begin(self) -> None:
        context = get_context("spawn")
        self.connection, answer = context.Pipe(duplex=False)
        # daemon: ended by multiprocessing when this process ends, even if nobody closes the iterator
        self.process = context.Process(target=_do, args=(self.piece, self.threads, answer), daemon=True)
        with answer, _threads_in_environment(self.threads):
            self.process.start()
        self.begun += 1

    def outcome(self) -> Outcome | None:
        """What came of the piece; nothing yet while the process works or is begun again."""
        answered = self.connection.poll()
        if not answered and self.process.is_alive():
            return None
        outcome = self._answer() if answered else None
        self.process.join()
        self.connection.close()
        if outcome is None and (self.process.exitcode or 0) < 0 and self.begun < TIMES:
            self.begin()
            return None
        return outcome or Outcome(self.piece.name, error=self._end())

    def kill(self) -> None:
        self.process.kill()
        self.process.join()

    def _answer(self) -> Outcome | None:
        try:
            received: Outcome = self.connection.recv()
            return received
        except (EOFError, OSError):  # killed before or in the midst of its answer
            return None
        except Exception as error:
            return Outcome(self.piece.name, error=reason(error))

    def _end(self) -> str:
        code = self.process.exitcode or 0
        if code < 0:
            return f"its process was lost {self.begun} times, at last by {signal.Signals(-code).name}"
        return f"its process ended with exit code {code} and no result"


def _ended(running: list[_Worker]) -> Iterator[Outcome]:
    """Waits until something happens; takes the workers that are done from the list."""
    wait([worker.connection for worker in running] + [worker.process.sentinel for worker in running])
    for worker in list(running):
        outcome = worker.outcome()
        if outcome is not None:
            running.remove(worker)
            yield outcome


def _do(piece: Work, threads: int, answer: Connection) -> None:
    """The whole life of a worker's process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches all; the first process ends the others
    Thread(target=_follow, daemon=True).start()
    outcome = work_alone(piece, threads)
    try:
        answer.send(outcome)
    except Exception as error:  # a value that cannot be sent
        answer.send(Outcome(piece.name, error=reason(error)))


def _follow() -> None:
    """Ends this process with the one that began it, even if that one is killed."""
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


@contextmanager
def _threads_in_environment(threads: int) -> Iterator[None]:
    """OpenMP reads the variable when it is loaded, before any code of ours in the new process."""
    before = os.environ.get("OMP_NUM_THREADS")
    os.environ["OMP_NUM_THREADS"] = str(threads)
    try:
        yield
    finally:
        if before is None:
            del os.environ["OMP_NUM_THREADS"]
        else:
            os.environ["OMP_NUM_THREADS"] = before
