"""Slow, plain twins of the networks: lists and loops, one user at a time."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

Arrays = dict[str, NDArray[Any]]


def plain_negative_elbo(
    net: Arrays, histories: list[list[int]], kept: list[list[float]], epsilon: NDArray[Any], beta: float
) -> float:
    total = 0.0
    for history, keep, noise in zip(histories, kept, epsilon):
        mean, log_variance = plain_code(net, history, keep)
        z = mean + noise * np.exp(log_variance / 2)
        logits = plain_decode(net, z)
        log_sum = math.log(sum(math.exp(x) for x in logits))
        total -= sum(logits[i] - log_sum for i in history)
        total += beta * sum(
            0.5 * (m * m + math.exp(v) - 1 - v) for m, v in zip(mean.tolist(), log_variance.tolist())
        )
    return total / len(histories)


def plain_code(net: Arrays, history: list[int], keep: list[float]) -> tuple[NDArray[Any], NDArray[Any]]:
    x = np.zeros(len(net["input_weight"]))
    for item, factor in zip(history, keep):
        x[item] = factor / math.sqrt(len(history))
    hidden = np.tanh(x @ net["input_weight"] + net["input_bias"])
    code = hidden @ net["code_weight"] + net["code_bias"]
    return code[: len(code) // 2], code[len(code) // 2 :]


def plain_decode(net: Arrays, z: NDArray[Any]) -> list[float]:
    hidden = np.tanh(z @ net["decoder_weight"] + net["decoder_bias"])
    logits: list[float] = (hidden @ net["output_weight"] + net["output_bias"]).tolist()
    return logits


def plain_neumf(net: Arrays, user: int, item: int) -> float:
    gmf = net["user_gmf"][user] * net["item_gmf"][item]
    mlp = np.concatenate([net["user_mlp"][user], net["item_mlp"][item]])
    for n in range(1, 100):
        if f"tower{n}_weight" not in net:
            break
        mlp = np.maximum(mlp @ net[f"tower{n}_weight"] + net[f"tower{n}_bias"], 0)
    return float(np.concatenate([gmf, mlp]) @ net["output_weight"][:, 0] + net["output_bias"][0])
