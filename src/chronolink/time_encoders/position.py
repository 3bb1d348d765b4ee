"""Position: the rank replaces the time"""

from torch import Tensor

from ..history import Neighbours
from .cosine import Cosine as _Cosine


class Position(_Cosine):
    """phi_i(r) = cos(w_i r + b_i), r = how many events back (1 is the latest, 0 the asked event).

    It tells what time says beyond order; events of equal time count one by one, in the order of the stream.
    """

    def measure(self, past: Neighbours) -> Tensor:
        return self.number(past.rank)
