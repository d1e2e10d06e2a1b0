"""Numbers that others have published, to stand beside ours."""

from __future__ import annotations

# Median seconds of a fit by number of readings: the paper's table I (MATLAB R2026a, Ryzen 9 9950X).
SIZES = (200.0, 400.0, 600.0, 800.0, 1000.0)
SECONDS: dict[str, dict[float, float]] = {
    method: dict(zip(SIZES, seconds, strict=True))
    for method, seconds in {
        "oracle": (0.10, 0.70, 1.99, 4.37, 6.76),
        "standard": (0.19, 1.46, 4.24, 9.43, 15.05),
        "rcgp": (0.50, 4.74, 15.58, 36.45, 62.73),
        "student-t": (3.25, 16.23, 41.39, 80.75, 123.53),
        "asor": (24.60, 31.13, 85.52, 212.41, 335.96),
        "mixture": (31.96, 151.23, 376.66, 644.76, 963.38),
    }.items()
}
# The paper has one ASOR-GPR; we have three ways to fit it.
PAPER_NAME = {"asor-single": "asor", "asor-gem": "asor"}

# Mean absolute errors of the benchmark of the field without faults and with uniform, asymmetric and focused
# ones: Altamirano, Briol and Knoblauch (2024); relevance pursuit: Ament et al. (2024).
MAE: dict[str, dict[str, tuple[float, float, float, float]]] = {
    "gp-sample": {
        "Standard GP": (0.088, 0.345, 1.11, 0.189),
        "Student-t VI": (0.088, 0.293, 1.02, 0.192),
        "RCGP": (0.088, 0.215, 0.772, 0.164),
        "Relevance pursuit": (0.089, 0.090, 0.271, 0.200),
    },
    "energy-heating": {
        "Standard GP": (0.030, 0.267, 0.603, 0.088),
        "Student-t VI": (0.034, 0.273, 0.474, 0.032),
        "RCGP": (0.024, 0.305, 0.408, 0.029),
        "Relevance pursuit": (0.030, 0.031, 0.031, 0.030),
    },
    "yacht": {
        "Standard GP": (0.017, 0.323, 0.590, 0.242),
        "Student-t VI": (0.020, 0.229, 0.458, 0.110),
        "RCGP": (0.022, 0.418, 0.432, 0.019),
        "Relevance pursuit": (0.014, 0.012, 0.027, 0.016),
    },
}


def paper_seconds(method: str, n: float) -> float | None:
    """Seconds that the paper gives for a method, if it does."""
    return SECONDS.get(PAPER_NAME.get(method, method), {}).get(n)
