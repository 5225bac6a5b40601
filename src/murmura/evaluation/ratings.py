"""How far predicted ratings are from the true ones."""

from __future__ import annotations

import numpy as np

from murmura.core.arrays import Floats, Ints
from murmura.core.errors import DataError
from murmura.evaluation.measure import Evaluation


def rating_errors(predicted: Floats, actual: Floats, user: Ints | None = None) -> Evaluation:
    """RMSE, MSE and MAE of all rows, and with `user` (a code per row) of each user and averaged over users.

    MSE = mean of (predicted - actual)^2, RMSE its square root, MAE = mean of |predicted - actual|. RMSE, MSE
    and MAE are over rows; RMSEu, MSEu and MAEu are the means of the users' own values. A group code in place of
    a user code gives the means over groups of the FedSPLIT tables.
    """
    predicted, actual = np.asarray(predicted, np.float64), np.asarray(actual, np.float64)
    _check(predicted, actual, user)
    error = predicted - actual
    square, size = error**2, np.abs(error)
    mse_all, mae_all = float(square.mean()), float(size.mean())
    values = {"RMSE": mse_all**0.5, "MSE": mse_all, "MAE": mae_all}
    if user is None:
        return Evaluation(values, {}, np.empty(0, np.int32))
    users, owner = np.unique(user, return_inverse=True)
    rows = np.bincount(owner)
    mse, mae = np.bincount(owner, square) / rows, np.bincount(owner, size) / rows
    per_user = {"RMSE": np.sqrt(mse), "MSE": mse, "MAE": mae}
    values |= {f"{key}u": float(column.mean()) for key, column in per_user.items()}
    return Evaluation(values, per_user, users.astype(np.int32))


def _check(predicted: Floats, actual: Floats, user: Ints | None) -> None:
    lengths = {len(column) for column in (predicted, actual, user) if column is not None}
    if lengths == {0} or len(lengths) != 1:
        raise DataError(
            f"predicted, actual and user must be equally long and not empty, but have {sorted(lengths)} rows."
        )
    if not (np.isfinite(predicted).all() and np.isfinite(actual).all()):
        raise DataError(
            "predicted and actual ratings must be finite numbers, but some are not; predict every row."
        )
