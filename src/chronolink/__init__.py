"""Learn from a stream of events which links come next"""

from .build import build
from .dataset import datasets, load
from .errors import ChronolinkError
from .events import EventStream, TemporalGraph
from .history import History
from .model import GraphShape, LinkModel
from .predictor import Predictor
from .predictor import open_run as open
from .query import LinkQuery
from .read import read_events
from .report import Report
from .run import RunFolder
from .split import Split
from .time_encoder import TimeEncoder
from .training.fit import fit
from .training.head import HeadTraining
from .training.node_classification import classify_nodes
from .training.options import Training

__all__ = [
    "ChronolinkError",
    "EventStream",
    "GraphShape",
    "HeadTraining",
    "History",
    "LinkModel",
    "LinkQuery",
    "Predictor",
    "Report",
    "RunFolder",
    "Split",
    "TemporalGraph",
    "TimeEncoder",
    "Training",
    "build",
    "classify_nodes",
    "datasets",
    "fit",
    "load",
    "open",
    "read_events",
]
