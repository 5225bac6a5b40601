"""Liang, Krishnan, Hoffman, Jebara: Variational autoencoders for collaborative filtering (WWW 2018).

Mult-VAE^PR, the one with a partially weighted KL term:

    h = tanh(W_in x / |x| + b)          x: what the user has, 0 or 1 per item; entries are dropped in training
    mu, log sigma^2 = W_code h + b      z ~ N(mu, sigma^2), in training only
    pi = softmax(W_out tanh(W_dec z + b) + b)
    loss = - sum_i x_i log pi_i + beta KL(N(mu, sigma^2) | N(0, 1)),  beta climbs from 0 to its cap

Both terms are sums over their dimensions and means over users; L2 is added by the training loop.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

from murmura.lab.neural.histories import Histories
from murmura.lab.neural.training_loop import Arrays, Fit, Params, one_thread_generator, optimise

BIAS = 0.001  # standard deviation of a new bias, as in the authors' code


class Noise(NamedTuple):
    """What keeps the network from copying its input."""

    dropout: float  # the share of a user's items that is hidden from the encoder
    anneal_cap: float  # beta at the end of its climb
    anneal_epochs: int  # how long it climbs

    def beta(self, epoch: float) -> float:
        """The weight of the KL term after so many epochs."""
        climbed = 1.0 if epoch >= self.anneal_epochs else epoch / self.anneal_epochs
        return self.anneal_cap * climbed


class Bags(NamedTuple):
    """The items of a batch of users, one after the other."""

    start: Tensor  # (users,) where each user's items begin
    row: Tensor  # (entries,)
    item: Tensor  # (entries,)
    size: Tensor  # (users,)


def initial(n_items: int, topology: tuple[int, int, int], generator: torch.Generator) -> Params:
    """Glorot's normal for the weights, nearly zero for the biases; the encoder ends in mu and log sigma^2."""
    encoder, latent, decoder = topology
    shapes = {
        "input": (n_items, encoder),
        "code": (encoder, 2 * latent),
        "decoder": (latent, decoder),
        "output": (decoder, n_items),
    }
    params: Params = {}
    for name, (a, b) in shapes.items():
        params[f"{name}_weight"] = torch.randn(a, b, generator=generator) * (2 / (a + b)) ** 0.5
        params[f"{name}_bias"] = torch.randn(b, generator=generator) * BIAS
    return {name: p.requires_grad_() for name, p in params.items()}


def bags(start: Tensor, index: Tensor, users: Tensor) -> Bags:
    """The items of some users, out of the histories of all."""
    size = start[users + 1] - start[users]
    begins = torch.cumsum(size, 0) - size
    row = torch.repeat_interleave(size)
    place = torch.arange(len(row)) - begins[row] + start[users][row]
    return Bags(begins, row, index[place], size)


def encode(params: Params, batch: Bags, kept: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """mu and log sigma^2; `kept` weighs each entry: 0 where it is dropped, 1 / (1 - dropout) elsewhere."""
    weight = batch.size[batch.row].to(params["input_weight"].dtype).rsqrt()
    weight = weight if kept is None else weight * kept
    summed = functional.embedding_bag(
        batch.item, params["input_weight"], batch.start, mode="sum", per_sample_weights=weight
    )
    hidden = torch.tanh(summed + params["input_bias"])
    mean, log_variance = (hidden @ params["code_weight"] + params["code_bias"]).chunk(2, dim=1)
    return mean, log_variance


def decode(params: Params, z: Tensor) -> Tensor:
    """The logits of all items: (users, items)."""
    hidden = torch.tanh(z @ params["decoder_weight"] + params["decoder_bias"])
    return hidden @ params["output_weight"] + params["output_bias"]


def multinomial_loss(logits: Tensor, batch: Bags) -> Tensor:
    """- sum_i x_i log softmax(logits)_i, the mean over users."""
    return -functional.log_softmax(logits, 1)[batch.row, batch.item].sum() / len(batch.size)


def kl_divergence(mean: Tensor, log_variance: Tensor) -> Tensor:
    """KL(N(mu, sigma^2) | N(0, 1)), summed over the latent dimensions, the mean over users."""
    return 0.5 * (mean**2 + log_variance.exp() - 1 - log_variance).sum(1).mean()


def negative_elbo(params: Params, batch: Bags, kept: Tensor | None, epsilon: Tensor, beta: float) -> Tensor:
    """The loss of a batch for given noise: which entries were kept, and z = mu + epsilon sigma."""
    mean, log_variance = encode(params, batch, kept)
    logits = decode(params, mean + epsilon * torch.exp(0.5 * log_variance))
    return multinomial_loss(logits, batch) + beta * kl_divergence(mean, log_variance)


def train(histories: Histories, topology: tuple[int, int, int], noise: Noise, fit: Fit) -> Arrays:
    """Fit to the users who have items; the parameters, by name."""
    start, index = torch.from_numpy(histories.start.copy()), torch.from_numpy(histories.column.copy())
    users = torch.nonzero(start[1:] > start[:-1]).flatten()
    with one_thread_generator(fit.seed) as generator:
        params = initial(len(histories.item), topology, generator)

        def loss(chosen: Tensor, epoch: float) -> Tensor:
            batch = bags(start, index, users[chosen])
            drawn = torch.rand(len(batch.item), generator=generator)
            kept = (drawn >= noise.dropout) / (1 - noise.dropout)
            epsilon = torch.randn(len(chosen), topology[1], generator=generator)
            return negative_elbo(params, batch, kept, epsilon, noise.beta(epoch))

        return optimise(params, loss, len(users), fit, generator)
