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


def plain_sasrec(net: Arrays, heads: int, items: list[int]) -> list[list[float]]:
    """The state after each item of one history, place by place and head by head."""
    d = net["item"].shape[1]
    x = [math.sqrt(d) * net["item"][item] + net["place"][at] for at, item in enumerate(items)]
    blocks, width = sum(name.startswith("query") for name in net), d // heads
    for n in range(1, blocks + 1):
        normed = [plain_norm(net, f"attend{n}", one) for one in x]
        seen = []
        for at in range(len(x)):
            gathered = []
            for head in range(heads):
                part = slice(head * width, (head + 1) * width)
                query = (normed[at] @ net[f"query{n}_weight"])[part]
                keys = [(one @ net[f"key{n}_weight"])[part] for one in normed[: at + 1]]
                values = [(one @ net[f"value{n}_weight"])[part] for one in normed[: at + 1]]
                weight = [math.exp(float(query @ key) / math.sqrt(width)) for key in keys]
                gathered.append(sum(w * v for w, v in zip(weight, values)) / sum(weight))
            seen.append(np.concatenate(gathered))
        x = [one + more for one, more in zip(x, seen)]
        for at, one in enumerate(x):
            inner = plain_norm(net, f"feed{n}", one) @ net[f"inner{n}_weight"] + net[f"inner{n}_bias"]
            x[at] = one + np.maximum(inner, 0) @ net[f"outer{n}_weight"] + net[f"outer{n}_bias"]
    return [plain_norm(net, "last", one).tolist() for one in x]


def plain_norm(net: Arrays, name: str, x: NDArray[Any]) -> NDArray[Any]:
    scaled = (x - x.mean()) / math.sqrt(float(((x - x.mean()) ** 2).mean()) + 1e-5)
    found: NDArray[Any] = scaled * net[f"{name}_scale"] + net[f"{name}_shift"]
    return found
