"""Federated averaging against gradients and a mean worked out by hand, and with any number of workers."""

from typing import Any

import numpy as np
import pytest

from murmura.core.contract import FederationInfo, RoundContext, Samples
from murmura.core.errors import DataError, SettingError
from murmura.core.interactions import Classification, Interactions, SampleTable, Vocabulary
from murmura.core.rng import Rng, client_secrets, server_secret
from murmura.core.schedule import Schedule
from murmura.engine.federated_model import FederatedModel
from murmura.engine.fit import fit
from murmura.engine.plan import Plan
from murmura.lab.classification.classifier import answer, descend
from murmura.lab.classification.classifier_layout import ClassifierLayout
from murmura.lab.classification.fedavg import FederatedAveraging
from murmura.runtimes.inprocess import InProcess
from murmura.testing import crowd

MNIST = Classification((28, 28), 10)
SMALL = FederatedAveraging(filters=(3,), filter_size=3, hidden=5, local_epochs=2)


def samples(clients: int = 6, each: int = 12, classes: int = 3, seed: int = 0) -> Interactions:
    """Images of 6 x 6 in which one bright row tells the class."""
    rng, n = np.random.default_rng(seed), clients * each
    label = rng.integers(0, classes, n)
    shown = rng.integers(0, 60, (n, 6, 6)).astype(np.uint8)
    shown[np.arange(n), 2 * label] += 150
    owner = np.repeat(np.arange(clients), each).astype(np.int32)
    place = np.arange(n, dtype=np.int32)
    table = SampleTable(classes, shown, place)
    ids = Vocabulary(np.arange(clients)), Vocabulary(np.arange(n))
    return Interactions(*ids, owner, place, label.astype(np.float64), samples=table)


def trained(method: FederatedAveraging = SMALL, workers: int = 1, clients: int = 4) -> FederatedModel:
    plan = Plan(method, samples(), Schedule(clients=clients, epochs=3), seed=5)
    return fit(plan, runtime=InProcess(workers=workers))


@pytest.mark.parametrize(
    ("task", "size", "parameters"),
    [(MNIST, 5, 1_663_370), (Classification((64, 64, 3), 2), 3, 8_409_025)],
    ids=["mnist", "celeba"],
)
def test_the_networks_have_as_many_parameters_as_the_thesis_counts(
    task: Classification, size: int, parameters: int
) -> None:
    layout = ClassifierLayout(task, (32, 64), size, 512, relu=False)
    assert layout.parameters == parameters


def test_softmax_regression_descends_along_its_gradient() -> None:
    rng = np.random.default_rng(1)
    layout = ClassifierLayout(Classification((4,), 3), (), 1, 0, relu=False)
    x, y = rng.normal(size=(7, 4)).astype(np.float32), rng.integers(0, 3, 7).astype(np.int32)
    model = {"output_kernel": rng.normal(size=(3, 4)), "output_bias": rng.normal(size=(3, 1))}
    model = {name: table.astype(np.float32) for name, table in model.items()}
    kernel, bias = model["output_kernel"].astype(np.float64), model["output_bias"].astype(np.float64)
    for _ in range(4):
        z = x @ kernel.T + bias.T
        p = np.exp(z - z.max(axis=1, keepdims=True))
        p = p / p.sum(axis=1, keepdims=True) - np.eye(3)[y]
        kernel, bias = kernel - 0.3 * p.T @ x / 7, bias - 0.3 * p.mean(axis=0)[:, None]
    moved = descend(layout, model, x, y, [np.arange(7)] * 4, 0.3)
    np.testing.assert_allclose(moved["output_kernel"], kernel, atol=1e-5)
    np.testing.assert_allclose(moved["output_bias"], bias, atol=1e-5)


def test_one_output_for_two_classes_descends_along_its_gradient() -> None:
    rng = np.random.default_rng(2)
    layout = ClassifierLayout(Classification((4,), 2), (), 1, 0, relu=False)
    x, y = rng.normal(size=(6, 4)).astype(np.float32), np.array([0, 1, 1, 0, 1, 0], np.int32)
    model = {"output_kernel": np.ones((1, 4), np.float32), "output_bias": np.zeros((1, 1), np.float32)}
    wrong = 1 / (1 + np.exp(-(x @ np.ones(4)))) - y
    moved = descend(layout, model, x, y, [np.arange(6)], 0.5)
    np.testing.assert_allclose(moved["output_kernel"][0], 1 - 0.5 * wrong @ x / 6, atol=1e-6)
    np.testing.assert_allclose(moved["output_bias"][0, 0], -0.5 * wrong.mean(), atol=1e-6)
    logit = x @ moved["output_kernel"][0] + moved["output_bias"][0]
    assert answer(layout, moved, x).tolist() == (logit > 0).astype(int).tolist()


def plain_logits(model: dict[str, Any], image: Any, relu: bool) -> Any:
    """The network of one convolution, pixel by pixel."""
    kernel, bias = model["conv1_kernel"].reshape(-1, 3, 3), model["conv1_bias"][:, 0]
    padded = np.pad(image, 1)
    maps = np.array([
        [[(padded[i : i + 3, j : j + 3] * k).sum() + b for j in range(6)] for i in range(6)]
        for k, b in zip(kernel, bias)
    ])  # fmt: skip
    maps = np.maximum(maps, 0) if relu else maps
    pooled = maps.reshape(len(kernel), 3, 2, 3, 2).max(axis=(2, 4))
    flat = pooled.transpose(1, 2, 0).reshape(-1)
    hidden = np.maximum(model["hidden_kernel"] @ flat + model["hidden_bias"][:, 0], 0)
    return model["output_kernel"] @ hidden + model["output_bias"][:, 0]


