"""TensorBoard, where it is installed"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

from .watch import Watch


class TensorBoard(Watch):
    """Loss and validation metrics of every epoch as TensorBoard events."""

    def __init__(self, folder: Path) -> None:
        from torch.utils.tensorboard import SummaryWriter

        self.writer = SummaryWriter(str(folder))

    def epoch(self, record: dict[str, Any]) -> None:
        number = record["epoch"]
        self._scalar("train/loss", record["loss"], number)
        for negatives, metrics in record["validation"].items():
            for name in ("ap", "auc"):
                self._scalar(f"validation/{negatives}/{name}", metrics[name], number)

    def _scalar(self, name: str, value: float, epoch: int) -> None:
        self.writer.add_scalar(name, value, epoch)

    def close(self) -> None:
        self.writer.close()


def tensorboard(folder: Path) -> Watch:
    """Writes into the folder if TensorBoard is installed, else does nothing."""
    return TensorBoard(folder) if find_spec("tensorboard") else Watch()
