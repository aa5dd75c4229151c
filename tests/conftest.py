"""What holds for every test: property tests are judged by what they find, not by how busy the machine is."""

import os

from hypothesis import HealthCheck, settings

settings.register_profile(
    "calm",
    deadline=None,
    # The same examples for everybody where a change is judged; new ones each time on the machines of those who make it.
    derandomize=bool(os.environ.get("CI")),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.large_base_example],
)
settings.load_profile("calm")
