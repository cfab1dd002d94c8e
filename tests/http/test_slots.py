"""The cap on calls at a time."""

from __future__ import annotations

import asyncio
import threading

import pytest

from agentloop.cancel import CancelSignal
from agentloop.http.async_slots import AsyncSlots
from agentloop.http.slots import Slots

FOREVER = float("inf")


def test_a_free_slot_is_got_at_once_and_a_taken_one_is_waited_for() -> None:
    slots = Slots(1)
    assert slots.acquire(0, None)
    assert not slots.acquire(0, None)
    slots.release()
    assert slots.acquire(0, None)


def test_a_released_slot_goes_to_the_thread_that_waits() -> None:
    slots, got = Slots(1), threading.Event()
    slots.acquire(0, None)
    waiting = threading.Thread(target=lambda: slots.acquire(FOREVER, None) and got.set())
    waiting.start()
    slots.release()
    assert got.wait(5)
    waiting.join()


def test_a_cancel_wakes_a_waiting_thread_and_takes_no_slot() -> None:
    slots, cancel, answers = Slots(1), CancelSignal(), []
    slots.acquire(0, None)
    waiting = threading.Thread(target=lambda: answers.append(slots.acquire(FOREVER, cancel)))
    waiting.start()
    cancel.cancel()
    waiting.join(5)
    slots.release()
    assert answers == [False]
    assert slots.acquire(0, None)


@pytest.mark.anyio
async def test_tasks_get_slots_in_their_order() -> None:
    slots, order = AsyncSlots(1), []

    async def work(name: str) -> None:
        await slots.acquire(FOREVER, None)
        order.append(name)
        slots.release()

    await slots.acquire(0, None)
    async with asyncio.TaskGroup() as group:
        for name in "abc":
            group.create_task(work(name))
        await asyncio.sleep(0)
        slots.release()
    assert order == ["a", "b", "c"]


@pytest.mark.anyio
async def test_a_task_does_not_wait_longer_than_it_may() -> None:
    slots = AsyncSlots(1)
    await slots.acquire(0, None)
    assert not await slots.acquire(0.001, None)
    slots.release()
    assert await slots.acquire(0, None)


@pytest.mark.anyio
async def test_a_cancelled_task_leaves_the_queue() -> None:
    slots = AsyncSlots(1)
    await slots.acquire(0, None)
    waiting = asyncio.create_task(slots.acquire(FOREVER, None))
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    slots.release()
    assert await slots.acquire(0, None)


@pytest.mark.anyio
async def test_a_slot_given_to_a_task_that_is_cancelled_in_the_same_moment_is_not_lost() -> None:
    slots = AsyncSlots(1)
    await slots.acquire(0, None)
    waiting = asyncio.create_task(slots.acquire(FOREVER, None))
    await asyncio.sleep(0)
    slots.release()
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert await slots.acquire(0, None)


@pytest.mark.anyio
async def test_a_cancel_from_a_thread_wakes_a_waiting_task() -> None:
    slots, cancel = AsyncSlots(1), CancelSignal()
    await slots.acquire(0, None)
    waiting = asyncio.create_task(slots.acquire(FOREVER, cancel))
    await asyncio.sleep(0)
    await asyncio.to_thread(cancel.cancel)
    assert not await waiting
