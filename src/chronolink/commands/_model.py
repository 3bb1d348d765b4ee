"""Flags of model, encoder and training"""

from __future__ import annotations

from collections.abc import Sequence

from jsonargparse import ArgumentParser

from ..build import GIVEN
from ..catalogue import find, members
from ..model import LinkModel
from ..time_encoder import TimeEncoder
from ..training.options import Training
from ._arguments import asked_for


def add_model_options(parser: ArgumentParser, tidied: Sequence[str]) -> None:
    """All options of the training, of the model and of the time encoder that are asked for."""
    model = asked_for(tidied, "model.name", "tgat")
    encoder = asked_for(tidied, "time_encoder.name", "linear")
    parser.add_class_arguments(Training)
    parser.add_argument("--model.name", type=str, default=model, help="the same as --model")
    parser.add_class_arguments(find("models", model, LinkModel), "model", skip=set(GIVEN))
    parser.add_argument("--time_encoder.name", type=str, default=encoder, help="the same as --time-encoder")
    parser.add_class_arguments(find("time_encoders", encoder, TimeEncoder), "time_encoder")
    for group, folder in (("--model", "models"), ("--time_encoder", "time_encoders")):
        action = next(action for action in parser._actions if group in action.option_strings)
        action.metavar, action.help = "NAME", f"one of {', '.join(members(folder))}".replace("_", "-")
