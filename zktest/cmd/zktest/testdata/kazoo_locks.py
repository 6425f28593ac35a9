"""Kazoo's recipes under the faults that zktest makes.

    kazoo_locks.py PROGRAM [FLAG...]

starts PROGRAM, which is zktest's, with these flags and -commands, plays one story
after the other and prints what came of each. The lines are the same for every
server that does what ZooKeeper does. It exits with 0 if nothing went wrong.
"""
import logging
import subprocess
import sys
import threading

from kazoo.client import KazooClient, KazooState
from kazoo.exceptions import ConnectionLoss, LockTimeout
from kazoo.retry import KazooRetry

logging.basicConfig(level=logging.CRITICAL)

PATIENCE = 20.0  # seconds for anything that has to happen


class Server:
    """The program, told what to break."""

    def __init__(self, command):
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        line = self.process.stdout.readline()
        assert line.startswith("serving on "), line
        self.address = line.split()[-1]

    def do(self, command):
        """Carries out a command; it is in force when this returns."""
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()
        answer = []
        while True:
            line = self.process.stdout.readline()
            if line.startswith("  "):
                answer.append(line.strip())
                continue
            assert line == "ok\n", (command, line)
            return answer

    def close(self):
        self.process.stdin.close()
        assert self.process.wait(PATIENCE) == 0


class Story:
    """One story's clients, and the root that it keeps to itself."""

    def __init__(self, server, name):
        self.server, self.root, self.clients = server, "/kazoo/" + name, []

    def client(self, timeout=10):
        client = KazooClient(
            hosts=self.server.address,
            timeout=timeout,
            connection_retry=KazooRetry(max_tries=-1, delay=0.05, max_delay=0.1),
        )
        client.start(PATIENCE)
        self.clients.append(client)
        return client

    def close(self):
        self.server.do("heal")
        for client in self.clients:
            client.stop()
            client.close()


def session(client):
    return client.client_id[0]


def until(condition, what):
    """Waits for what no event tells: that another client has queued up."""
    tick = threading.Event()
    for _ in range(int(PATIENCE / 0.01)):
        if condition():
            return
        tick.wait(0.01)
    raise AssertionError("never came: " + what)


class Queue:
    """Contenders that enter one after the other and say in which order they got in."""

    def __init__(self, reader, path):
        self.reader, self.path, self.order, self.inside = reader, path, [], 0
        self.threads, self.mutex = [], threading.Lock()

    def enter(self, name, acquire, release):
        before = len(self.children())
        thread = threading.Thread(target=self.hold, args=(name, acquire, release))
        thread.start()
        self.threads.append(thread)
        until(lambda: len(self.children()) > before, name + " in line")

    def children(self):
        return self.reader.get_children(self.path) if self.reader.exists(self.path) else []

    def hold(self, name, acquire, release):
        acquire()
        with self.mutex:
            self.inside += 1
            self.order.append(name if self.inside == 1 else name + " beside another")
        self.reader.exists(self.path)  # time for another to come in
        with self.mutex:
            self.inside -= 1
        release()

    def join(self):
        for thread in self.threads:
            thread.join(PATIENCE)
            assert not thread.is_alive(), "a contender never got in"
        return self.order


def contention(story):
    """Ten contenders on five clients get in one at a time, in the order they came."""
    clients = [story.client() for _ in range(5)]
    first = clients[0].Lock(story.root, "first")
    first.acquire()
    queue = Queue(story.client(), story.root)
    for i in range(10):
        lock = clients[i % 5].Lock(story.root, str(i))
        queue.enter(str(i), lock.acquire, lock.release)
    print("  in line:", *first.contenders())
    first.release()
    print("  got in:", *queue.join())
    print("  left:", *queue.children())


def crowd(story):
    """Eight clients, five rounds each, all at once: never two inside."""
    clients = [story.client() for _ in range(8)]
    story.client().ensure_path(story.root)
    state = {"inside": 0, "most": 0, "rounds": 0}

    def play(client):
        for _ in range(5):
            with client.Lock(story.root):
                state["inside"] += 1
                state["most"] = max(state["most"], state["inside"])
                state["rounds"] += 1
                client.exists(story.root)  # time for another to come in
                state["inside"] -= 1

    threads = [threading.Thread(target=play, args=(c,)) for c in clients]
    for t in threads:
        t.start()
    for t in threads:
        t.join(PATIENCE)
    print("  rounds:", state["rounds"], "most inside:", state["most"])


def lost_reply(story):
    """The create was carried out, its reply is lost: kazoo finds its node by its prefix."""
    client = story.client()
    client.ensure_path(story.root)
    server, states = story.server, []
    client.add_listener(states.append)
    server.do("for %d drop-reply create" % session(client))
    lock = client.Lock(story.root, "a")
    print("  acquired:", lock.acquire(timeout=PATIENCE), *states)
    print("  nodes:", len(client.get_children(story.root)))
    server.do("for %d drop-reply delete" % session(client))
    print("  released:", lock.release(), *states)
    print("  nodes:", len(client.get_children(story.root)))


