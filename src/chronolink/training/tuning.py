"""A search for the best options"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

import optuna
import yaml
from optuna.distributions import BaseDistribution, CategoricalDistribution
from optuna.trial import FrozenTrial, TrialState

from ..errors import ChronolinkError
from ..events import TemporalGraph
from ..executor import reason
from ..files import write_whole
from ..model import LinkModel
from ..run import build_from
from ..split import Split
from .fit import train
from .options import Training
from .space import Point, Space, at, key, points
from .watch import Several, Watch
from .workers import Workers

Begin = Callable[[int, Point], Watch]  # told of a trial's number and point, looks on while it is trained
COMPARED = ["model", "time_encoder", *(field.name for field in fields(Training) if field.name != "device")]
STATES = {
    TrialState.COMPLETE: "finished",
    TrialState.PRUNED: "pruned",
    TrialState.RUNNING: "running",
    TrialState.FAIL: "failed",
    TrialState.WAITING: "waiting",
}


@dataclass(frozen=True, slots=True)
class Trial:
    """A point that was tried; of one that was pruned, AP and epoch are the last it came to."""

    number: int
    state: str
    point: Point
    ap: float | None = None
    epoch: int | None = None
    seconds: float | None = None
    error: str | None = None


class Tuning:
    """Trains at every point of a space and finds the one with the highest validation AP.

    The study lives in an Optuna storage, and one that was stopped goes on: what is finished stays, what was broken off
    is begun anew. Processes that share the folder `out` and the storage share the points among them. Trials that stay
    below the median of the others at the same epoch are pruned (`MedianPruner`), none before `min_epochs`.

    Args:
        graph: the events.
        settings: all other options, as in a run's config.yaml.
        space: by an option's full name (`model.dropout`, `time_encoder.width`, `batch_size`) the values to try.
        out: folder of the results; its name is the study's.
        storage: URL of an Optuna storage; a file in the folder if left out.
        trials: points to try; all if left out.
        prune_after: trials that are finished before any is pruned.
    """

    def __init__(
        self,
        graph: TemporalGraph,
        settings: Mapping[str, Any],
        space: Space,
        out: Path | str,
        *,
        storage: str | None = None,
        trials: int | None = None,
        prune_after: int = 2,
    ) -> None:
        self.graph, self.split, self.settings, self.space = graph, Split.of(graph), settings, space
        self.training = Training.of(settings)
        self.points = points(space, trials, self.training.seed)
        for point in self.points:
            self._check(point)
        self.choices: dict[str, BaseDistribution] = {n: CategoricalDistribution(list(v)) for n, v in space.items()}
        self.out = Path(out)
        self.out.mkdir(parents=True, exist_ok=True)
        self.workers = Workers(self.out)
        pruner = optuna.pruners.MedianPruner(prune_after, n_warmup_steps=self.training.min_epochs)
        with self.workers.lock:
            self.study = _study(storage or f"sqlite:///{self.out.resolve() / 'study.db'}", self.out, pruner)
            self._same_as_before()

    def run(self, begin: Begin = lambda number, point: Watch()) -> None:  # noqa: ARG005
        """Trains until no point is left, and keeps best.yaml and trials.csv in step."""
        with self.workers.joined() as worker:
            while (trial := self._next(worker)) is not None:
                self._try(trial, begin)
                self.write()
        self.write()

    def trials(self) -> list[Trial]:
        """The best first, then those that were pruned, failed or still wait."""
        found = [_trial(frozen) for frozen in self.study.get_trials(deepcopy=False)]
        order = list(STATES.values())
        return sorted(found, key=lambda trial: (order.index(trial.state), -(trial.ap or 0.0), trial.number))

    def best(self) -> dict[str, Any]:
        """The settings with the values of the best point, as `chronolink train --config` takes them."""
        finished = [trial for trial in self.trials() if trial.state == "finished"]
        if not finished:
            errors = [trial.error for trial in self.trials() if trial.error]
            raise ChronolinkError(f"no trial was finished{': ' * bool(errors)}{''.join(errors[-1:])}")
        settings = at(self.settings, finished[0].point)
        model = build_from(settings, self.graph)
        return {**self.graph.settings, **model.settings, **asdict(Training.of(settings))}

    def write(self) -> None:
        trials, options = self.trials(), list(self.space)
        text = io.StringIO()
        table = csv.writer(text, lineterminator="\n")
        table.writerow(["number", "state", *options, "validation_ap", "epoch", "seconds", "error"])
        for t in trials:
            table.writerow([t.number, t.state, *(t.point.get(o) for o in options), t.ap, t.epoch, t.seconds, t.error])
        with self.workers.lock:
            write_whole(self.out / "trials.csv", text.getvalue())
            if any(trial.state == "finished" for trial in trials):
                write_whole(self.out / "best.yaml", yaml.safe_dump(self.best(), sort_keys=False))

    def _check(self, point: Point) -> None:
        """Refuses a point that cannot be trained before hours have gone into the others."""
        model, training = self._at(point)
        if not any(parameter.requires_grad for parameter in model.parameters()):
            raise ChronolinkError(f"{self.settings['model']['name']} learns nothing, so there is nothing to tune")
        if training.epochs < 1:
            raise ChronolinkError(f"epochs is {training.epochs}; a trial needs 1 or more")

    def _at(self, point: Point) -> tuple[LinkModel, Training]:
        settings = at(self.settings, point)
        training = Training.of(settings)
        return build_from(settings, self.graph), replace(training, select_by=training.criteria[0])

    def _same_as_before(self) -> None:
        """Trials can be compared only if all but the point is the same."""
        search = {
            "space": {name: list(values) for name, values in self.space.items()},
            "data": self.graph.digest(),
            **{name: self.settings.get(name) for name in COMPARED},
        }
        before = self.study.user_attrs.get("search", search)
        for name in {**before, **search}:
            if before.get(name) != search.get(name):
                raise ChronolinkError(
                    f"the study '{self.study.study_name}' was made with another {name} ({before.get(name)}, now "
                    f"{search.get(name)}); give another --out, or the same {name} to go on with it"
                )
        self.study.set_user_attr("search", search)

    def _next(self, worker: str) -> optuna.Trial | None:
        """The first point that nobody has tried or is trying, which is then ours."""
        with self.workers.lock:
            self._give_up_lost()
            if not self.study.get_trials(deepcopy=False, states=(TrialState.WAITING,)):
                point = self._untried(worker)
                if point is None:
                    return None
                self.study.enqueue_trial(point, user_attrs={"point": point})
            trial = self.study.ask(self.choices)
            trial.set_user_attr("worker", worker)
            return trial

    def _give_up_lost(self) -> None:
        """Trials whose process is gone have failed."""
        present = self.workers.present()
        for frozen in self.study.get_trials(deepcopy=False, states=(TrialState.RUNNING,)):
            if frozen.user_attrs.get("worker") not in present:
                self.study.tell(frozen.number, state=TrialState.FAIL)

    def _untried(self, worker: str) -> Point | None:
        """What failed elsewhere or before is tried again, what failed here is not."""
        found = self.study.get_trials(deepcopy=False)
        taken = {key(_point(f)) for f in found if f.state != TrialState.FAIL or f.user_attrs.get("worker") == worker}
        return next((point for point in self.points if key(point) not in taken), None)

    def _try(self, trial: optuna.Trial, begin: Begin) -> None:
        point = trial.user_attrs["point"]
        model, training = self._at(point)
        looking_on = begin(trial.number, point)
        watch = Several(looking_on, _Pruning(trial, training.criteria[0]))
        try:
            best = train(model, self.graph, training, split=self.split, watch=watch).selections[0]
            trial.set_user_attr("epoch", best.epoch)
            self.study.tell(trial, best.ap)
        except optuna.TrialPruned:
            self.study.tell(trial, state=TrialState.PRUNED)
        except BaseException as error:
            trial.set_user_attr("error", reason(error))
            self.study.tell(trial, state=TrialState.FAIL)
            if not isinstance(error, Exception):
                raise
        finally:
            looking_on.close()


class _Pruning(Watch):
    """Tells the study of every epoch and ends the trial when the study wants no more of it."""

    def __init__(self, trial: optuna.Trial, criterion: str) -> None:
        self.trial, self.criterion = trial, criterion

    def epoch(self, record: dict[str, Any]) -> None:
        self.trial.report(record["validation"][self.criterion]["ap"], record["epoch"])
        if self.trial.should_prune():
            raise optuna.TrialPruned


def _trial(frozen: FrozenTrial) -> Trial:
    epoch = frozen.user_attrs.get("epoch", frozen.last_step)
    seconds = None if frozen.duration is None else frozen.duration.total_seconds()
    error = frozen.user_attrs.get("error") or ("broken off" if frozen.state == TrialState.FAIL else None)
    return Trial(frozen.number, STATES[frozen.state], _point(frozen), frozen.value, epoch, seconds, error)


def _point(frozen: FrozenTrial) -> Point:
    return dict(frozen.user_attrs.get("point", frozen.params))


def _study(storage: str, out: Path, pruner: optuna.pruners.BasePruner) -> optuna.Study:
    from sqlalchemy.exc import SQLAlchemyError

    try:
        return optuna.create_study(
            storage=storage, study_name=out.resolve().name, load_if_exists=True, direction="maximize", pruner=pruner
        )
    except (SQLAlchemyError, ImportError, ValueError, RuntimeError, optuna.exceptions.OptunaError) as error:
        words = reason(error).partition(" (Background on")[0]
        raise ChronolinkError(
            f"the storage cannot be opened ({words}); give a URL such as sqlite:///study.db by --storage"
        ) from error
