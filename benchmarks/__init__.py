"""Measures bobstay beside other coding agents: `python -m benchmarks`. See docs/benchmarks.md."""
