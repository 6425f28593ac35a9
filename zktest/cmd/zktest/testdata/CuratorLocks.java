import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.barriers.DistributedDoubleBarrier;
import org.apache.curator.framework.recipes.leader.LeaderLatch;
import org.apache.curator.framework.recipes.locks.InterProcessLock;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.recipes.locks.InterProcessReadWriteLock;
import org.apache.curator.framework.recipes.locks.InterProcessSemaphoreV2;
import org.apache.curator.framework.recipes.locks.Lease;
import org.apache.curator.framework.state.ConnectionState;
import org.apache.curator.retry.RetryNTimes;

/**
 * Curator's recipes under the faults that zktest makes.
 *
 * <pre>java -cp … CuratorLocks.java PROGRAM [FLAG...]</pre>
 *
 * starts PROGRAM, which is zktest's, with these flags and -commands, plays one story
 * after the other and prints what came of each. The lines are the same for every
 * server that does what ZooKeeper does. It exits with 0 if nothing went wrong.
 */
public class CuratorLocks {
    static final int PATIENCE = 20; // seconds for anything that has to happen

    /** The program, told what to break. */
    static class Server {
        final Process process;
        final BufferedReader in;
        final PrintStream out;
        final String address;

        Server(List<String> command) throws IOException {
            process = new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT).start();
            in = new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8));
            out = new PrintStream(process.getOutputStream(), true, StandardCharsets.UTF_8);
            String line = in.readLine();
            check(line != null && line.startsWith("serving on "), "it does not serve: " + line);
            address = line.substring("serving on ".length());
        }

        /** Carries out a command; it is in force when this returns. */
        void run(String command) throws IOException {
            out.println(command);
            String line = in.readLine();
            while (line != null && line.startsWith("  ")) line = in.readLine();
            check("ok".equals(line), command + ": " + line);
        }

        void close() throws Exception {
            out.close();
            check(process.waitFor(PATIENCE, TimeUnit.SECONDS) && process.exitValue() == 0, "it does not end well");
        }
    }

    interface Story {
        void play(CuratorLocks s) throws Exception;
    }

    interface Step {
        void run() throws Exception;
    }

    interface Condition {
        boolean holds() throws Exception;
    }

    // One story's clients, and the root that it keeps to itself.
    final Server server;
    final String root;
    final List<CuratorFramework> clients = new ArrayList<>();
    final List<ExecutorService> threads = new ArrayList<>();

    CuratorLocks(Server server, String name) {
        this.server = server;
        this.root = "/curator/" + name;
    }

    CuratorFramework client() throws Exception {
        return client(10_000);
    }

    CuratorFramework client(int timeout) throws Exception {
        CuratorFramework c = CuratorFrameworkFactory.newClient(server.address, timeout, 5_000, new RetryNTimes(200, 50));
        c.start();
        check(c.blockUntilConnected(PATIENCE, TimeUnit.SECONDS), "not connected");
        clients.add(c);
        return c;
    }

    /** A thread of its own: Curator's locks belong to threads. */
    ExecutorService thread() {
        ExecutorService t = Executors.newSingleThreadExecutor(r -> {
            Thread thread = new Thread(r);
            thread.setDaemon(true);
            return thread;
        });
        threads.add(t);
        return t;
    }

    void close() throws Exception {
        server.run("heal");
        for (CuratorFramework c : clients) c.close();
        for (ExecutorService t : threads) t.shutdownNow();
    }

    static long session(CuratorFramework c) throws Exception {
        return c.getZookeeperClient().getZooKeeper().getSessionId();
    }

    static String scope(CuratorFramework c) throws Exception {
        return "for 0x" + Long.toHexString(session(c)) + " ";
    }

    static int nodes(CuratorFramework c, String path) throws Exception {
        return c.checkExists().forPath(path) == null ? 0 : c.getChildren().forPath(path).size();
    }

    /** Waits for what no event tells: that another client has queued up. */
    static void until(Condition condition, String what) throws Exception {
        CountDownLatch never = new CountDownLatch(1);
        for (int i = 0; i < PATIENCE * 100; i++) {
            if (condition.holds()) return;
            never.await(10, TimeUnit.MILLISECONDS);
        }
        throw new AssertionError("never came: " + what);
    }

    static void check(boolean is, String what) {
        if (!is) throw new AssertionError(what);
    }

    static void say(Object... words) {
        StringBuilder line = new StringBuilder(" ");
        for (Object w : words) line.append(' ').append(w);
        System.out.println(line);
    }

    /** Contenders that enter one after the other; who got in, in that order. */
    static class Line {
        final CuratorLocks s;
        final CuratorFramework reader;
        final List<String> order = Collections.synchronizedList(new ArrayList<>());
        final List<Future<?>> waiting = new ArrayList<>();
        final AtomicInteger inside = new AtomicInteger();

        Line(CuratorLocks s, CuratorFramework reader) {
            this.s = s;
            this.reader = reader;
        }

        void enter(String name, InterProcessLock lock) throws Exception {
            int before = nodes(reader, s.root);
            waiting.add(s.thread().submit(() -> {
                check(lock.acquire(PATIENCE, TimeUnit.SECONDS), name + " never got in");
                order.add(inside.incrementAndGet() == 1 ? name : name + " beside another");
                reader.checkExists().forPath(s.root); // time for another to come in
                inside.decrementAndGet();
                lock.release();
                return null;
            }));
            until(() -> nodes(reader, s.root) > before, name + " in line");
        }

        List<String> join() throws Exception {
            for (Future<?> w : waiting) w.get(PATIENCE, TimeUnit.SECONDS);
            return order;
        }
    }

    static String words(Collection<?> list) {
        StringBuilder b = new StringBuilder();
        for (Object o : list) b.append(b.length() == 0 ? "" : " ").append(o);
        return b.toString();
    }

    // Ten contenders on five clients get in one at a time, in the order they came.
    void contention() throws Exception {
        List<CuratorFramework> five = new ArrayList<>();
        for (int i = 0; i < 5; i++) five.add(client());
        InterProcessMutex first = new InterProcessMutex(five.get(0), root);
        first.acquire();
        Line line = new Line(this, client());
        for (int i = 0; i < 10; i++) line.enter("" + i, new InterProcessMutex(five.get(i % 5), root));
        say("in line:", first.getParticipantNodes().size());
        first.release();
        say("got in:", words(line.join()));
        say("left:", nodes(five.get(0), root));
    }

    // Eight clients, five rounds each, all at once: never two inside.
    void crowd() throws Exception {
        AtomicInteger inside = new AtomicInteger(), most = new AtomicInteger(), rounds = new AtomicInteger();
        List<Future<?>> all = new ArrayList<>();
        for (int i = 0; i < 8; i++) {
            CuratorFramework c = client();
            InterProcessMutex m = new InterProcessMutex(c, root);
            all.add(thread().submit(() -> {
                for (int n = 0; n < 5; n++) {
                    m.acquire();
                    most.accumulateAndGet(inside.incrementAndGet(), Math::max);
                    rounds.incrementAndGet();
                    c.checkExists().forPath(root); // time for another to come in
                    inside.decrementAndGet();
                    m.release();
                }
                return null;
            }));
        }
        for (Future<?> f : all) f.get(PATIENCE, TimeUnit.SECONDS);
        say("rounds:", rounds, "most inside:", most);
    }

    // One thread holds as often as it likes, and gives back as often.
    void reentrance() throws Exception {
        CuratorFramework c = client();
        InterProcessMutex m = new InterProcessMutex(c, root);
        m.acquire();
        m.acquire();
        say("nodes:", nodes(c, root));
        m.release();
        say("another thread:", thread().submit(() -> m.acquire(50, TimeUnit.MILLISECONDS)).get());
        m.release();
        say("nodes:", nodes(c, root));
    }

    // The create was carried out, its reply is lost: the node is found by its GUID.
    void lostReply() throws Exception {
        CuratorFramework c = client();
        c.createContainers(root);
        Semaphore cuts = new Semaphore(0);
        c.getConnectionStateListenable().addListener((x, state) -> {
            if (state == ConnectionState.SUSPENDED) cuts.release();
        });
        server.run(scope(c) + "drop-reply create2");
        InterProcessMutex m = new InterProcessMutex(c, root);
        say("acquired:", m.acquire(PATIENCE, TimeUnit.SECONDS), "cut:", cuts.tryAcquire(PATIENCE, TimeUnit.SECONDS));
        say("nodes:", nodes(c, root));
        server.run(scope(c) + "drop-reply delete");
        m.release();
        say("cut:", cuts.tryAcquire(PATIENCE, TimeUnit.SECONDS));
        until(() -> nodes(c, root) == 0, "the release");
        say("nodes:", nodes(c, root));
    }

    // The holder's session ends on the server: the waiter gets in, the holder learns of it.
    void lostSession() throws Exception {
        CuratorFramework holder = client(), waiter = client();
        CountDownLatch lost = new CountDownLatch(1), back = new CountDownLatch(1);
        holder.getConnectionStateListenable().addListener((c, state) -> {
            if (state == ConnectionState.LOST) lost.countDown();
            if (state == ConnectionState.RECONNECTED && lost.getCount() == 0) back.countDown();
        });
        new InterProcessMutex(holder, root).acquire();
        Line line = new Line(this, waiter);
        line.enter("waiter", new InterProcessMutex(waiter, root));
        server.run("expire 0x" + Long.toHexString(session(holder)));
        say("got in:", words(line.join()));
        say("told:", lost.await(PATIENCE, TimeUnit.SECONDS));
        say("connected again:", back.await(PATIENCE, TimeUnit.SECONDS));
        say("goes on:", new InterProcessMutex(holder, root).acquire(PATIENCE, TimeUnit.SECONDS));
    }

    // A holder that nobody hears from is out after its timeout.
    void frozen() throws Exception {
        CuratorFramework holder = client(3_000), waiter = client();
        new InterProcessMutex(holder, root).acquire();
        say("at once:", new InterProcessMutex(waiter, root).acquire(50, TimeUnit.MILLISECONDS));
        server.run(scope(holder) + "freeze");
        Line line = new Line(this, waiter);
        line.enter("waiter", new InterProcessMutex(waiter, root));
        say("got in:", words(line.join()));
    }

    // Readers share, a writer is alone, and who comes later waits for it.
    void readWrite() throws Exception {
        CuratorFramework a = client(), b = client(), c = client();
        InterProcessReadWriteLock la = new InterProcessReadWriteLock(a, root);
        InterProcessReadWriteLock lb = new InterProcessReadWriteLock(b, root);
        InterProcessReadWriteLock lc = new InterProcessReadWriteLock(c, root);
        say("readers:", la.readLock().acquire(PATIENCE, TimeUnit.SECONDS), lb.readLock().acquire(PATIENCE, TimeUnit.SECONDS));
        say("writer at once:", lc.writeLock().acquire(50, TimeUnit.MILLISECONDS));
        Line line = new Line(this, c);
        line.enter("w", lc.writeLock());
        line.enter("r", new InterProcessReadWriteLock(a, root).readLock());
        la.readLock().release();
        lb.readLock().release();
        say("then:", words(line.join()));
    }

    // Two of three get a lease.
    void semaphore() throws Exception {
        CuratorFramework a = client(), b = client(), c = client();
        Lease la = new InterProcessSemaphoreV2(a, root, 2).acquire(PATIENCE, TimeUnit.SECONDS);
        Lease lb = new InterProcessSemaphoreV2(b, root, 2).acquire(PATIENCE, TimeUnit.SECONDS);
        InterProcessSemaphoreV2 third = new InterProcessSemaphoreV2(c, root, 2);
        say("leases:", la != null, lb != null, third.acquire(100, TimeUnit.MILLISECONDS) != null);
        la.close();
        say("after a release:", third.acquire(PATIENCE, TimeUnit.SECONDS) != null);
    }

    // The next in line leads when the leader's session is gone.
    void election() throws Exception {
        CuratorFramework a = client(), b = client();
        LeaderLatch la = new LeaderLatch(a, root, "a"), lb = new LeaderLatch(b, root, "b");
        la.start();
        check(la.await(PATIENCE, TimeUnit.SECONDS), "a leads");
        lb.start();
        until(() -> lb.getParticipants().size() == 2, "b in line");
        say("leader:", lb.getLeader().getId(), "second leads:", lb.hasLeadership());
        server.run("expire 0x" + Long.toHexString(session(a)));
        say("then b:", lb.await(PATIENCE, TimeUnit.SECONDS));
        until(() -> !la.hasLeadership(), "a knows");
        la.close();
        lb.close();
    }

    // Nobody passes a double barrier before everybody is there.
    void barrier() throws Exception {
        BlockingQueue<Integer> there = new LinkedBlockingQueue<>();
        AtomicInteger come = new AtomicInteger();
        List<Future<Boolean>> all = new ArrayList<>();
        for (int i = 0; i < 3; i++) {
            DistributedDoubleBarrier gate = new DistributedDoubleBarrier(client(), root, 3);
            all.add(thread().submit(() -> {
                come.incrementAndGet();
                boolean in = gate.enter(PATIENCE, TimeUnit.SECONDS);
                there.add(come.get());
                return in && gate.leave(PATIENCE, TimeUnit.SECONDS);
            }));
        }
        List<Boolean> through = new ArrayList<>();
        for (Future<Boolean> f : all) through.add(f.get(2 * PATIENCE, TimeUnit.SECONDS));
        say("through:", words(through), "there at the time:", words(there));
    }

    static void tell(Server server, String name, Story story) throws Exception {
        System.out.println(name);
        CuratorLocks s = new CuratorLocks(server, name);
        try {
            story.play(s);
        } finally {
            s.close();
        }
    }

    public static void main(String[] args) throws Exception {
        List<String> command = new ArrayList<>(Arrays.asList(args));
        command.add("-commands");
        Server server = new Server(command);
        try {
            tell(server, "contention", CuratorLocks::contention);
            tell(server, "crowd", CuratorLocks::crowd);
            tell(server, "reentrance", CuratorLocks::reentrance);
            tell(server, "lostReply", CuratorLocks::lostReply);
            tell(server, "lostSession", CuratorLocks::lostSession);
            tell(server, "frozen", CuratorLocks::frozen);
            tell(server, "readWrite", CuratorLocks::readWrite);
            tell(server, "semaphore", CuratorLocks::semaphore);
            tell(server, "election", CuratorLocks::election);
            tell(server, "barrier", CuratorLocks::barrier);
            server.close();
            System.exit(0);
        } catch (Throwable e) {
            e.printStackTrace();
            server.out.close();
            System.exit(1); // Curator's own threads may be stuck
        }
    }
}
