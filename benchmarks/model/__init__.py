"""A model that answers at once, in a process of its own: what is left of a run's time is the agent's."""
