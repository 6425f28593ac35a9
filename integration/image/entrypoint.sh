#!/bin/sh
# Starts the server as the official image's entry point does, from the same
# environment variables; of those, the ones that make sense for a server without
# TLS and AdminServer. ZOO_FAKETIME is our own: what libfaketime understands, such
# as +1h, for this server's wall clock alone.
set -eu

data=${ZOO_DATA_DIR:-/data} log=${ZOO_DATA_LOG_DIR:-/datalog} conf=${ZOO_CONF_DIR:-/conf}
mkdir -p "$data" "$log" "$conf"

if [ ! -f "$conf/zoo.cfg" ]; then
  {
    echo "dataDir=$data"
    echo "dataLogDir=$log"
    echo "tickTime=${ZOO_TICK_TIME:-2000}"
    echo "initLimit=${ZOO_INIT_LIMIT:-5}"
    echo "syncLimit=${ZOO_SYNC_LIMIT:-2}"
    echo "maxClientCnxns=${ZOO_MAX_CLIENT_CNXNS:-60}"
    echo "standaloneEnabled=${ZOO_STANDALONE_ENABLED:-true}"
    echo "admin.enableServer=${ZOO_ADMINSERVER_ENABLED:-false}"
    echo "4lw.commands.whitelist=${ZOO_4LW_COMMANDS_WHITELIST:-srvr}"
    for line in ${ZOO_SERVERS:-server.1=localhost:2888:3888;2181}; do echo "$line"; done
    for line in ${ZOO_CFG_EXTRA:-}; do echo "$line"; done
  } >"$conf/zoo.cfg.new"
  mv "$conf/zoo.cfg.new" "$conf/zoo.cfg" # whole or not at all: a kill may come any time
fi
[ -f "$data/myid" ] || echo "${ZOO_MY_ID:-1}" >"$data/myid"

class_path=$conf
for jar in /usr/share/java/*.jar; do class_path=$class_path:$jar; done

# The official image's zkServer.sh: the heap in MB, and flags for the server or all.
heap=${ZK_SERVER_HEAP:-1000}
if [ -n "${ZOO_FAKETIME:-}" ]; then
  # The monotonic clock stays: it is what the server's timers go by. With the fix,
  # which is for older C libraries, timed waits of the JVM never end.
  export LD_PRELOAD=/faketime/libfaketimeMT.so.1 FAKETIME="$ZOO_FAKETIME" FAKETIME_DONT_FAKE_MONOTONIC=1 FAKETIME_FORCE_MONOTONIC_FIX=0
fi
# shellcheck disable=SC2086 # flags are words
exec java "-Xmx${heap}m" ${SERVER_JVMFLAGS:-} ${JVMFLAGS:-} -cp "$class_path" \
  org.apache.zookeeper.server.quorum.QuorumPeerMain "$conf/zoo.cfg"
