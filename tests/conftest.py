"""What holds for every test: property tests are judged by what they find, not by how busy the machine is."""

from hypothesis import HealthCheck, settings

settings.register_profile(
    "calm",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.large_base_example],
)
settings.load_profile("calm")
