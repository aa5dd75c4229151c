"""Attacks by system calls: on kernel files, namespaces, other processes and the network."""

import os

from tests.security.probes import Probe

_CALL = """
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
def call(number, *arguments):
    result = libc.syscall(number, *(ctypes.c_long(one) if isinstance(one, int) else one for one in arguments))
    sys.exit(0 if result >= 0 else 1)
here = {"x86_64": 0, "aarch64": 1}[os.uname().machine]
"""
_SOCKET = "import os, socket, struct\n"


def _open(path: str) -> str:
    """Only opened for writing, never written: outside it would do real harm."""
    return f"import os\nos.close(os.open({path!r}, os.O_WRONLY))"


SETTINGS = (
    Probe("say what runs when a program crashes", _open("/proc/sys/kernel/core_pattern"), python=True, root_only=True),
    Probe("change a setting of the kernel", _open("/proc/sys/vm/swappiness"), python=True, root_only=True),
    *(
        Probe(f"write to {path}", _open(path), python=True, root_only=True)
        for path in ("/proc/sysrq-trigger", "/sys/power/state", "/sys/kernel/mm/transparent_hugepage/enabled")
        if os.access(path, os.W_OK)  # not every kernel has all of them
    ),
    Probe("steer interrupts", _open("/proc/irq/default_smp_affinity"), python=True, root_only=True),
    Probe("write to the kernel's log", _open("/dev/kmsg"), python=True, root_only=True),
    Probe(
        "leave a control group",
        "import glob, os\n"
        "found = [p for p in glob.glob('/sys/fs/cgroup/**/cgroup.procs', recursive=True)]\n"
        "os.close(os.open(found[0], os.O_WRONLY))",
        python=True,
        root_only=True,
    ),
    Probe("make a device", "mknod $WS/device c 1 1 && rm $WS/device", root_only=True),
    Probe("give a file to somebody else", "touch $WS/theirs && chown 12345 $WS/theirs", root_only=True),
    Probe("become somebody else", "setpriv --reuid 12345 --clear-groups true", root_only=True),
    Probe("gain rights by a program that gives them", "$SETUID", says="euid=", made_by_root=True),
)

NAMESPACES = (
    Probe("make a user namespace", "unshare --user true"),
    Probe("become root in a user namespace", "unshare --user --map-root-user sh -c 'test $(id -u) = 0'"),
    Probe("mount something", "unshare --user --map-root-user --mount mount -t tmpfs none /mnt"),
    Probe("change the root", "unshare --user --map-root-user chroot / true"),
    Probe("make another network", "unshare --user --net true"),
    Probe("build a sandbox of one's own", "bwrap --ro-bind / / --unshare-user true 2> /dev/null"),
    Probe("change the root as root", "chroot / true", root_only=True),
    Probe("enter another process's namespaces", "nsenter --target $VICTIM --mount true", root_only=True),
)

PROCESSES = (
    Probe("see the processes of others", "tr '\\0' ' ' < /proc/$VICTIM/cmdline", says="victim"),
    Probe("read the environment of others", "tr '\\0' '\\n' < /proc/$VICTIM/environ", says="secret"),
    Probe("read through another's root", "cat /proc/$VICTIM/root$HOME/.ssh/id", says="secret"),
    Probe("write through another's directory", "echo owned > /proc/$VICTIM/cwd/file", "$OUT/file"),
    Probe("signal others", "kill -0 $VICTIM"),
    Probe("live on in another session", 'setsid sh -c "$AFTER" > /dev/null 2>&1 & sleep 0.05', "$WS/late", late=True),
    Probe(
        "live on after a double fork", '(nohup sh -c "$AFTER" > /dev/null 2>&1 &) ; sleep 0.05', "$WS/late", late=True
    ),
    Probe(
        "trace a process",
        _CALL + "child = os.fork()\nif not child:\n    import time; time.sleep(5); os._exit(0)\n"
        "result = libc.syscall((101, 117)[here], 16, child, 0, 0)\nos.kill(child, 9)\nsys.exit(result < 0)",
        python=True,
    ),
    Probe(
        "read the memory of a process",
        _CALL
        + "text = ctypes.create_string_buffer(b'x' * 8)\nvector = (ctypes.c_size_t * 2)(ctypes.addressof(text), 8)\n"
        "call((310, 270)[here], os.getpid(), vector, 1, vector, 1, 0)",
        python=True,
    ),
)

CALLS = (
    Probe("keep a key with the kernel", _CALL + "call((248, 217)[here], b'user', b'probe', b'x', 1, -1)", python=True),
    Probe("use the keyring", _CALL + "call((250, 219)[here], 0, -3, 1)", python=True),
    Probe("open a ring", _CALL + "call(425, 1, ctypes.create_string_buffer(120))", python=True),
    Probe("handle page faults", _CALL + "call((323, 282)[here], 1)", python=True),
    Probe(
        "load a program into the kernel",
        _CALL + "import struct\ncall((321, 280)[here], 0, struct.pack('=IIIII', 2, 4, 4, 1, 0) + bytes(100), 72)",
        python=True,
        root_only=True,
    ),
    Probe(
        "measure the kernel",
        _CALL + "import struct\ncall((298, 241)[here], struct.pack('=IIQ', 1, 112, 0) + bytes(96), 0, -1, -1, 0)",
        python=True,
        root_only=True,
    ),
    Probe("watch all files", _CALL + "call((300, 262)[here], 0, 0)", python=True, root_only=True),
    Probe(
        "type into a terminal",
        "import fcntl, os, pty\nmaster, slave = pty.openpty()\nfcntl.ioctl(slave, 0x5412, b'x')",
        python=True,
        root_only=True,
    ),
)

REACHING = (
    Probe(
        "connect to a service of the host",
        _SOCKET + "socket.create_connection(('127.0.0.1', int(os.environ['PORT'])), 2)",
        python=True,
    ),
    Probe("connect by the shell's own means", "exec 5<> /dev/tcp/127.0.0.1/$PORT"),
    Probe(
        "send a datagram to the host",
        _SOCKET + "s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"
        "s.connect(('127.0.0.1', int(os.environ['PORT'])))\ns.send(b'owned')\n"
        "s.settimeout(2)\nprint(s.recv(9).decode())",
        says="answered",
        python=True,
    ),
    Probe(
        "ask a name server",
        _SOCKET
        + "s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\ns.connect(('127.0.0.1', int(os.environ['PORT'])))\n"
        "s.send(struct.pack('>6H', 1, 256, 1, 0, 0, 0) + b'\\x06secret\\x07example\\0' + struct.pack('>2H', 1, 1))\n"
        "s.settimeout(2)\nprint(s.recv(9).decode())",
        says="answered",
        python=True,
    ),
    Probe(
        "talk to a service by its socket file",
        _SOCKET + "socket.socket(socket.AF_UNIX).connect(os.environ['SOCK'])",
        python=True,
    ),
    Probe(
        "talk to a service by its abstract name",
        _SOCKET + "socket.socket(socket.AF_UNIX).connect('\\0' + os.environ['ABSTRACT'])",
        python=True,
    ),
    Probe(
        "configure the packet filter", _SOCKET + "socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 12)", python=True
    ),
    Probe(
        "hear what the kernel announces", _SOCKET + "socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 15)", python=True
    ),
    Probe(
        "listen to the wire", _SOCKET + "socket.socket(socket.AF_PACKET, socket.SOCK_RAW)", python=True, root_only=True
    ),
    Probe(
        "speak raw to the network",
        _SOCKET + "socket.socket(socket.AF_INET, socket.SOCK_RAW, 1)",
        python=True,
        root_only=True,
    ),
)
