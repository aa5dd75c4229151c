"""What tests are built from: each suite starts its sessions, consoles and programs with these parts.

`scripted_session`: a session with all real parts, a scripted model and a scripted person. `program`: the installed
command as a host runs it. `consoles`: a console in this process. `served_console`: a console in a process of its own.
`process_sessions`: sessions of external engines. `waiting`: the deadline, and ways to wait for a condition.
"""
