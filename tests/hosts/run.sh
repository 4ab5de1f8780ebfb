#!/bin/sh
# Three hosts on one network: run.sh ISOFORM, where ISOFORM is the command. Exit status 77: this machine cannot make them.
#
# The hosts are network namespaces with a bridge between them. They, their names and their addresses are gone when this ends,
# and nothing outside sees them. On alder a channel is made and published on, on birch it is echoed, and on cedar others publish
# on it: birch must get everything of both. Each host finds the others by name, by IPv4 and by IPv6 address.
set -eu

isoform=$(realpath "$1")

# Namespaces of our own, by root or by whoever may make them.
if [ "${2-}" != inside ]; then
  users=--map-root-user
  [ "$(id -u)" = 0 ] && users=
  command -v ip > /dev/null || exit 77
  # shellcheck disable=SC2086 # no users is no argument
  unshare $users --net --mount true 2> /dev/null || exit 77
  # shellcheck disable=SC2086
  exec unshare $users --net --mount "$0" "$isoform" inside
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mount --make-rprivate /
mount -t tmpfs none /run
unset XDG_CONFIG_HOME XDG_RUNTIME_DIR ISOFORM_IDENTITY

# The network.
ip link add between type bridge
ip link set between up
number=0
for host in alder birch cedar; do
  number=$((number + 1))
  mkdir "$work/$host-home"
  ip netns add $host
  ip link add to-$host type veth peer name eth0 netns $host
  ip link set to-$host master between up
  ip -n $host link set lo up
  ip -n $host addr add 10.77.0.$number/24 dev eth0
  ip -n $host addr add fd77::$number/64 dev eth0 nodad
  ip -n $host link set eth0 up
  printf '10.77.0.%s %s\nfd77::%s %s\n' $number $host $number $host >> "$work/hosts"
done
printf '127.0.0.1 localhost\n' >> "$work/hosts"
mount --bind "$work/hosts" /etc/hosts

on() {
  at=$1
  shift
  HOME="$work/$at-home" timeout 60 nsenter --net=/run/netns/"$at" "$isoform" "$@"
}

printf 'record Tick\n  host  string\n  count  int\n' > "$work/tick.shape"
for host in alder cedar; do
  seq 1 100 | sed "s/.*/{\"host\":\"$host\",\"count\":&}/" > "$work/$host.json"
done

# exchange WHAT LISTEN ADDRESS ARGUMENTS: one channel that is made at LISTEN, and found at ADDRESS.
exchange() {
  what=$1 listen=$2 id=iso://$3/river
  shift 3
  on birch echo "$@" --json -n 200 --policy block "$id" > "$work/echoed" 2> "$work/birch" &
  birch=$!
  on alder pub "$@" --listen "$listen" --shape "$work/tick.shape" --rate 100 river "$work/alder.json" > "$work/alder" 2>&1 &
  alder=$!
  status=0
  on cedar pub "$@" --wait 1 --rate 100 "$id" "$work/cedar.json" > "$work/cedar" 2>&1 || status=$?
  wait $birch || status=$?
  wait $alder || status=$?
  for host in alder cedar; do
    grep "\"$host\"" "$work/echoed" | cmp -s - "$work/$host.json" || status=1
  done
  if [ $status != 0 ]; then
    echo "$what: birch has $(grep -c alder "$work/echoed") of 100 events of alder, $(grep -c cedar "$work/echoed") of cedar"
    tail "$work/alder" "$work/birch" "$work/cedar"
    exit 1
  fi
  echo "$what: everything has come"
}

exchange_all() {
  how=$1
  shift
  exchange "$how, by name, IPv6 and IPv4" '[::]:7000' alder:7000 "$@"
  exchange "$how, by name, IPv4 alone" 0.0.0.0:7000 alder:7000 "$@"
  exchange "$how, by name at both ends" alder:7000 alder:7000 "$@"
  exchange "$how, by IPv4 address" 10.77.0.1:7000 10.77.0.1:7000 "$@"
  exchange "$how, by IPv6 address" '[fd77::1]:7000' '[fd77::1]:7000' "$@"
}

# The hosts have a key in common.
ISOFORM_KEY=$(od -An -v -tx1 -N32 /dev/urandom | tr -d ' \n')
export ISOFORM_KEY
exchange_all 'without TLS' --insecure

# They have only certificates of one authority in common.
unset ISOFORM_KEY
on alder keys init --name alder > "$work/keys"
for host in birch cedar; do
  on alder keys issue $host -o "$work/$host.pem" >> "$work/keys" 2>&1
  on $host keys install "$work/$host.pem" >> "$work/keys" 2>&1
done
exchange 'over TLS, by name, IPv6 and IPv4' '[::]:7000' alder:7000
exchange 'over TLS, by name, IPv4 alone' 0.0.0.0:7000 alder:7000
exchange 'over TLS, by name at both ends' alder:7000 alder:7000
