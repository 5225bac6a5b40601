"""PFedRec and FedMF with BCE keep every promise of the kit, and their steps are those of the equations."""

from murmura.core.schedule import Schedule
from murmura.lab.rivals.federated.pfedrec import PFedRec
from murmura.testing import AlgorithmKit


class TestPFedRec(AlgorithmKit):
    training = Schedule(clients="all", rounds_per_epoch=20, epochs=10)
    quality_floor = 0.75  # own tables follow the drawn negatives of one round
    no_strangers = "a head is learned over rounds, and one epoch of a stranger's own rows makes none"

    def make(self) -> PFedRec:
        return PFedRec(factors=4, negatives=2, batch=7, rate=0.1, item_factor=2.0, precision="float64")


class TestFedMFWithBCE(TestPFedRec):
    def make(self) -> PFedRec:
        return PFedRec(factors=4, negatives=2, batch=7, bias=False, ranks_with="server", precision="float64")
