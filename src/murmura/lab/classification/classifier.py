"""A convolutional classifier on one client: gradient descent from the model received, and its answers."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from murmura.core.arrays import Ints, Longs
from murmura.lab.classification.classifier_layout import POOL, ClassifierLayout
from murmura.lab.neural.training_loop import Params, one_thread

Arrays = Mapping[str, NDArray[Any]]
AT_ONCE = 250  # samples answered together: their activations stay near the processor


def descend(
    layout: ClassifierLayout,
    model: Arrays,
    inputs: NDArray[Any],
    label: Ints,
    batches: Iterable[Longs],
    learning_rate: float,
) -> dict[str, NDArray[Any]]:
    """The parameters after one step of gradient descent of the mean cross-entropy for each batch of samples."""
    with one_thread():
        params = {name: p.requires_grad_() for name, p in _tensors(layout, model).items()}
        shown, wanted = _images(layout, inputs), torch.from_numpy(label.astype(np.int64))
        whole = len(label)
        for batch in batches:
            some = slice(None) if len(batch) == whole else torch.from_numpy(batch)
            value = loss(layout, params, shown[some], wanted[some])
            gradients = torch.autograd.grad(value, list(params.values()))
            with torch.no_grad():
                for p, gradient in zip(params.values(), gradients):
                    p.sub_(gradient, alpha=learning_rate)
        return {name: p.detach().reshape(model[name].shape).numpy() for name, p in params.items()}


def answer(layout: ClassifierLayout, model: Arrays, inputs: NDArray[Any]) -> Ints:
    """The most likely label of each sample, of equal ones the lower."""
    labels = np.empty(len(inputs), np.int32)
    with one_thread(), torch.inference_mode():
        params = _tensors(layout, model)
        for first in range(0, len(inputs), AT_ONCE):
            some = slice(first, first + AT_ONCE)
            found = logits(layout, params, _images(layout, inputs[some]))
            best = (found[:, 0] > 0) if found.shape[1] == 1 else found.argmax(dim=1)
            labels[some] = best.numpy()
    return labels


def logits(layout: ClassifierLayout, params: Params, shown: Tensor) -> Tensor:
    """The outputs before the softmax: (samples, outputs)."""
    flow = shown
    for number in range(1, len(layout.filters) + 1):
        kernel, bias = params[f"conv{number}_kernel"], params[f"conv{number}_bias"]
        flow = functional.conv2d(flow, kernel, bias, padding="same")
        flow = functional.max_pool2d(torch.relu(flow) if layout.relu else flow, POOL)
    flow = flow.permute(0, 2, 3, 1).flatten(1) if layout.filters else flow
    if layout.hidden:
        flow = torch.relu(functional.linear(flow, params["hidden_kernel"], params["hidden_bias"]))
    return functional.linear(flow, params["output_kernel"], params["output_bias"])


def loss(layout: ClassifierLayout, params: Params, shown: Tensor, label: Tensor) -> Tensor:
    """The mean cross-entropy; of two classes that of the one output."""
    found = logits(layout, params, shown)
    if found.shape[1] == 1:
        return functional.binary_cross_entropy_with_logits(found[:, 0], label.to(found.dtype))
    return functional.cross_entropy(found, label)


def _tensors(layout: ClassifierLayout, model: Arrays) -> Params:
    """A copy of the parameters as torch takes them; filters with the channels last, which halves the time."""
    params = {}
    for layer in layout.layers:
        kernel = torch.from_numpy(model[f"{layer.name}_kernel"].copy()).reshape(layer.units, *layer.inputs)
        images = kernel.dim() == 4
        params[f"{layer.name}_kernel"] = (
            kernel.contiguous(memory_format=torch.channels_last) if images else kernel
        )
        params[f"{layer.name}_bias"] = torch.from_numpy(model[f"{layer.name}_bias"].copy()).reshape(layer.units)
    return params


def _images(layout: ClassifierLayout, inputs: NDArray[Any]) -> Tensor:
    """Inputs from 0 to 1; images as (samples, channels, height, width) with the channels last in memory."""
    numbers = torch.from_numpy(inputs.astype(np.float32))
    if inputs.dtype == np.uint8:
        numbers /= 255
    if not layout.filters:
        return numbers.reshape(len(inputs), math.prod(layout.task.shape))
    return numbers.reshape(len(inputs), *layout.image).permute(0, 3, 1, 2)
