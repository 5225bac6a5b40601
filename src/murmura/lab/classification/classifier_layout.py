"""The shape of a convolutional classifier: which parameters it has, without torch."""

from __future__ import annotations

import math
from typing import NamedTuple

from murmura.core.errors import SettingError
from murmura.core.interactions import Classification

POOL = 2  # every convolution is followed by the maximum over squares of this side


class Layer(NamedTuple):
    """The parameters of one layer: a kernel and a bias per unit."""

    name: str
    units: int
    inputs: tuple[int, ...]  # the shape of one unit's kernel

    @property
    def fan_in(self) -> int:
        """How many numbers one unit adds up."""
        return math.prod(self.inputs)

    @property
    def fan_out(self) -> int:
        """How many numbers one input takes part in."""
        return self.units * math.prod(self.inputs[1:])


class ClassifierLayout(NamedTuple):
    """Convolutions with the same padding and max pooling, a dense layer with ReLU, and the output.

    Two classes have one output, the logit of the second; more have one each.
    """

    task: Classification
    filters: tuple[int, ...]
    size: int  # of a filter, in both directions
    hidden: int  # 0: the output follows at once
    relu: bool  # whether convolutions end in ReLU, too

    @property
    def image(self) -> tuple[int, int, int]:
        """Height, width and channels of an input; without convolutions any shape will do."""
        shape = self.task.shape
        if len(shape) == 2:
            return (*shape, 1)
        if len(shape) == 3:
            return shape[0], shape[1], shape[2]
        raise SettingError(
            f"filters are for images of two or three dimensions, but a sample here has the shape {shape}; "
            "set filters to ()."
        )

    @property
    def layers(self) -> tuple[Layer, ...]:
        """Every layer with parameters, from the input on."""
        found, width = [], math.prod(self.task.shape)
        if self.filters:
            height, breadth, channels = self.image
            for number, units in enumerate(self.filters, 1):
                found.append(Layer(f"conv{number}", units, (channels, self.size, self.size)))
                height, breadth, channels = height // POOL, breadth // POOL, units
            width = height * breadth * channels
            if not width:
                raise SettingError(
                    f"each filter halves an image, but {len(self.filters)} of them leave nothing of "
                    f"{self.task.shape}; take fewer filters."
                )
        if self.hidden:
            found.append(Layer("hidden", self.hidden, (width,)))
            width = self.hidden
        outputs = 1 if self.task.classes == 2 else self.task.classes
        return (*found, Layer("output", outputs, (width,)))

    @property
    def parameters(self) -> int:
        """How many numbers the network learns."""
        return sum(layer.units * (layer.fan_in + 1) for layer in self.layers)
