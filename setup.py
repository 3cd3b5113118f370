"""Ships `conf/` as the package `rlg.conf`: a mapping that pyproject.toml can't find by itself.

`conf/experiment` is a link to `experiments/`, so these ship as the group `experiment`.
"""

from setuptools import find_packages, setup

setup(
    packages=[*find_packages(include=["rlg", "rlg.*"]), "rlg.conf"],
    package_dir={"rlg.conf": "conf"},
    package_data={
        "rlg.conf": ["**/*.yaml"],
        "rlg.graph.drawing": ["page/*"],
    },
)
