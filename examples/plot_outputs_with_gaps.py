"""
Several outputs with gaps
=========================

A weather station measures temperature, humidity and wind. Each instrument has gaps of its own (NaN) and
faults of its own. One call fits all three: a missing entry concerns only its own output, and each output
learns its own noise and its own contamination.
"""

# %%
# Four days, a reading an hour. The thermometer has spikes, the hygrometer often reads far too low, the wind
# gauge works.

import matplotlib.pyplot as plt
import numpy as np

from sturdygp import RobustGPRegressor
from sturdygp.metrics import coverage, rmse
from sturdygp.plot import plot_fit

rng = np.random.default_rng(0)
names = ("temperature", "humidity", "wind")
hours = np.arange(0.0, 96.0)[:, None]
day = 2 * np.pi * hours[:, 0] / 24.0
truth = np.stack(
    [
        12.0 - 4.0 * np.cos(day) + 0.03 * hours[:, 0],
        70.0 + 15.0 * np.cos(day - 0.4),
        5.0 + 2.0 * np.sin(day / 3.0) + 1.0 * np.cos(day),
    ],
    axis=1,
)
y = truth + rng.standard_normal(truth.shape) * (0.4, 2.0, 0.5)

spikes = rng.random(len(y)) < 0.15
y[spikes, 0] += rng.normal(0.0, 12.0, spikes.sum())
wet = rng.random(len(y)) < 0.2
y[wet, 1] -= rng.uniform(15.0, 45.0, wet.sum())

# %%
# The gaps: a failure of eight hours, a dead battery, and single readings that got lost.

y[30:38, 0] = np.nan
y[60:76, 1] = np.nan
y[rng.random(len(y)) < 0.3, 2] = np.nan
print("readings at hand:", dict(zip(names, np.sum(~np.isnan(y), axis=0).tolist(), strict=True)))

# %%
# What is fitted has an entry for each output. The wind has no faults, and none are found.

model = RobustGPRegressor().fit(hours, y)
print("rate of faults: ", dict(zip(names, model.contamination_rate_.round(2).tolist(), strict=True)))
print("noise, std:     ", dict(zip(names, np.sqrt(model.noise_variance_).round(2).tolist(), strict=True)))
print(model.summary())

# %%
# Predictions are there for every hour and every output, also where nothing was measured. Intervals widen in
# the gaps.

mean, std = model.predict(hours, return_std=True)
for index, name in enumerate(names):
    true, found, doubt = truth[:, index], mean[:, index], std[:, index]
    print(f"{name}: RMSE {rmse(true, found):.2f}", end=", ")
    print(f"95 % intervals hold {coverage(true, found, doubt):.0%} of the truth")

# %%
fig, axes = plt.subplots(3, 1, figsize=(8, 8), sharex=True, layout="constrained")
for index, (ax, name) in enumerate(zip(axes, names, strict=True)):
    plot_fit(model, hours, y, output=index, ax=ax)
    ax.plot(hours, truth[:, index], color="black", lw=1, ls="--", label="truth")
    ax.set(xlabel="", ylabel=name)
    ax.legend(loc="upper left", ncols=4, fontsize="small")
axes[-1].set_xlabel("hour")
plt.show()

# %%
# Outputs are fitted one by one: one does not fill the gaps of another. Probabilities of missing readings
# are missing too.

print("NaN where y is NaN:", np.array_equal(np.isnan(model.outlier_proba_), np.isnan(y)))
