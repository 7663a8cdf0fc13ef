"""Ports that are held: found by nobody else, open to the program that they are meant for."""

import random
import socket
from collections.abc import Iterator
from contextlib import closing

import pytest

from e2e.cluster.ports import TEST_PORTS, HeldPorts

SEED = 7


@pytest.fixture
def held() -> Iterator[HeldPorts]:
    """Three ports, held for the test."""
    ports = HeldPorts(3, rng=random.Random(SEED))
    yield ports
    ports.release()


def test_they_are_different_and_below_what_the_kernel_gives_out(held: HeldPorts) -> None:
    assert len(set(held.numbers)) == 3
    assert set(held.numbers) <= set(TEST_PORTS)


def test_nobody_who_looks_at_the_same_ports_is_given_one_of_them(held: HeldPorts) -> None:
    others = HeldPorts(3, rng=random.Random(SEED))
    assert set(others.numbers) & set(held.numbers) == set()
    others.release()


def test_the_program_that_they_are_for_listens_there_and_may_be_started_again(held: HeldPorts) -> None:
    for _ in range(2):
        with closing(socket.create_server(("127.0.0.1", held.numbers[0]))) as listener:
            address = listener.getsockname()
            with socket.create_connection(address), closing(listener.accept()[0]):
                others = HeldPorts(3, rng=random.Random(SEED))
                assert address[1] not in others.numbers
                others.release()


def test_what_is_released_may_be_had_again(held: HeldPorts) -> None:
    before = held.numbers
    held.release()
    assert held.numbers == []
    again = HeldPorts(3, rng=random.Random(SEED))
    assert again.numbers == before
    again.release()


def test_where_too_few_are_free_none_is_kept() -> None:
    first = HeldPorts(1, rng=random.Random(SEED))
    with pytest.raises(OSError, match="fewer than 300 free ports"):
        HeldPorts(300, rng=random.Random(SEED))
    first.release()
    again = HeldPorts(1, rng=random.Random(SEED))
    assert again.numbers
    again.release()
