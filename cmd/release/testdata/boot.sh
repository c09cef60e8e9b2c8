#!/bin/bash
# boot.sh DIR LIBRARY begins a system of systemd's, as process 1 of namespaces that
# it was started in. It sees the files of this machine, and what it changes is in
# memory and its own. LIBRARY is put where programs find it. DIR is kept.
set -eu
dir=$1 library=$2
[ -n "${in_cgroup:-}" ] || exec env in_cgroup=1 unshare --cgroup -- bash "$0" "$@"
mount --make-rprivate /
mount -t tmpfs tmpfs "$dir/changes"
root=$dir/changes/root
mkdir "$dir"/changes/{upper,work,root}
mount -t overlay overlay -o "lowerdir=/,upperdir=$dir/changes/upper,workdir=$dir/changes/work" "$root"
mount -t proc proc "$root/proc"
mount -t sysfs sysfs "$root/sys"
mount -t cgroup2 cgroup2 "$root/sys/fs/cgroup"
mount -t tmpfs tmpfs "$root/run"
mount -t tmpfs tmpfs "$root/tmp"
mount --rbind /dev "$root/dev"
mount --make-rprivate "$root/dev"
: >"$dir/console"
mount --bind "$dir/console" "$root/dev/console"
mkdir "$root/run/test"
mount --bind "$dir" "$root/run/test"
if [ -n "$library" ]; then
	: >"$root/usr/local/lib/libchdb.so"
	mount --bind "$library" "$root/usr/local/lib/libchdb.so"
fi
rm -f "$root/usr/sbin/policy-rc.d"
rm -rf "$root/var/lib/rocelens" "$root/etc/rocelens" # from a rocelens of this machine
echo 0123456789abcdef0123456789abcdef >"$root/etc/machine-id"
# Nothing of this machine is started.
mkdir "$dir/changes/empty"
units=$root/etc/systemd/system
for t in sysinit multi-user; do
	[ ! -d "$root/lib/systemd/system/$t.target.wants" ] || mount --bind "$dir/changes/empty" "$root/lib/systemd/system/$t.target.wants"
done
printf '[Unit]\nDefaultDependencies=no\n' >"$units/idle.target"
# There is no journal.
mkdir "$units/rocelens-monitor.service.d"
printf '[Service]\nStandardOutput=append:/run/test/log\nStandardError=inherit\n' >"$units/rocelens-monitor.service.d/log.conf"
cd "$root"
pivot_root . mnt
umount -l /mnt
exec env -u in_cgroup container=test /lib/systemd/systemd --unit=idle.target --log-target=console --show-status=no
