#!/bin/sh
# Installs the registries that tests start: registries.sh FOLDER [etcd] [zookeeper] [nacos] [consul]
# etcd comes from Debian's package, without its installation; ZooKeeper and Nacos from Maven Central, Nacos as
# the project JeecgBoot publishes it: Nacos itself publishes no server there. Consul is built from its Go module, with two
# cores in five minutes; 1.12 is the last line whose parts all are published as modules.
set -eu
mkdir -p "$1"
cache=$(cd "$1" && pwd)
shift
zookeeper=3.9.3
nacos=2.3.2
consul=1.12.9

install_etcd() {
  if command -v etcd >/dev/null || [ -x "$cache/etcd/usr/bin/etcd" ]; then return; fi
  new=$(mktemp -d)
  (cd "$new" && { apt-get download etcd-server || { apt-get update && apt-get download etcd-server; }; }) >/dev/null 2>&1
  dpkg -x "$new"/etcd-server_*.deb "$new/etcd"
  rm -rf "$cache/etcd"
  mv "$new/etcd" "$cache/etcd"
  rm -rf "$new"
}

dependency() {
  echo "<dependency><groupId>$1</groupId><artifactId>$2</artifactId><version>$3</version></dependency>"
}

# install_jars NAME DEPENDENCIES: the jars of the dependencies, into the folder NAME
install_jars() {
  if [ -d "$cache/$1" ]; then return; fi
  new=$(mktemp -d)
  cat >"$new/pom.xml" <<POM
<project><modelVersion>4.0.0</modelVersion><groupId>triple-es</groupId><artifactId>$1</artifactId><version>1</version>
<packaging>pom</packaging><dependencies>$2</dependencies></project>
POM
  (cd "$new" && mvn --batch-mode --quiet org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies \
    -DincludeScope=runtime -DoutputDirectory="$new/jars" >/dev/null)
  rm -rf "${cache:?}/$1"
  mv "$new/jars" "$cache/$1"
  rm -rf "$new"
}

install_zookeeper() {
  install_jars "zookeeper-$zookeeper" "$(dependency org.apache.zookeeper zookeeper "$zookeeper")
$(dependency org.xerial.snappy snappy-java 1.1.10.5)$(dependency io.dropwizard.metrics metrics-core 4.1.12.1)"
}

install_nacos() {
  install_jars "nacos-$nacos" "$(dependency org.jeecgframework.nacos nacos-console "$nacos")"
}

install_consul() {
  if [ -x "$cache/consul-$consul/consul" ]; then return; fi
  new=$(mktemp -d)
  (
    cd "$new"
    go mod init registry
    go get "github.com/hashicorp/consul@v$consul"
    GOBIN="$new/bin" go install -mod=mod -trimpath -ldflags='-s -w' github.com/hashicorp/consul
  ) >/dev/null 2>&1
  rm -rf "$cache/consul-$consul"
  mv "$new/bin" "$cache/consul-$consul"
  rm -rf "$new"
}

for name in "$@"; do "install_$name"; done
