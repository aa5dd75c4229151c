"""What tests are built from: each suite starts its sessions, consoles and programs with these parts.

`scripted_session`: a session with all real parts, a scripted model and a scripted person. `installed_command`: the
command as a user runs it; `program`: as a host drives it. `consoles`: a console in this process. `served_console`: a
console in a process of its own. `process_sessions`: sessions of external engines. `waiting`: the deadline, and ways to
wait for a condition.
"""
