"""What every federated algorithm promises, as tests to inherit.

    class TestMine(AlgorithmKit):
        def make(self) -> Algorithm:
            return Mine(precision="float64")

pytest then runs every `test_` method. `make` should return the algorithm in double precision where it has a
choice, so that a compiled path can be compared with the plain one. A failure says which method to write or to
mend; a test that does not apply is skipped with its reason.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from unittest import SkipTest

import numpy as np

from murmura.channel.phase_chains import chain
from murmura.core.client_batch import ClientBatch
from murmura.core.codec import decode, decode_model, encode, encode_model
from murmura.core.consent import Consent
from murmura.core.contract import Algorithm, FederationInfo, RoundContext
from murmura.core.errors import DataError, MissingExtraError
from murmura.core.population import stacked
from murmura.core.rng import Rng, client_secrets, server_secret
from murmura.core.settings import as_dict, from_dict
from murmura.engine.fit import fit
from murmura.engine.plan import Plan
from murmura.kernels.batched_kernel import batched
from murmura.runtimes.inprocess import InProcess
from murmura.server.loopback import Loopback
from murmura.testing.checks import (
    assert_close,
    assert_close_messages,
    assert_same_bits,
    assert_same_ledger,
    check_model,
    declared,
    exchanges,
    frozen,
    made,
    pure,
    require,
    same_update,
    skip_unless,
)
from murmura.testing.data import checkerboard, rated_checkerboard
from murmura.testing.kit_training import KitTraining

NO_KERNEL = "no compiled path: kernel() returns None"
NO_BATCH = "no step for many clients at once: clients_step is not written"
MODES = ("sticky", "block", "per-item-per-round", "per-triple")


class AlgorithmKit(KitTraining):
    """Inherit, define `make`, and adjust the class attributes to what the algorithm needs."""

    # the algorithm alone

    def test_settings_survive_a_round_trip(self) -> None:
        """Plain values and back give an equal algorithm."""
        algorithm = made(self.make)
        assert from_dict(type(algorithm), as_dict(algorithm)) == algorithm

    def test_steps_are_pure(self) -> None:
        """The same arguments give the same bits, and none of them is changed (they are read-only here)."""
        assert_same_bits(self._one_round(), self._one_round(), "a round")

    def test_updates_match_what_is_declared(self) -> None:
        """Every phase's update passes its Disclosure and survives its bytes; so does the public model."""
        algorithm, info, people = self._setting(self._interactions())
        server = algorithm.server_init(info, Rng(server_secret(0)))
        check_model(algorithm, info, server)
        publishes = algorithm.publishes(info)
        with declared(algorithm, "server_init"):
            message = encode_model(server.model, publishes, info.listed)
        assert len(message) == publishes.model_bytes(len(info.listed))
        back = decode_model(message, publishes, info.listed)
        for table in publishes.tables:
            there = server.model[table.name].reshape(back[table.name].shape)
            known = info.listed if table.space == "item" else slice(None)
            assert (back[table.name][known] == there[known]).all()
        for phase in exchanges(algorithm, info):
            for client in range(info.clients):
                update = self._visit(algorithm, info, people, phase.name, server.model, client)
                with declared(algorithm, "client_step", phase.name):
                    phase.sends.check(update)
                message = encode(update, phase.sends)
                rows = {name: len(table) for name, table in update.tables.items()}
                assert len(message) == phase.sends.message_bytes(rows)
                assert same_update(decode(message, phase.sends), update)

    def test_what_is_not_shared_does_not_leave(self) -> None:
        """A history that shares nothing sends no row of its items, or takes no part where updates are read."""
        algorithm, info, people = self._setting(self._interactions())
        model = algorithm.server_init(info, Rng(server_secret(0))).model
        asked = 0
        for phase in exchanges(algorithm, info):
            for client in range(info.clients):
                try:
                    update = self._visit(algorithm, info, people, phase.name, model, client, consent=0.0)
                except DataError:
                    assert phase.combine == "each"
                    asked += 1
                    continue
                own = set(self._history(people, client).item.tolist())
                for table in phase.sends.tables:
                    if table.space == "item":
                        asked += 1
                        sent = set(update.tables[table.name].index.tolist())
                        assert not sent & own, (
                            f"{type(algorithm).__name__}.client_step in phase '{phase.name}' must send no row "
                            f"of an item whose share is 0, but sent {sorted(sent & own)}; flip history.share "
                            "with rng.stream(Purpose.COINS)."
                        )
        skip_unless(asked > 0, "no table has a row for each item: an update does not say which items are hers")

    # the algorithm in a federation

    def test_workers_and_arrival_and_bytes_change_nothing(self) -> None:
        """Any number of workers, any order of answers and messages as bytes end in the same bits."""
        here = self._train(InProcess(path="plain"))
        others = (
            InProcess(path="plain", workers=2),
            InProcess(path="plain", workers=4, arrival=1),
            InProcess(path="plain", wire=True, arrival=2),
        )
        for runtime in others:
            self._assert_equal(here, self._train(runtime))

    def test_the_compiled_path_does_not_depend_on_workers(self) -> None:
        """1, 2 and 4 workers, the same bits."""
        skip_unless(made(self.make).kernel() is not None, NO_KERNEL)
        here = self._train(InProcess(path="kernel"), many=True)
        for workers in (2, 4):
            self._assert_equal(here, self._train(InProcess(path="kernel", workers=workers), many=True))

    def test_the_compiled_path_equals_the_plain_loop(self) -> None:
        """Equal draws, disclosed sets and tally; values within the rounding of the examples used."""
        skip_unless(made(self.make).kernel() is not None, NO_KERNEL)
        self._assert_like_the_plain_loop(InProcess(path="kernel"))

    def test_many_clients_at_once_equal_the_plain_loop(self) -> None:
        """The same of a step for many clients: padding and neighbours change nothing, nor does the size."""
        skip_unless(batched(made(self.make)) is not None, NO_BATCH)
        self._assert_like_the_plain_loop(InProcess(path="batched"))

    def test_many_clients_at_once_send_what_each_sends_alone(self) -> None:
        """Every message of a batch is that of the client's own visit: equal rows, values within rounding."""
        skip_unless(batched(made(self.make)) is not None, NO_BATCH)
        algorithm, info, data = self._setting(self._interactions())
        consent = Consent(pi=self.pi, disclosure="per-triple")  # a coin for each use of a row: streams count
        people = Plan(algorithm, data, consent=consent, groups=self._groups(data), seed=7).people
        model = algorithm.server_init(info, Rng(server_secret(0))).model
        states = stacked(
            [algorithm.client_init(info, people.history(u, 0), people.rng(u, 0)) for u in range(info.clients)]
        )
        batch = ClientBatch.of(people, np.arange(info.clients, dtype=np.int32), 3)
        for phase in exchanges(algorithm, info):
            if phase.combine != "sum":
                continue
            context = RoundContext(info, phase.name, 3, frozen(model))
            with pure(algorithm, "clients_step"):
                kept, sent = algorithm.clients_step(context, frozen(states), batch)
            for u in range(info.clients):
                own, history, rng = (
                    {name: stack[u] for name, stack in states.items()},
                    people.history(u, 3),
                    people.rng(u, 3),
                )
                alone, update = algorithm.client_step(context, own, history, rng)
                assert_close_messages(
                    update, sent.of(u), self._rounding(algorithm, info, 1), f"the update of client {u}"
                )
                for name, value in alone.items():
                    assert_close(
                        value, kept[name][u], self._rounding(algorithm, info, 1), f"{name} of client {u}"
                    )

    def _rounding(self, algorithm: Algorithm, info: FederationInfo, visits: int) -> float:
        return (
            self.roundings * float(np.finfo(np.float64).eps) * max(1.0, visits * algorithm.visit_examples(info))
        )

    def _assert_like_the_plain_loop(self, quick: InProcess) -> None:
        timeless = self._interactions().time is None
        for mode in (mode for mode in MODES if not (timeless and mode == "block")):
            plain = self._train(InProcess(path="plain"), mode)
            compiled = self._train(quick, mode)
            assert_same_ledger(plain.ledger, compiled.ledger)
            error = self._rounding(plain.plan.algorithm, plain.plan.info, plain.ledger.totals["visits"])
            for here, there in ((plain.model, compiled.model), (plain.ready, compiled.ready)):
                for name in here:
                    assert_close(here[name], there[name], error, f"{name} under {mode}")

    def test_a_channel_gives_the_same_bits_on_every_path(self) -> None:
        """Clips, fixed point, ring, any block: workers, order and compiling change nothing."""
        for way in self._channels():
            plain = self._train(InProcess(path="plain"), channel=way)
            shuffled = self._train(InProcess(path="plain", workers=3, arrival=4), channel=way)
            self._assert_equal(plain, shuffled)
            fast = self._train(InProcess(), channel=way)
            assert_same_ledger(plain.ledger, fast.ledger)
            assert_same_bits(plain.model, fast.model, f"the model through {way.summary()}")
            if fast.kernel is not None:
                many = [self._train(InProcess(workers=w), many=True, channel=way) for w in (1, 3)]
                self._assert_equal(*many)

    def test_the_wire_gives_the_bits_of_the_simulation(self) -> None:
        """Coordinator, aggregators and a device per client, over the wire's own messages: the same bits."""
        info = self._setting(self._interactions())[1]
        reads = any(phase.combine == "each" for phase in made(self.make).phases(info))
        for way in self._channels():
            if way.channel == "readable" or not reads:
                pi = self.pi if self.members == 1 else 1.0  # who shares a device shares a consent
                here = self._train(InProcess(path="plain"), channel=way, pi=pi)
                try:
                    there = self._train(Loopback(arrival=6), channel=way, pi=pi)
                except MissingExtraError as error:
                    raise SkipTest(str(error)) from None
                self._assert_equal(here, there)

    def test_a_channel_sends_messages_of_one_length(self) -> None:
        """However much a client has to tell, a round costs the same bytes."""
        algorithm, info, people = self._setting(self._interactions())
        model = algorithm.server_init(info, Rng(server_secret(0))).model
        sums = [phase for phase in exchanges(algorithm, info) if phase.combine == "sum"]
        skip_unless(bool(sums), "no phase is a sum: the server reads every update as it was sent")
        for way in self._channels():
            for phase in sums:
                through = chain(way, phase, info, info.clients)
                for client in range(info.clients):
                    update = self._visit(algorithm, info, people, phase.name, model, client)
                    vector = through.device(update, Rng(client_secrets(0, info.clients)[client], 7), 7)
                    assert len(through.ring.pack(vector)) == through.ring.message_bytes

    def test_a_stopped_training_ends_like_one_that_never_stopped(self) -> None:
        """Killed between two checkpoints and taken up again: the same bytes on disk."""
        whole = self._train(InProcess())
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            killed = sum(self._die_after(batches, folder) for batches in self.kills)
            resumed = self._train(InProcess(), folder=folder)
            self._assert_equal(whole, resumed)
            whole.save(folder / "whole")
            resumed.save(folder / "resumed")
            assert (folder / "whole").read_bytes() == (folder / "resumed").read_bytes()
        skip_unless(
            killed > 0, f"its {whole.plan.itinerary.rounds} rounds end before kills = {self.kills} stop them"
        )

    def test_unknown_people_and_empty_histories_are_answered(self) -> None:
        """People with no item, every item or one; and a guest: finite scores for all, and nothing leaves.

        Where scores are sums, the terms add up to them.
        """
        if made(self.make).holds == "samples":
            self._check_labels(self._train(InProcess()))
            return
        require(made(self.make), "client_score")
        fitted = self._train(InProcess())
        scores = fitted.score(np.arange(3, dtype=np.int32))
        assert scores.shape == (3, fitted.plan.info.items), "client_score must return (people, items)."
        assert np.isfinite(scores).all(), "client_score must return finite numbers, but one is not."
        for user, own in enumerate(scores):
            if (terms := fitted.terms(user)) is not None:
                assert_close(own, terms.scores, 1e-9, "client_terms must add up to client_score: their sum")
        sent = fitted.ledger.totals["bytes_up"]
        skip_unless(not self.no_strangers, f"it does not answer strangers: {self.no_strangers}")
        for items in ([], [0], list(range(5)), list(range(fitted.plan.info.items))):
            guest = fitted.score_history(np.array(items, np.int32))
            assert guest.shape == (fitted.plan.info.items,)
            assert np.isfinite(guest).all()
        assert fitted.ledger.totals["bytes_up"] == sent

    def test_the_withheld_item_of_the_checkerboard_comes_first(self) -> None:
        """At least `quality_floor` of the people get their answer at the top, and strangers like them too.

        Of a classifier at least that share of samples it has never seen gets the right label.
        """
        if made(self.make).holds == "samples":
            self._check_accuracy()
            return
        require(made(self.make), "client_score")
        data, answer = rated_checkerboard() if self.rated else checkerboard()
        groups = self._groups(data)
        plan = Plan(made(self.make), data, self.training, seed=3, groups=groups)
        fitted = fit(plan, runtime=InProcess())
        lists = fitted.recommend(np.arange(data.n_users, dtype=np.int32), 1)
        first = float((lists.item[:, 0] == answer).mean())
        assert first >= self.quality_floor, (
            f"the withheld item must come first for {self.quality_floor:.0%} of the people, but does for "
            f"{first:.0%}; mend the steps, train longer (training) or state a lower quality_floor."
        )
        if self.no_strangers:
            return
        guests = [self._guest_answer(fitted, data, u) for u in range(8)]
        alike = float((np.array(guests) % 2 == answer[:8] % 2).mean())
        assert alike >= self.quality_floor, (
            f"an item of her colour must come first for {self.quality_floor:.0%} of strangers, but does for "
            f"{alike:.0%}; see client_fold_in."
        )
