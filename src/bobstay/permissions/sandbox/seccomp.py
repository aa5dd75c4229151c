"""The seccomp filter of the sandbox: system calls that a sandboxed process may not make."""

import os
import struct

ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}

_REFUSED = {
    # inspecting or controlling other processes
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "process_madvise": (440, 440),
    "kcmp": (312, 272),
    "pidfd_getfd": (438, 438),
    # large kernel interfaces that ordinary programs do not need
    "bpf": (321, 280),
    "perf_event_open": (298, 241),
    "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "userfaultfd": (323, 282),
    "add_key": (248, 217),
    "request_key": (249, 218),
    "keyctl": (250, 219),
    "fanotify_init": (300, 262),
    "open_by_handle_at": (304, 265),
    "lookup_dcookie": (212, 18),
    "nfsservctl": (180, 42),
    "quotactl": (179, 60),
    "quotactl_fd": (443, 443),
    # mounts and namespaces
    "mount": (165, 40),
    "umount2": (166, 39),
    "pivot_root": (155, 41),
    "chroot": (161, 51),
    "open_tree": (428, 428),
    "move_mount": (429, 429),
    "fsopen": (430, 430),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fspick": (433, 433),
    "mount_setattr": (442, 442),
    "open_tree_attr": (467, 467),
    "unshare": (272, 97),
    "setns": (308, 268),
    # the machine itself
    "kexec_load": (246, 104),
    "kexec_file_load": (320, 294),
    "init_module": (175, 105),
    "finit_module": (313, 273),
    "delete_module": (176, 106),
    "reboot": (169, 142),
    "swapon": (167, 224),
    "swapoff": (168, 225),
    "acct": (163, 89),
    "settimeofday": (164, 170),
    "clock_settime": (227, 112),
    "clock_adjtime": (305, 266),
    "adjtimex": (159, 171),
    "sethostname": (170, 161),
    "setdomainname": (171, 162),
    "syslog": (103, 116),
    "vhangup": (153, 58),
    "iopl": (172, -1),
    "ioperm": (173, -1),
    "modify_ldt": (154, -1),
    "uselib": (134, -1),
}
"""Refused whatever the arguments: numbers on x86_64 and aarch64, -1 if there is none."""
_CLONE = (56, 220)
_CLONE3 = (435, 435)
_IOCTL = (16, 29)
_SOCKET = (41, 198)
_MKNOD = (133, -1)
_MKNODAT = (259, 33)
_NEW_NAMESPACES = 0x7E020000
"""CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID and NEWNET."""
_TERMINAL_INPUT = (0x5412, 0x541C)
"""TIOCSTI and TIOCLINUX, which inject input into a terminal."""
_UNIX, _INET, _INET6, _NETLINK = 1, 2, 10, 16
_X32 = 0x40000000

_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _AND, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x54, 0x06
_ALLOW = 0x7FFF0000
_FAIL = 0x00050000
_EPERM, _ENOSYS = 1, 38


def program(*, unix_sockets: bool = False, internet: bool = True, machine: str = "") -> bytes:
    """The filter, as an array of `struct sock_filter`.

    `internet`: sockets of the internet families may be created. That is harmless in a separate network namespace,
    which has only its loopback.

    Raises:
        LookupError: The system call numbers of this processor are not known.
    """
    machine = machine or os.uname().machine
    column = list(ARCHITECTURES).index(machine) if machine in ARCHITECTURES else -1
    if column < 0:
        raise LookupError(f"there is no system call filter for the processor {machine} yet")
    lines = [
        _step(_LOAD, 4),
        _step(_EQUAL, ARCHITECTURES[machine], 1, 0),
        _fail(_EPERM),  # another architecture has other system call numbers
        _step(_LOAD, 0),
    ]
    if machine == "x86_64":
        lines += [_step(_AT_LEAST, _X32, 0, 1), _fail(_EPERM)]
    for numbers in _REFUSED.values():
        if numbers[column] >= 0:
            lines += _when(numbers[column], [_fail(_EPERM)])
    # The flags of clone3 are behind a pointer, which a filter cannot read. On ENOSYS, C libraries fall back to clone.
    lines += _when(_CLONE3[column], [_fail(_ENOSYS)])
    lines += _when(_CLONE[column], [_argument(0), _step(_ANY_BIT, _NEW_NAMESPACES, 0, 1), _fail(_EPERM), _allow()])
    typing = [step for number in _TERMINAL_INPUT for step in (_step(_EQUAL, number, 0, 1), _fail(_EPERM))]
    lines += _when(_IOCTL[column], [_argument(1), *typing, _allow()])
    for numbers, argument in ((_MKNOD, 1), (_MKNODAT, 2)):
        if numbers[column] >= 0:
            lines += _when(numbers[column], _no_devices(argument))
    lines += _when(_SOCKET[column], _sockets(unix_sockets, internet))
    return b"".join([*lines, _allow()])


def _sockets(unix_sockets: bool, internet: bool) -> list[bytes]:
    """Allow socket families by number; of netlink only the protocol that lists addresses and routes."""
    allowed = [*((_UNIX,) if unix_sockets else ()), *((_INET, _INET6) if internet else ())]
    steps = [_argument(0)]
    for family in allowed:
        steps += [_step(_EQUAL, family, 0, 1), _allow()]
    return [*steps, _step(_EQUAL, _NETLINK, 1, 0), _fail(_EPERM), _argument(2), _step(_EQUAL, 0, 1, 0), _fail(_EPERM)]


def _no_devices(argument: int) -> list[bytes]:
    character, block, kinds = 0o020000, 0o060000, 0o170000
    return [
        _argument(argument),
        _step(_AND, kinds),
        _step(_EQUAL, character, 0, 1),
        _fail(_EPERM),
        _step(_EQUAL, block, 0, 1),
        _fail(_EPERM),
        _allow(),
    ]


def _when(number: int, steps: list[bytes]) -> list[bytes]:
    """`steps` for one system call. They must end with a return, or be the last ones of the program."""
    return [_step(_EQUAL, number, 0, len(steps)), *steps]


def _argument(index: int) -> bytes:
    """Load the lower half of an argument: the kernel treats all arguments checked here as 32-bit values."""
    return _step(_LOAD, 16 + 8 * index)


def _allow() -> bytes:
    return _step(_RETURN, _ALLOW)


def _fail(error: int) -> bytes:
    return _step(_RETURN, _FAIL | error)


def _step(code: int, value: int, yes: int = 0, no: int = 0) -> bytes:
    return struct.pack("=HBBI", code, yes, no, value)
