"""
A sensor with stuck readings
============================

A thermometer repeats its last value for hours, and now and then reports zero. Single wrong values are found
by :class:`~sturdygp.RobustGPRegressor` as it is. A stuck sensor is harder: its readings follow a smooth
curve of their own, a flat line, and are wrong only to someone who knows how temperatures go. A kernel can
know that.
"""

# %%
# Five days, a reading every half hour. The sensor is stuck three times, and one reading in twenty is lost
# and reported as zero.

import matplotlib.pyplot as plt
import numpy as np

from sturdygp import RobustGPRegressor, StandardGPRegressor
from sturdygp.kernels import Periodic, SquaredExponential
from sturdygp.metrics import rmse
from sturdygp.plot import plot_fit, plot_outliers

rng = np.random.default_rng(2)
hours = np.arange(0.0, 120.0, 0.5)[:, None]
truth = 18.0 + 5.0 * np.sin(2 * np.pi * (hours[:, 0] - 9.0) / 24.0) + 1.5 * np.sin(hours[:, 0] / 15.0)
readings = truth + 0.3 * rng.standard_normal(len(hours))

stuck = np.zeros(len(hours), dtype=bool)
for start, stop in ((54, 66), (124, 140), (200, 210)):
    readings[start:stop] = readings[start - 1]
    stuck[start:stop] = True
lost = rng.random(len(hours)) < 0.05
readings[lost] = 0.0

# %%
# Three models. The first knows nothing of faults. The second learns how the data are contaminated, with the
# default kernel, which allows any smooth curve. The third also knows that a day has 24 hours: its kernel is
# a rhythm plus a drift that takes half a day or longer to change.

rhythm = Periodic(period=24.0, variance=10.0, period_bounds="fixed")
drift = SquaredExponential(length_scale=48.0, variance=2.0, length_scale_bounds=(12.0, 1000.0))
models = {
    "ordinary, kernel of a day": StandardGPRegressor(kernel=rhythm + drift),
    "robust, default kernel": RobustGPRegressor(),
    "robust, kernel of a day": RobustGPRegressor(kernel=rhythm + drift),
}
for name, model in models.items():
    model.fit(hours, readings)
    print(f"{name}: RMSE {rmse(truth, model.predict(hours)):.2f}")

# %%
# The ordinary model is pulled to zero by the lost readings and to the flat lines by the stuck ones. The
# robust one with the default kernel drops the lost readings, but follows parts of the flat lines. With a
# kernel that knows the day it recovers the temperature.

fig, axes = plt.subplots(3, 1, figsize=(8, 8), sharex=True, layout="constrained")
for ax, (name, model) in zip(axes, models.items(), strict=True):
    plot_fit(model, hours, readings, ax=ax)
    ax.plot(hours, truth, color="black", lw=1, ls="--", label="truth")
    for start, stop in ((54, 66), (124, 140), (200, 210)):
        ax.axvspan(hours[start, 0], hours[stop, 0], color="tab:orange", alpha=0.15, lw=0)
    ax.get_legend().remove()
    ax.set(title=name, xlabel="", ylabel="temperature", ylim=(-2, 28))
axes[-1].set_xlabel("hour; the sensor is stuck where the background is orange")
handles, labels = axes[-1].get_legend_handles_labels()
fig.legend(handles, labels, loc="outside lower center", ncols=4, frameon=False)
plt.show()

# %%
# How many of the faults were found? A stuck reading that happens to be close to the truth does no harm, and
# no method can tell it. Those that are off by more than a degree can be told:

model = models["robust, kernel of a day"]
flagged = model.outlier_proba_ > 0.5
harmful = stuck & (np.abs(readings - truth) > 1.0)
print(f"lost readings flagged: {np.sum(flagged & lost)} of {np.sum(lost)}")
print(f"stuck readings off by more than a degree flagged: {np.sum(flagged & harmful)} of {np.sum(harmful)}")
print(f"good readings flagged: {np.sum(flagged & ~lost & ~stuck)} of {np.sum(~lost & ~stuck)}")
print(model.summary())

# %%
fig, ax = plt.subplots(figsize=(8, 2.6), layout="constrained")
plot_outliers(model, hours, ax=ax)
ax.set_xlabel("hour")
plt.show()
