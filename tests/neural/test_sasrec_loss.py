"""The network of SASRec against plain numpy, its loss by hand, and what a place may not see."""

import math

import numpy as np
import pytest

pytest.importorskip("torch", reason="torch is not installed: make test-neural installs it")

import torch

from murmura.lab.neural import sasrec_network
from murmura.lab.neural.histories import Windows
from murmura.lab.neural.sasrec import last_states
from murmura.lab.neural.training_loop import Params
from tests.neural.differences import check_gradient
from tests.neural.plain import plain_sasrec

SHAPE = sasrec_network.Shape(dim=4, blocks=2, heads=2, length=5, dropout=0.0)
HISTORY = torch.tensor([[3, 0, 5, 1, 2]])


def small_network(dtype: torch.dtype = torch.float64) -> Params:
    """With norms and biases that do something."""
    generator = torch.Generator().manual_seed(7)
    made = sasrec_network.initial(6, SHAPE, generator)
    return {
        name: (p.detach() + 0.3 * torch.randn(p.shape, generator=generator)).to(dtype).requires_grad_()
        for name, p in made.items()
    }


def test_states_are_their_plain_twin() -> None:
    network = small_network()
    ours = sasrec_network.states(network, SHAPE, HISTORY)[0].detach().numpy()
    arrays = {name: p.detach().numpy() for name, p in network.items()}
    assert ours == pytest.approx(np.array(plain_sasrec(arrays, SHAPE.heads, HISTORY[0].tolist())), rel=1e-9)


def test_numpy_answers_what_torch_learned() -> None:
    """Two histories of different length in one block; what stands in the padding matters to none."""
    network = small_network(torch.float32)
    arrays = {name: p.detach().numpy() for name, p in network.items()}
    for padding in (0, 4):
        column = np.array([[3, 0, 5, 1, 2], [4, 1, padding, padding, padding]])
        found = last_states(arrays, SHAPE.heads, Windows(column, np.array([5, 2])))
        long = sasrec_network.states(network, SHAPE, torch.from_numpy(column[:1]))[0, 4]
        short = sasrec_network.states(network, SHAPE, torch.from_numpy(column[1:, :2]))[0, 1]
        expected = torch.stack([long, short]).detach().numpy()
        assert found == pytest.approx(expected, rel=1e-4, abs=1e-5)  # float32, sums of 5 terms


@pytest.mark.parametrize("changed", range(5))
def test_a_later_item_changes_nothing_before_it(changed: int) -> None:
    network, other = small_network(), HISTORY.clone()
    other[0, changed] = 4
    one, two = (
        sasrec_network.states(network, SHAPE, HISTORY)[0],
        sasrec_network.states(network, SHAPE, other)[0],
    )
    same = torch.isclose(one, two, rtol=0, atol=1e-12).all(1).tolist()
    assert same == [place < changed for place in range(5)]


def test_attention_to_what_follows_would_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """The impostor of the test above: without the mask earlier places change too."""
    masked = torch.nn.functional.scaled_dot_product_attention

    def unmasked(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, is_causal: bool) -> torch.Tensor:
        return masked(query, key, value)

    monkeypatch.setattr(torch.nn.functional, "scaled_dot_product_attention", unmasked)
    network, other = small_network(), HISTORY.clone()
    other[0, 4] = 4
    one, two = (
        sasrec_network.states(network, SHAPE, HISTORY)[0],
        sasrec_network.states(network, SHAPE, other)[0],
    )
    assert not torch.isclose(one, two, rtol=0, atol=1e-12).all(1).any()


def test_cross_entropy_by_hand() -> None:
    # the item's scores are 0, log 2, log 3 and 0 for the state (1,)
    params = {"item": torch.tensor([[0.0], [math.log(2.0)], [math.log(3.0)], [0.0]])}
    state, target = torch.ones(2, 1), torch.tensor([1, 2])
    drawn = torch.tensor([0, 2])  # item 2 is no rival of itself
    expected = (-math.log(2 / (2 + 1 + 3)) - math.log(3 / (3 + 1))) / 2
    assert float(sasrec_network.cross_entropy(params, state, target, drawn)) == pytest.approx(
        expected, rel=1e-6
    )
    whole = sasrec_network.cross_entropy(params, state, target, torch.arange(4))
    logits = (state @ params["item"].T).expand(2, 4)
    assert float(whole) == pytest.approx(float(torch.nn.functional.cross_entropy(logits, target)), rel=1e-6)


@pytest.mark.parametrize("name", [n for n in small_network() if not n.endswith("2_weight")])
def test_gradient_by_finite_differences(name: str) -> None:
    network, drawn = small_network(), torch.tensor([5, 0, 2])

    def loss() -> torch.Tensor:
        state = sasrec_network.states(network, SHAPE, HISTORY[:, :-1])[0]
        return sasrec_network.cross_entropy(network, state, HISTORY[0, 1:], drawn)

    check_gradient(loss, network[name])


def test_dropout_keeps_the_mean_and_hides_its_share() -> None:
    n = 40_000
    found = sasrec_network._dropped(torch.ones(n), 0.3, torch.Generator().manual_seed(1))
    assert sorted(set(found.tolist())) == pytest.approx([0, 1 / 0.7])
    assert abs(float((found == 0).double().mean()) - 0.3) < 4 * math.sqrt(0.3 * 0.7 / n)
    assert torch.equal(sasrec_network._dropped(torch.ones(n), 0.3, None), torch.ones(n))


def test_drawn_items_are_different_and_all_where_there_are_no_more() -> None:
    generator = torch.Generator().manual_seed(3)
    assert len(set(sasrec_network.draw_items(10, 6, generator).tolist())) == 6
    assert sorted(sasrec_network.draw_items(4, 9, generator).tolist()) == [0, 1, 2, 3]
