"""A contender of kazoo's that does what its parent orders, one line each, and says
when it did so: words, and the clock that all processes of a machine share."""
import logging
import os
import queue
import sys
import threading
import time

from kazoo.client import KazooClient
from kazoo.recipe.election import Election
from kazoo.retry import KazooRetry
import kazoo.recipe.lock

logging.basicConfig(level=logging.CRITICAL)


class Lock(kazoo.recipe.lock.Lock):
    _NODE_NAME = "-lock-"  # kazoo's own "__lock__" says nothing to Curator

    def __init__(self, client, path, identifier=None):
        super().__init__(client, path, identifier, extra_lock_patterns=("lock-",))


class ElectionLock:
    """An election as a lock: leading until it is released."""

    def __init__(self, client, path, identifier):
        self.election = Election(client, path, identifier)
        self.election.lock = Lock(client, path, identifier)

    def acquire(self):
        leads, self.resign = threading.Event(), threading.Event()

        def lead():
            leads.set()
            self.resign.wait()

        self.thread = threading.Thread(target=self.election.run, args=(lead,), daemon=True)
        self.thread.start()
        leads.wait()
        return True

    def release(self):
        self.resign.set()
        self.thread.join()


def say(word, *rest):
    print(word, time.clock_gettime_ns(time.CLOCK_MONOTONIC), *rest, flush=True)


def orders():
    """What the parent orders, until it ends or closes its end. Who waits for a lock
    then would redial the servers for ever."""
    todo = queue.Queue()

    def read():
        for line in sys.stdin:
            todo.put(line.strip())
        todo.put(None)
        time.sleep(10)
        os._exit(1)

    threading.Thread(target=read, daemon=True).start()
    return iter(todo.get, None)


def main(recipe, servers, milliseconds, path, name):
    client = KazooClient(
        hosts=servers,
        timeout=int(milliseconds) / 1000,
        connection_retry=KazooRetry(max_tries=-1, delay=0.05, max_delay=0.1),
    )
    client.start(30)
    told = ("lock-",)
    lock = {
        "lock": lambda: Lock(client, path, name),
        "own-names": lambda: client.Lock(path, name, extra_lock_patterns=told),
        "untold": lambda: client.Lock(path, name),
        "read": lambda: client.ReadLock(path, name, extra_lock_patterns=told),
        "write": lambda: client.WriteLock(path, name, extra_lock_patterns=told),
        "election": lambda: ElectionLock(client, path, name),
        "semaphore": lambda: client.Semaphore(path, name, max_leases=2),
    }[recipe]()
    say("ready", client.client_id[0])
    for order in orders():
        first, then, do = {
            "lock": ("began", "granted", lock.acquire),
            "unlock": ("unlocking", "released", lock.release),
        }[order]
        say(first)
        try:
            do()
        except Exception as e:
            say("failed", repr(e))
        else:
            say(then)
    client.stop()
    client.close()


main(*sys.argv[1:])
