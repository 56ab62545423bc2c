"""The system calls that a worker may make once it is confined, each group with its reason; every other is refused.

The numbers are those of Linux's own tables, by processor; None means that the processor has no such call. The page
docs/isolation.md holds the same groups in words.
"""

from __future__ import annotations

from collections.abc import Mapping

MACHINES = ("x86_64", "aarch64")
ARCHITECTURES = (0xC000003E, 0xC00000B7)  # as seccomp names them
# The newest call that the table was made for: later ones are refused as absent, whatever they may do.
NEWEST = 451

Numbers = Mapping[str, tuple[int | None, int | None]]

# Allowed whatever the arguments are. What is not needed is not here, also where nobody knows how to harm with it.
ALLOWED: Mapping[str, Numbers] = {
    "read": {"read": (0, 63), "pread64": (17, 67), "readv": (19, 65), "lseek": (8, 62)},
    "write": {"write": (1, 64), "writev": (20, 66)},
    "names": {
        "stat": (4, None), "fstat": (5, 80), "lstat": (6, None), "newfstatat": (262, 79), "statx": (332, 291),
        "access": (21, None), "faccessat": (269, 48), "faccessat2": (439, 439), "readlink": (89, None),
        "readlinkat": (267, 78), "getdents": (78, None), "getdents64": (217, 61), "getcwd": (79, 17),
        "chdir": (80, 49), "fchdir": (81, 50),
    },
    "descriptors": {
        "close": (3, 57), "close_range": (436, 436), "dup": (32, 23), "dup2": (33, None), "dup3": (292, 24),
        "pipe": (22, None), "pipe2": (293, 59),
    },
    "waiting": {
        "poll": (7, None), "ppoll": (271, 73), "select": (23, None), "pselect6": (270, 72),
        "epoll_create": (213, None), "epoll_create1": (291, 20), "epoll_ctl": (233, 21), "epoll_wait": (232, None),
        "epoll_pwait": (281, 22), "epoll_pwait2": (441, 441), "nanosleep": (35, 101), "clock_nanosleep": (230, 115),
        "pause": (34, None), "restart_syscall": (219, 128), "sched_yield": (24, 124), "wait4": (61, 260),
        "waitid": (247, 95),
    },
    "memory": {"brk": (12, 214), "mmap": (9, 222), "munmap": (11, 215), "mremap": (25, 216), "mprotect": (10, 226)},
    "threads": {
        "futex": (202, 98), "futex_waitv": (449, 449), "set_robust_list": (273, 99), "set_tid_address": (218, 96),
        "rseq": (334, 293), "exit": (60, 93), "exit_group": (231, 94), "getcpu": (309, 168),
        "sched_getaffinity": (204, 123), "sched_getscheduler": (145, 120), "sched_getparam": (143, 121),
        "sched_get_priority_max": (146, 125), "sched_get_priority_min": (147, 126),
    },
    "signals": {
        "rt_sigaction": (13, 134), "rt_sigprocmask": (14, 135), "rt_sigreturn": (15, 139),
        "rt_sigpending": (127, 136), "rt_sigtimedwait": (128, 137), "rt_sigsuspend": (130, 133),
        "sigaltstack": (131, 132), "alarm": (37, None), "setitimer": (38, 103),
    },
    "clocks": {
        "clock_gettime": (228, 113), "clock_getres": (229, 114), "gettimeofday": (96, 169), "time": (201, None),
        "times": (100, 153), "getrandom": (318, 278),
    },
    "itself": {
        "getpid": (39, 172), "gettid": (186, 178), "getppid": (110, 173), "getuid": (102, 174),
        "geteuid": (107, 175), "getgid": (104, 176), "getegid": (108, 177), "getgroups": (115, 158),
        "uname": (63, 160), "getrlimit": (97, 163), "setrlimit": (160, 164),
        "getrusage": (98, 165),
    },
}  # fmt: skip

# Allowed or refused by an argument.
BY_ARGUMENT: Numbers = {
    "openat": (257, 56), "open": (2, None), "fcntl": (72, 25), "ioctl": (16, 29), "madvise": (28, 233),
    "prctl": (157, 167), "arch_prctl": (158, None), "clone": (56, 220), "kill": (62, 129), "tgkill": (234, 131),
    "rt_sigqueueinfo": (129, 138), "rt_tgsigqueueinfo": (297, 240), "prlimit64": (302, 261),
    "sched_setaffinity": (203, 122),
}  # fmt: skip

# Refused, unless a worker is confined in a way in which another rule holds (`seccomp.STARTING`, `seccomp.WRITING`).
CONDITIONAL: Numbers = {"fork": (57, None), "vfork": (58, None), "creat": (85, None)}

# Answered as absent: libraries have another way, which the filter can judge by its arguments.
ABSENT: Numbers = {"clone3": (435, 435), "openat2": (437, 437)}

# What the confinement itself is made with, before the filter holds.
CONFINING: Numbers = {
    "landlock_create_ruleset": (444, 444), "landlock_add_rule": (445, 445), "landlock_restrict_self": (446, 446),
    "seccomp": (317, 277), "capset": (126, 91),
}  # fmt: skip
