"""The wall around shell commands: what they may write, see and reach, enforced by the operating system."""
