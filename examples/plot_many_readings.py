"""
Many readings through inducing inputs
=====================================

Twenty thousand readings of a temperature field, taken from the air. In the east the instrument reads too
high now and then. An exact process would factorise a matrix of 20 000 rows at each of its steps; with
inducing inputs the cost grows with the number of readings, not with its cube.
"""

# %%
# The field is known here, so that the error is. Faults get more frequent to the east.

import matplotlib.pyplot as plt
import numpy as np

from sturdygp import RobustGPRegressor, StandardGPRegressor
from sturdygp.metrics import rmse


def field(X):
    """Temperature at places given by kilometres to the east and to the north."""
    east, north = X.T
    warm = 2.0 * np.exp(-((east - 6.0) ** 2 + (north - 3.0) ** 2) / 1.5)
    return 20.0 + 3.0 * np.sin(1.2 * east) * np.cos(0.9 * north) + warm


rng = np.random.default_rng(0)
X = rng.uniform(0.0, 8.0, (20_000, 2))
y = field(X) + 0.4 * rng.standard_normal(len(X))
faulty = rng.random(len(X)) < 0.3 / (1.0 + np.exp(4.0 - X[:, 0]))
y[faulty] += rng.uniform(2.0, 10.0, faulty.sum())

# %%
# ``inducing=100`` sees the function through a hundred of the inputs. They are chosen by where they are
# alone, so that faults have no say in it.

ordinary = StandardGPRegressor(inducing=100).fit(X, y)
robust = RobustGPRegressor(inducing=100).fit(X, y)
print(robust.summary())

# %%
# The ordinary process takes the mean of good and bad readings for the field. The robust one finds the
# faults although their rate changes from place to place, which it does not know.

axis = np.linspace(0.0, 8.0, 60)
grid = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
flagged = robust.outlier_proba_ > 0.5
print(f"RMSE: ordinary {rmse(field(grid), ordinary.predict(grid)):.3f}", end=", ")
print(f"robust {rmse(field(grid), robust.predict(grid)):.3f}")
print(f"faults found {np.mean(flagged[faulty]):.1%}", end=", ")
print(f"false alarms {np.mean(~faulty[flagged]):.1%} of all flags")

# %%
fig, axes = plt.subplots(2, 2, figsize=(8, 7.2), sharex=True, sharey=True, layout="constrained")
maps = {
    "truth": field(grid),
    "readings": None,
    "ordinary": ordinary.predict(grid),
    "robust": robust.predict(grid),
}
for ax, (name, values) in zip(axes.flat, maps.items(), strict=True):
    if values is None:
        shown = ax.scatter(*X.T, c=y, s=1, vmin=16, vmax=26, cmap="viridis", rasterized=True)
    else:
        shown = ax.pcolormesh(axis, axis, values.reshape(60, 60), vmin=16, vmax=26, cmap="viridis")
    ax.set(title=name, aspect="equal")
fig.supxlabel("km east")
fig.supylabel("km north")
fig.colorbar(shown, ax=axes, label="temperature", shrink=0.6)
plt.show()

# %%
# How many inducing inputs are enough? More of them bring the bound on the evidence closer to that of the
# exact process. Once it stops rising, more are wasted.

few = RobustGPRegressor(inducing=25).fit(X, y)
for model in (few, robust):
    print(f"{model.inducing} inducing inputs: bound {model.bound_:.0f}", end=", ")
    print(f"RMSE {rmse(field(grid), model.predict(grid)):.3f}")
