"""Register of the data files: sizes, checksums, licences, citations and sources."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

UCI = "https://archive.ics.uci.edu/static/public"
GITHUB = "https://raw.githubusercontent.com"

CC_BY = "Creative Commons Attribution 4.0 International, https://creativecommons.org/licenses/by/4.0/"
NAB_LICENCE = "MIT, copyright 2014-2024 Numenta Inc."
NAB_CITATION = (
    "S. Ahmad, A. Lavin, S. Purdy, Z. Agha, Unsupervised real-time anomaly detection for streaming data, "
    "Neurocomputing 262, 2017, 134-147 (Numenta Anomaly Benchmark)."
)
# The address names a commit: at others the same path has other rows.
NAB_ADDRESS = f"{GITHUB}/numenta/NAB/{{commit}}/data/realKnownCause/{{name}}.csv"
FBM_LICENCE = (
    "Copyright (c) 1995-2022 by Radford M. Neal. Free to copy, use, modify and distribute for any purpose "
    "provided this notice is retained; without any warranty. The original programs are available from "
    "https://glizen.com/radfordneal."
)
FBM_CITATION = (
    "R. M. Neal, Monte Carlo implementation of Gaussian process models for Bayesian regression and "
    "classification, Technical Report 9702, University of Toronto, 1997 (file odata of the software for "
    "flexible Bayesian modeling, FBM)."
)


@dataclass(frozen=True)
class DataFile:
    """Data file with its licence and its source.

    ``url`` is the address of the file, or of a zip archive that holds it as ``member``; None if no address is
    known to have exactly this file. With ``any_spacing`` the checksum is that of the words of the file,
    separated by single blanks, because copies of it differ in blanks and line ends.
    """

    name: str
    size: int
    sha256: str
    licence: str
    citation: str
    url: str | None = None
    member: str | None = None
    any_spacing: bool = False

    def checksum(self, data: bytes) -> str:
        """Compute the sha256 of contents, to be compared with ``sha256``."""
        return hashlib.sha256(b" ".join(data.split()) if self.any_spacing else data).hexdigest()


FILES = {
    file.name: file
    for file in (
        DataFile(
            name="AirQualityUCI.csv",
            size=785065,
            sha256="13277ae5d8581e80b7be09d47c7d3d06fe9b8e957078f2cf6e859f955e62f996",
            licence=CC_BY,
            citation="S. De Vito, Air Quality [Dataset], UCI Machine Learning Repository, 2008, "
            "https://doi.org/10.24432/C59K5F; S. De Vito et al., Sensors and Actuators B 129(2), 2008, "
            "750-757.",
            url=f"{UCI}/360/air+quality.zip",
            member="AirQualityUCI.csv",
        ),
        DataFile(
            name="ENB2012_data.xlsx",
            size=76189,
            sha256="0089fcffc1415e41e2ff63730cca5280efe54fc43d722dfde1b0aaa808e35dc4",
            licence=CC_BY,
            citation="A. Tsanas, A. Xifara, Energy Efficiency [Dataset], UCI Machine Learning Repository, "
            "2012, https://doi.org/10.24432/C51307; A. Tsanas, A. Xifara, Energy and Buildings 49, 2012, "
            "560-567.",
            url=f"{UCI}/242/energy+efficiency.zip",
            member="ENB2012_data.xlsx",
        ),
        DataFile(
            name="yacht_hydrodynamics.data",
            size=11487,
            sha256="d3152ef79599e1669e2210c558a3e764e4126e857f2d67f9cd7b1e315e8b639a",
            licence=CC_BY,
            citation="J. Gerritsma, R. Onnink, A. Versluis, Yacht Hydrodynamics [Dataset], UCI Machine "
            "Learning Repository, 1981, https://doi.org/10.24432/C5XG7R.",
            url=f"{UCI}/243/yacht+hydrodynamics.zip",
            member="yacht_hydrodynamics.data",
            any_spacing=True,
        ),
        DataFile(
            name="neal_odata.txt",
            size=23100,
            sha256="0bbfd8c97c6497c4551272e7543355e3c7969ba68648af1f77eb5a91e78b4548",
            licence=FBM_LICENCE,
            citation=FBM_CITATION,
            # A later commit keeps the first 200 rows only.
            url=f"{GITHUB}/radfordneal/fbm/a03ca86b5a4aefa3ab7c75d81abe94f020c2b53a/ex-netgp/odata",
        ),
        DataFile(
            name="neal_odata_200.txt",
            size=4200,
            sha256="5b61b4f7954ce5b976e1f3a51b4c0a329370098592d12964f853821dc5d52a45",
            licence=FBM_LICENCE,
            citation=FBM_CITATION,
        ),
        DataFile(
            name="motorcycle.csv",
            size=1324,
            sha256="1303710411a874f7fe90e588a67e3fc2f098b903b0ea96c1ab9c719dafd8d068",
            licence="BSD 3-clause, copyright 2009-2018 statsmodels developers",
            citation="B. W. Silverman, Some aspects of the spline smoothing approach to non-parametric "
            "regression curve fitting, J. R. Stat. Soc. B 47, 1985, 1-52.",
            url=f"{GITHUB}/statsmodels/statsmodels/v0.14.0/statsmodels/gam/tests/results/motorcycle.csv",
        ),
        DataFile(
            name="nab_ambient_temperature_system_failure.csv",
            size=233321,
            sha256="230b68ccca20f59d562afd5d24ad52939c9b784386bed0054018358bf9120581",
            licence=NAB_LICENCE,
            citation=NAB_CITATION,
            url=NAB_ADDRESS.format(
                commit="43733a53efc493e5e87bf57018a56e4c2fe7279c", name="ambient_temperature_system_failure"
            ),
        ),
        DataFile(
            name="nab_machine_temperature_system_failure.csv",
            size=732223,
            sha256="92bf5b87fc7f9bba8ca0b7ec63ccaac8cb4a1371a258e8c29a10ae9c018d82a4",
            licence=NAB_LICENCE,
            citation=NAB_CITATION,
            url=NAB_ADDRESS.format(
                commit="ad050ac981abfe48e7a63a8e0bb1cea8a6bbfc20", name="machine_temperature_system_failure"
            ),
        ),
        DataFile(
            name="well_log.txt",
            size=56700,
            sha256="cd2a1be7dd895e92e28f00cc522d8c2721b67208ecb6ef942547b797d6dccb7a",
            licence="MIT, copyright 2020 The Alan Turing Institute (Turing Change Point Dataset)",
            citation="J. J. K. O Ruanaidh, W. J. Fitzgerald, Numerical Bayesian Methods Applied to Signal "
            "Processing, Springer, 1996.",
            url=f"{GITHUB}/alan-turing-institute/TCPD/7c6c2e09e3ad1d41f26869cb7b9f9882175c8a6e"
            "/datasets/well_log/well_log.txt",
        ),
    )
}
