"""A toy method of exact sums: who has what, which pairs in packed counters, and a float table beside them."""

from typing import Any, ClassVar

import numpy as np

from murmura.federated import (
    Algorithm,
    Answers,
    Bools,
    ClientState,
    FederationInfo,
    History,
    IndividualUpdates,
    Ints,
    MessageSpec,
    Phase,
    Purpose,
    Rng,
    RoundContext,
    RowBounds,
    ServerState,
    SparseRows,
    TableSpec,
    Total,
    Update,
    settings,
)

WORD = 24  # bits of a word that are used: both rings have them


@settings
class ExactCounts(Algorithm):
    """Counts of all, then pairs by a public part of those counted, then rounds of counts with their weights."""

    name: ClassVar[str] = "exact-counts"

    part: float = 0.5

    def packing(self, info: FederationInfo) -> tuple[int, int, int]:
        """Bits of a counter that no sum of clients overflows, counters of a word, and words."""
        bits = int(info.clients).bit_length()
        return bits, WORD // bits, -(-info.items * (info.items + 1) // 2 // (WORD // bits))

    def phases(self, info: FederationInfo) -> tuple[Phase, ...]:
        bits, each, words = self.packing(info)
        pairs = info.items * (info.items + 1) // 2
        full = sum(info.clients << bits * place for place in range(each))
        most = np.full(words, full, np.uint32)
        most[-1] = sum(info.clients << bits * place for place in range(pairs - each * (words - 1)))
        one = TableSpec("counts", "item", info.items, 1, "uint32", exact=RowBounds(1))
        size = TableSpec("size", "dense", 1, 1, "float64")
        packed = TableSpec("packed", "dense", words, 1, "uint32", exact=RowBounds(most, of="sum"))
        weights = TableSpec("weights", "item", info.items, 2, "float64")
        return (
            Phase("counts", MessageSpec((size, one)), repeat=1),
            Phase("pairs", MessageSpec((packed,)), repeat=1, part=self.part, follows="counts"),
            Phase("train", MessageSpec((one, weights), ("visits",))),
        )

    def publishes(self, info: FederationInfo) -> MessageSpec:
        square = TableSpec("pairs", "item", info.items, info.items, "float64")
        counts = TableSpec("counts", "item", info.items, 2, "uint32")
        return MessageSpec((square, counts, TableSpec("weights", "item", info.items, 2, "float64")))

    def server_init(self, info: FederationInfo, rng: Rng) -> ServerState:
        model = {
            table.name: np.zeros((table.rows, table.width), table.dtype)
            for table in self.publishes(info).tables
        }
        return ServerState(model, {"packing": np.array(self.packing(info))})

    def client_init(self, info: FederationInfo, history: History, rng: Rng) -> ClientState:
        return {}

    def client_step(
        self, context: RoundContext, state: ClientState, history: History, rng: Rng
    ) -> tuple[ClientState, Update]:
        shared = history.item[rng.stream(Purpose.COINS).coins(history.consent)]
        ones = SparseRows(shared, np.ones((len(shared), 1), np.uint32))
        if context.phase == "counts":
            size = SparseRows(np.zeros(1, np.int32), np.array([[0.01 * len(shared)]]))
            return state, Update({"size": size, "counts": ones})
        if context.phase == "pairs":
            words = pack(shared, context.info.items, *self.packing(context.info))
            return state, Update({"packed": SparseRows(np.arange(len(words), dtype=np.int32), words[:, None])})
        weights = rng.stream(Purpose.OWN).normals(2 * len(shared)).reshape(-1, 2)
        return state, Update({"counts": ones, "weights": SparseRows(shared, weights)}, {"visits": 0.25})

    def server_step(
        self, phase: str, server: ServerState, received: Total | IndividualUpdates
    ) -> tuple[ServerState, Answers]:
        assert isinstance(received, Total)
        model = {name: array.copy() for name, array in server.model.items()}
        tables, items = received.update.tables, len(model["pairs"])
        if phase == "pairs":
            model["pairs"] = unpack(tables["packed"].values[:, 0], items, *server.private["packing"].tolist())
        else:
            counted = tables["counts"]
            model["counts"][counted.index, int(phase == "train")] += counted.values[:, 0]
        if phase == "train":
            model["weights"][tables["weights"].index] += tables["weights"].values
        return ServerState(model, server.private), {}

    def client_discloses(self, phase: Phase, update: Update, history: History, rng: Rng) -> Bools:
        if phase.name != "pairs":
            return super().client_discloses(phase, update, history, rng)
        return rng.stream(Purpose.COINS).coins(history.consent)

    def client_score(self, context: RoundContext, state: ClientState, history: History) -> Any:
        pairs, size = context.model["pairs"], np.sqrt(np.diag(context.model["pairs"]) + 1.0)
        return (pairs[history.item] / size[history.item, None]).sum(0, keepdims=True) / size


def pack(items_held: Ints, items: int, bits: int, each: int, words: int) -> Any:
    """One for every pair of items held, the pair with itself too, as counters side by side in words."""
    first, second = np.triu_indices(items)
    ones = np.isin(first, items_held) & np.isin(second, items_held)
    counters = np.zeros(words * each, np.uint64)
    counters[: len(ones)] = ones
    shifts = np.arange(each, dtype=np.uint64) * np.uint64(bits)
    return (counters.reshape(words, each) << shifts).sum(axis=1).astype(np.uint32)


def unpack(summed: Any, items: int, bits: int, each: int, words: int) -> Any:
    """The symmetric matrix of the summed counters: (items, items)."""
    shifts = np.arange(each, dtype=np.uint64) * np.uint64(bits)
    counters = (summed.astype(np.uint64)[:, None] >> shifts) & np.uint64(2**bits - 1)
    square = np.zeros((items, items))
    square[np.triu_indices(items)] = counters.ravel()[: items * (items + 1) // 2]
    return square + np.triu(square, 1).T
