"""Reading the kernel's own tables: mounts, control groups, processes."""

from pathlib import Path

import pytest

from e2e.cluster.cgroups import hierarchies
from e2e.cluster.daemons import is_stray
from e2e.cluster.mounts import mounts_below

MOUNTINFO = r"""
22 1 254:0 / / rw,relatime - ext4 /dev/vda rw
40 22 0:40 / /run/ours/a rw - tmpfs tmpfs rw
41 22 0:41 / /run/ours-too rw - tmpfs tmpfs rw
42 40 0:42 / /run/ours/a/b rw,nosuid shared:7 - overlay overlay rw
43 22 0:43 / /var/ours/with\040space rw - tmpfs tmpfs rw
44 22 0:44 / /run/ours rw - tmpfs tmpfs rw
""".strip()


@pytest.mark.parametrize(
    ("folders", "points"),
    [
        pytest.param(["/run/ours/a"], ["/run/ours/a/b", "/run/ours/a"], id="the last mounted comes first"),
        pytest.param(
            ["/run/ours"], ["/run/ours", "/run/ours/a/b", "/run/ours/a"], id="not one that begins alike"
        ),
        pytest.param(["/var/ours"], ["/var/ours/with space"], id="an escaped character"),
        pytest.param(["/srv"], [], id="none"),
    ],
)
def test_mounts_below_folders(folders: list[str], points: list[str]) -> None:
    found = mounts_below(MOUNTINFO, tuple(map(Path, folders)))
    assert found == [Path(point) for point in points]


@pytest.mark.parametrize(
    ("mounts", "expected"),
    [
        pytest.param(
            "tmpfs /sys/fs/cgroup tmpfs rw 0 0\n"
            "cgroup /sys/fs/cgroup/cpu cgroup rw,cpu 0 0\n"
            "cgroup2 /sys/fs/cgroup/unified cgroup2 rw 0 0\n",
            ["/sys/fs/cgroup/cpu", "/sys/fs/cgroup/unified"],
            id="version 1 beside version 2",
        ),
        pytest.param("cgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n", ["/sys/fs/cgroup"], id="version 2"),
    ],
)
def test_control_group_hierarchies(mounts: str, expected: list[str]) -> None:
    assert hierarchies(mounts) == [Path(path) for path in expected]


@pytest.mark.parametrize(
    ("arguments", "ours"),
    [
        pytest.param(["/cache/etcd", "--data-dir=/var/ours/etcd"], True, id="a program with our folder"),
        pytest.param(["/usr/bin/shim", "-address", "/run/ours/socket"], True, id="a shim with our socket"),
        pytest.param(["/cache/etcd", "--data-dir=/var/theirs/etcd"], False, id="the program of others"),
        pytest.param(
            ["/cache/etcd", "--data-dir=/var/ours-not/etcd"], False, id="a folder that begins alike"
        ),
        pytest.param(["/usr/bin/less", "/var/ours/etcd.log"], False, id="somebody who reads our files"),
        pytest.param(["etcd"], False, id="no argument"),
        pytest.param([""], False, id="a kernel thread"),
    ],
)
def test_strays_are_told_from_processes_of_others(arguments: list[str], ours: bool) -> None:
    assert is_stray(arguments, programs={"etcd", "shim"}, marks=["/var/ours", "/run/ours"]) is ours