def lost_request(story):
    """The create never arrived: a plain create fails, and there is no node."""
    client = story.client()
    story.server.do("for %d drop-request create" % session(client))
    try:
        client.create("/kazoo-lost-request", ephemeral=True)
        print("  created")
    except ConnectionLoss:
        print("  connection loss")
    print("  there:", client.retry(client.exists, "/kazoo-lost-request") is not None)


def lost_session(story):
    """The holder's session ends on the server: the waiter gets in, the holder learns of it."""
    holder, waiter = story.client(), story.client()
    states, lost = [], threading.Event()

    def listen(state):
        states.append(state)
        if state == KazooState.LOST:
            lost.set()

    holder.add_listener(listen)
    held = holder.Lock(story.root, "holder")
    held.acquire()
    queue = Queue(waiter, story.root)
    lock = waiter.Lock(story.root, "waiter")
    queue.enter("waiter", lock.acquire, lock.release)
    before = session(holder)
    story.server.do("expire %d" % before)
    print("  got in:", *queue.join())
    print("  told:", lost.wait(PATIENCE), *[s for s in states if s == KazooState.LOST])
    until(lambda: holder.connected and session(holder) != before, "a new session")
    print("  goes on:", holder.Lock(story.root, "again").acquire(timeout=PATIENCE))


def frozen(story):
    """A holder that nobody hears from is out after its timeout."""
    holder, waiter = story.client(timeout=3), story.client()
    holder.Lock(story.root, "holder").acquire()
    lock = waiter.Lock(story.root, "waiter")
    try:
        lock.acquire(timeout=0.2)
        print("  two inside")
    except LockTimeout:
        print("  timed out")
    queue = Queue(story.client(), story.root)
    story.server.do("for %d freeze" % session(holder))
    lock = waiter.Lock(story.root, "waiter")
    queue.enter("waiter", lambda: lock.acquire(timeout=PATIENCE), lock.release)
    print("  got in:", *queue.join())


def read_write(story):
    """Readers share, a writer is alone, and who comes later waits for it."""
    a, b, c = story.client(), story.client(), story.client()
    r1, r2 = a.ReadLock(story.root, "r1"), b.ReadLock(story.root, "r2")
    print("  readers:", r1.acquire(timeout=PATIENCE), r2.acquire(timeout=PATIENCE))
    print("  writer at once:", c.WriteLock(story.root, "w").acquire(blocking=False))
    queue = Queue(story.client(), story.root)
    w, r3 = c.WriteLock(story.root, "w"), a.ReadLock(story.root, "r3")
    queue.enter("w", w.acquire, w.release)
    queue.enter("r3", r3.acquire, r3.release)
    r1.release()
    r2.release()
    print("  then:", *queue.join())


def semaphore(story):
    """Two of three get a lease."""
    clients = [story.client() for _ in range(3)]
    leases = [c.Semaphore(story.root, "s%d" % i, max_leases=2) for i, c in enumerate(clients)]
    print("  leases:", *[s.acquire(blocking=False) for s in leases])
    print("  holders:", *sorted(leases[0].lease_holders()))
    leases[0].release()
    print("  after a release:", leases[2].acquire(timeout=PATIENCE))


def election(story):
    """The next in line leads when the leader's session is gone."""
    a, b = story.client(), story.client()
    led, resign = [], threading.Event()
    one, two = threading.Event(), threading.Event()

    def lead(name, began):
        led.append(name)
        began.set()
        resign.wait(PATIENCE)

    ea, eb = a.Election(story.root, "a"), b.Election(story.root, "b")
    threading.Thread(target=ea.run, args=(lead, "a", one), daemon=True).start()
    assert one.wait(PATIENCE)
    runner = threading.Thread(target=eb.run, args=(lead, "b", two))
    runner.start()
    until(lambda: len(eb.contenders()) == 2, "b in line")
    print("  contenders:", *eb.contenders())
    story.server.do("expire %d" % session(a))
    assert two.wait(PATIENCE)
    resign.set()
    runner.join(PATIENCE)
    print("  led:", *led)


def barrier(story):
    """Nobody passes a double barrier before everybody is there."""
    clients = [story.client() for _ in range(3)]
    passed, lock = [], threading.Lock()

    def play(client):
        gate = client.DoubleBarrier(story.root, len(clients))
        gate.enter()
        with lock:
            passed.append(len(client.get_children(story.root)) >= 3)
        gate.leave()

    threads = [threading.Thread(target=play, args=(c,)) for c in clients]
    for t in threads:
        t.start()
    for t in threads:
        t.join(PATIENCE)
    print("  passed:", len(passed))


STORIES = [
    contention, crowd, lost_reply, lost_request, lost_session, frozen,
    read_write, semaphore, election, barrier,
]


def main():
    server = Server(sys.argv[1:] + ["-commands"])
    for play in STORIES:
        print(play.__name__, flush=True)
        story = Story(server, play.__name__)
        try:
            play(story)
        finally:
            story.close()
    server.close()


main()