@pytest.mark.parametrize("relu", [False, True])
def test_the_network_answers_as_its_plain_twin(relu: bool) -> None:
    data = samples()
    assert data.samples is not None
    method = FederatedAveraging(
        filters=(3,), filter_size=3, hidden=5, convolutions="relu" if relu else "linear"
    )
    info = FederationInfo.of(data)
    drawn = method.server_init(info, Rng(server_secret(3))).model
    model = {name: table.astype(np.float64) + 0.1 * name.endswith("bias") for name, table in drawn.items()}
    narrow = {name: table.astype(np.float32) for name, table in model.items()}
    found = answer(method.layout(info), narrow, data.samples.stored)
    wanted = [int(np.argmax(plain_logits(model, image / 255, relu))) for image in data.samples.stored]
    assert found.tolist() == wanted


def test_a_convolution_descends_along_numeric_differences() -> None:
    data = samples()
    assert data.samples is not None
    info = FederationInfo.of(data)
    layout = SMALL.layout(info)
    model = SMALL.server_init(info, Rng(server_secret(3))).model
    shown, label = data.samples.stored[:8], data.value[:8].astype(np.int32)

    def mean_loss(changed: dict[str, Any]) -> float:
        z = np.array([plain_logits(changed, image / 255, relu=False) for image in shown])
        return float(np.mean(np.log(np.exp(z).sum(axis=1)) - z[np.arange(8), label]))

    moved = descend(layout, model, shown, label, [np.arange(8)], 1.0)
    wide = {name: table.astype(np.float64) for name, table in model.items()}

    def bumped(name: str, place: tuple[int, int], step: float) -> dict[str, Any]:
        table = wide[name].copy()
        table[place] += step
        return {**wide, name: table}

    for name in model:
        for place in ((0, 0), (-1, -1)):
            slope = (mean_loss(bumped(name, place, 1e-5)) - mean_loss(bumped(name, place, -1e-5))) / 2e-5
            assert model[name][place] - moved[name][place] == pytest.approx(slope, abs=2e-4)


def test_the_server_moves_by_the_mean_of_its_clients() -> None:
    data, method = samples(clients=3), SMALL
    plan = Plan(method, data, Schedule(clients="all", epochs=1), seed=2)
    start = method.server_init(plan.info, Rng(server_secret(2))).model
    context = RoundContext(plan.info, "train", 0, start)
    ends = []
    for client in range(3):
        own = plan.people.history(client, 0)
        _, update = method.client_step(context, {}, own, plan.people.rng(client, 0))
        ends.append({name: start[name] + rows.values for name, rows in update.tables.items()})
    federation = fit(plan, runtime=InProcess())
    for name, table in federation.model.items():
        np.testing.assert_allclose(table, np.mean([end[name] for end in ends], axis=0), atol=1e-6)


@pytest.mark.parametrize("batch", [None, 5])
def test_any_number_of_workers_gives_the_same_bits(batch: int | None) -> None:
    method = FederatedAveraging(filters=(3,), filter_size=3, hidden=5, batch=batch)
    one, many = trained(method, 1), trained(method, 3)
    assert all((one.model[name] == many.model[name]).all() for name in one.model)


def test_batches_of_everything_are_full_batches() -> None:
    whole = FederatedAveraging(filters=(3,), filter_size=3, hidden=5, batch=12)
    plain = FederatedAveraging(filters=(3,), filter_size=3, hidden=5)
    assert all((trained(whole).model[k] == v).all() for k, v in trained(plain).model.items())


def test_it_learns_what_tells_the_classes_apart() -> None:
    method = FederatedAveraging(filters=(4,), filter_size=3, hidden=16, learning_rate=0.3)
    data = samples(seed=1)
    plan = Plan(method, data, Schedule(clients="all", epochs=30), seed=1)
    federation = fit(plan, runtime=InProcess(workers=2))
    fresh = samples(seed=2)
    assert fresh.samples is not None
    found = method.client_predict(federation.ready_context, {}, fresh.samples.stored)
    assert (found == fresh.value).mean() > 0.9


def test_a_sample_that_is_not_lent_teaches_nothing() -> None:
    data = samples()
    info = FederationInfo.of(data)
    own = Plan(SMALL, data, Schedule()).people.history(0, 0)
    assert isinstance(own, Samples)
    model = SMALL.server_init(info, Rng(server_secret(0))).model
    context, rng = RoundContext(info, "train", 1, model), Rng(client_secrets(0, 1)[0], 1)
    closed = Samples(own.item, own.value, np.zeros(len(own)), inputs=own.inputs)
    _, update = SMALL.client_step(context, {}, closed, rng)
    assert all((rows.values == 0).all() for rows in update.tables.values())
    half = np.arange(len(own)) % 2 == 0
    mixed = Samples(own.item, own.value, half.astype(np.float64), inputs=own.inputs)
    one, other = SMALL.client_step(context, {}, mixed, rng), SMALL.client_step(context, {}, own.rows(half), rng)
    for name, rows in one[1].tables.items():
        assert (rows.values == other[1].tables[name].values).all()


def test_items_are_not_classified() -> None:
    with pytest.raises(DataError, match="fedavg classifies samples with labels, but"):
        Plan(SMALL, crowd(), Schedule())


def test_images_too_small_for_their_filters_are_refused() -> None:
    with pytest.raises(SettingError, match="3 of them leave nothing"):
        Plan(FederatedAveraging(filters=(2, 2, 2)), samples(), Schedule())
