#!/bin/bash
# A ZooKeeper image from Debian's packages alone, for machines that reach no image
# registry: no base image, nothing installed, one layer.
#
#   integration/image/build.sh [NAME:TAG]   zkfence/zookeeper:debian unless given
#
# It prints the image's name, for ZKFENCE_ZK_IMAGE. An image that was made by the
# same recipe from the same packages is kept; the same recipe gives the same layer,
# byte for byte. It needs a Debian machine with apt, and a Docker engine.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
image=${1:-zkfence/zookeeper:debian}
label=zkfence.recipe
packages=(
  busybox-static libc6 libgcc-s1 libstdc++6 zlib1g openjdk-17-jre-headless
  libzookeeper-java libslf4j-java libsnappy-java libdropwizard-metrics-java libfaketime
)
# All that a server loads that has neither TLS nor Netty nor an AdminServer.
jars=(zookeeper zookeeper-jute slf4j-api slf4j-simple snappy-java metrics-core)

# Which files apt would fetch, with their hashes: "'URL' NAME SIZE HASH".
wanted() { apt-get download --print-uris "${packages[@]}" | cut -d' ' -f2- | LC_ALL=C sort; }

list=$(wanted 2>/dev/null) || { apt-get update -qq >&2; list=$(wanted); }
(($(wc -l <<<"$list") == ${#packages[@]})) || { echo "build.sh: apt does not know all packages:" >&2; echo "$list" >&2; exit 1; }
recipe=$({ cat "$0" "$here/entrypoint.sh"; echo "$list"; } | sha256sum | cut -d' ' -f1)
if [[ $(docker image inspect -f "{{index .Config.Labels \"$label\"}}" "$image" 2>/dev/null) == "$recipe" ]]; then
  echo "$image"
  exit 0
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
root=$work/root
mkdir -p "$work/debs" "$root"

# apt fetches as a user of its own, if it can write here.
chmod 755 "$work"
chown _apt "$work/debs" 2>/dev/null || true
download() { (cd "$work/debs" && apt-get download -qq "${packages[@]}" >&2); }
download || { apt-get update -qq >&2 && download; } # the lists are older than the archive
for deb in "$work"/debs/*.deb; do dpkg-deb -x "$deb" "$root"; done

# Documentation, and jars that no server loads.
rm -rf "$root"/usr/share/{doc,man,lintian,bug,maven-repo,apport,menu,applications,icons,pixmaps}
keep=$work/keep
mkdir "$keep"
for jar in "${jars[@]}"; do cp -L "$root/usr/share/java/$jar.jar" "$keep/"; done
rm -rf "$root/usr/share/java"
mv "$keep" "$root/usr/share/java"

ln -s "$(cd "$root" && echo usr/lib/jvm/java-17-openjdk-*)" "$root/java"
ln -s "$(cd "$root" && echo usr/lib/*/faketime)" "$root/faketime"
for applet in sh cat echo env grep head id kill ls mkdir mv nc ping ps rm sleep tail date ip wget; do
  ln -s busybox "$root/bin/$applet"
done
mkdir -p "$root"/{proc,sys,dev,tmp,etc,data,datalog,conf}
chmod 1777 "$root/tmp"
echo 'root:x:0:0:root:/:/bin/sh' >"$root/etc/passwd"
echo 'root:x:0:' >"$root/etc/group"
echo 'hosts: files dns' >"$root/etc/nsswitch.conf"
install -m 755 "$here/entrypoint.sh" "$root/entrypoint.sh"

tar -C "$root" --format=gnu --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner -c . |
  docker import \
    --change "LABEL $label=$recipe" \
    --change 'ENV PATH=/java/bin:/bin:/usr/bin LANG=C.UTF-8' \
    --change 'EXPOSE 2181 2888 3888' \
    --change 'ENTRYPOINT ["/entrypoint.sh"]' \
    --message 'ZooKeeper of Debian packages' - "$image" >"$work/id"
echo "$image"
