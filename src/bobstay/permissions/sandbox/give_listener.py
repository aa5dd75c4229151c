"""Opens a port inside a sandbox, sends the listening socket to the process outside, then executes the command.

Run as a script by a bare interpreter: it imports nothing of bobstay. A socket belongs to the network namespace it was
created in, whichever process holds it: the proxy outside answers on a port that only this sandbox can reach, without
a socket file or another process inside.

    give_listener.py CHANNEL PORT PROGRAM ARGUMENTS
"""

import _socket as socket  # imports in a quarter of the time of `socket`
import array
import os
import sys


def main(arguments: list[str]) -> None:
    channel = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM, 0, int(arguments[0]))
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, 0)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("127.0.0.1", int(arguments[1])))
    listener.listen(128)
    channel.sendmsg([b"."], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [listener.fileno()]).tobytes())])
    channel.close()
    listener.close()
    os.execv(arguments[2], arguments[2:])  # noqa: S606 - it replaces itself by the command


if __name__ == "__main__":
    main(sys.argv[1:])
