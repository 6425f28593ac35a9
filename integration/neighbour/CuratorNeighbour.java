import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.leader.LeaderLatch;
import org.apache.curator.framework.recipes.leader.LeaderSelector;
import org.apache.curator.framework.recipes.leader.LeaderSelectorListenerAdapter;
import org.apache.curator.framework.recipes.locks.InterProcessLock;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.recipes.locks.InterProcessReadWriteLock;
import org.apache.curator.framework.recipes.locks.InterProcessSemaphoreMutex;
import org.apache.curator.retry.RetryNTimes;

/**
 * A contender of Curator's that does what its parent orders, one line each, and says
 * when it did so: words, and the clock that all processes of a machine share
 * (System.nanoTime, on Linux).
 */
public class CuratorNeighbour {
    /** What can be held. */
    interface Recipe {
        void lock() throws Exception;

        void unlock() throws Exception;

        default String leader() throws Exception {
            throw new UnsupportedOperationException("nobody leads a lock");
        }
    }

    static Recipe of(InterProcessLock lock) {
        return new Recipe() {
            public void lock() throws Exception {
                lock.acquire();
            }

            public void unlock() throws Exception {
                lock.release();
            }
        };
    }

    /** Leads until it is told to unlock. */
    static class Selector extends LeaderSelectorListenerAdapter implements Recipe {
        final Semaphore leads = new Semaphore(0);
        final Semaphore resign = new Semaphore(0);
        final ExecutorService thread = Executors.newSingleThreadExecutor(r -> {
            Thread t = new Thread(r);
            t.setDaemon(true);
            return t;
        });
        final LeaderSelector selector;
        boolean started;

        Selector(CuratorFramework client, String path, String name) {
            selector = new LeaderSelector(client, path, thread, this);
            selector.setId(name);
        }

        public void takeLeadership(CuratorFramework client) throws Exception {
            leads.release();
            resign.acquire();
        }

        public void lock() throws Exception {
            if (!started) selector.start(); // which queues too
            else if (!selector.requeue()) throw new IllegalStateException("is in line already");
            started = true;
            leads.acquire();
        }

        public void unlock() throws Exception {
            resign.release();
            thread.submit(() -> null).get(); // its thread has given the node back by then
        }

        public String leader() throws Exception {
            return selector.getLeader().getId();
        }
    }

    static class Latch implements Recipe {
        final CuratorFramework client;
        final String path;
        final String name;
        LeaderLatch latch;

        Latch(CuratorFramework client, String path, String name) {
            this.client = client;
            this.path = path;
            this.name = name;
        }

        public void lock() throws Exception {
            latch = new LeaderLatch(client, path, name);
            latch.start();
            latch.await();
        }

        public void unlock() throws Exception {
            latch.close(); // deletes its node in the background
            client.checkExists().forPath(path); // answered after that, as requests of one session are
        }
    }

    static Recipe recipe(String which, CuratorFramework client, String path, String name) {
        switch (which) {
            case "mutex": return of(new InterProcessMutex(client, path));
            case "selector": return new Selector(client, path, name);
            case "latch": return new Latch(client, path, name);
            case "read": return of(new InterProcessReadWriteLock(client, path).readLock());
            case "write": return of(new InterProcessReadWriteLock(client, path).writeLock());
            case "semaphore": return of(new InterProcessSemaphoreMutex(client, path));
        }
        throw new IllegalArgumentException(which);
    }

    static void say(String word, Object rest) {
        System.out.println(word + " " + System.nanoTime() + " " + rest);
    }

    /** What the parent orders, until "" says that it has ended or closed its end. */
    static BlockingQueue<String> orders() {
        BlockingQueue<String> orders = new LinkedBlockingQueue<>();
        Thread reader = new Thread(() -> {
            BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
            try {
                for (String order = in.readLine(); order != null; order = in.readLine()) orders.add(order);
                orders.add("");
                Thread.sleep(10_000);
            } catch (Exception e) {
                say("failed", e);
            }
            Runtime.getRuntime().halt(1); // who waits for a lock would redial the servers for ever
        });
        reader.setDaemon(true);
        reader.start();
        return orders;
    }

    public static void main(String[] args) throws Exception {
        CuratorFramework client = CuratorFrameworkFactory.newClient(args[1], Integer.parseInt(args[2]), 5_000, new RetryNTimes(200, 50));
        client.start();
        if (!client.blockUntilConnected(30, TimeUnit.SECONDS)) throw new IllegalStateException("not connected");
        Recipe recipe = recipe(args[0], client, args[3], args[4]);
        say("ready", client.getZookeeperClient().getZooKeeper().getSessionId());
        BlockingQueue<String> orders = orders();
        for (String order = orders.take(); !order.isEmpty(); order = orders.take()) {
            try {
                switch (order) {
                    case "lock":
                        say("began", "");
                        recipe.lock();
                        say("granted", "");
                        break;
                    case "unlock":
                        say("unlocking", "");
                        recipe.unlock();
                        say("released", "");
                        break;
                    case "leader":
                        say("leader", recipe.leader());
                        break;
                    default:
                        throw new IllegalArgumentException(order);
                }
            } catch (Exception e) {
                say("failed", e);
            }
        }
        client.close();
    }
}
