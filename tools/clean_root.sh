#!/usr/bin/env bash
# tools/clean_root.sh [--user] [--keep] [--dir DIR] [--root ROOT] [--suite SUITE] [--copy FILE]…
#                     [--] [command…]
#
# Runs a command (default: make check) in a clone of HEAD on a fresh Debian 12 that has
# only git, make, g++ and sudo, the way a newcomer's first minute goes.
#
#   --user      as an ordinary user with sudo without a password, not as root
#   --keep      go on in the root of the last run: the command a second time
#   --dir DIR   where the clone lies, below the home folder (default: "iotune")
#   --suite S   another Debian than bookworm, from the same archive: bullseye has glibc 2.31
#   --copy FILE a file or a folder that is to lie in the clone, too: a wheel, a package
#   --root ROOT where the roots are kept (default: /var/tmp/iotune-clean-root)
#
# Needs root on this machine (mounts, chroot) and 3 GB below ROOT. The base is made
# once and copied for each run; remove ROOT to have it made anew.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
checkout=$PWD

die() { printf 'clean_root: %s\n' "$*" >&2; exit 1; }
say() { printf 'clean_root: %s\n' "$*" >&2; }

root=/var/tmp/iotune-clean-root
user=root
keep=
folder=iotune
suite=bookworm
copies=()
while [ $# -gt 0 ]; do
  case $1 in
    --user) user=tester ;;
    --keep) keep=1 ;;
    --dir) folder=$2; shift ;;
    --root) root=$2; shift ;;
    --suite) suite=$2; shift ;;
    --copy) copies+=("$2"); shift ;;
    --) shift; break ;;
    -*) die "unknown option $1" ;;
    *) break ;;
  esac
  shift
done
[ $# -gt 0 ] || set -- make check
[ "$(id -u)" -eq 0 ] || die "needs root: it mounts and changes its root"
case $root/ in "$checkout"/*) die "ROOT must not lie in the checkout" ;; esac

base=$root/base
[ "$suite" = bookworm ] || base=$root/base-$suite
run=$root/run
# This machine's own, where apt's configuration says nothing of the suite.
here=bookworm
bare=(env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8
  DEBIAN_FRONTEND=noninteractive)
# This machine's way to the package registries, whatever it is.
for name in http_proxy https_proxy no_proxy HTTP_PROXY HTTPS_PROXY NO_PROXY PIP_INDEX_URL \
  PIP_EXTRA_INDEX_URL PIP_TRUSTED_HOST PIP_DEFAULT_TIMEOUT; do
  [ -z "${!name:-}" ] || bare+=("$name=${!name}")
done

# inside NEWROOT command…: own mounts, own process tree; both end with the command.
inside() {
  unshare --mount --uts --pid --fork --mount-proc="$1/proc" --propagation private bash -c '
    set -e
    new=$1; shift
    mount --rbind /dev "$new/dev"
    mount -t tmpfs -o mode=1777 tmpfs "$new/dev/shm"
    mount -t sysfs sysfs "$new/sys"
    exec chroot "$new" "$@"' inside "$@"
}

# The outer machine may reach its mirror, its package index and its certificates in ways
# of its own; what it has configured is copied, so that nothing here names a host.
configure() {
  local new=$1 file bundle
  cp -L /etc/resolv.conf "$new/etc/resolv.conf"
  cp -L /etc/hosts "$new/etc/hosts"
  rm -f "$new/etc/apt/sources.list" "$new/etc/apt/sources.list.d/"*
  for file in /etc/apt/sources.list /etc/apt/sources.list.d/*.list /etc/apt/sources.list.d/*.sources; do
    # Only Debian's own archive: a fresh machine has no other.
    if [ -s "$file" ] && grep -q "$suite" "$file"; then cp "$file" "$new/etc/apt/${file#/etc/apt/}"; fi
  done
  [ "$suite" = "$here" ] || printf 'deb %s %s main\n' "$(mirror_of "$here")" "$suite" >"$new/etc/apt/sources.list"
  for file in /etc/apt/apt.conf.d/*; do
    if grep -qi 'acquire' "$file" && ! grep -qi 'post-invoke' "$file"; then
      cp "$file" "$new/etc/apt/apt.conf.d/"
    fi
  done
  [ ! -s /etc/pip.conf ] || cp /etc/pip.conf "$new/etc/pip.conf"
  bundle=${PIP_CERT:-${SSL_CERT_FILE:-/etc/ssl/certs/ca-certificates.crt}}
  [ ! -s "$bundle" ] || cp -L "$bundle" "$new/usr/local/share/outer-ca-bundle.crt"
}

mirror_of() { # suite
  apt-get indextargets --format '$(CODENAME) $(SITE)' 2>/dev/null |
    awk -v suite="$1" '$1 == suite { print $2; exit }'
}

make_base() {
  local tools=$root/debootstrap mirror
  mkdir -p "$root"
  rm -rf "$base" "$base.new" "$tools"
  mkdir -p "$tools"
  mirror=$(mirror_of "$suite")
  [ -n "$mirror" ] || mirror=$(mirror_of "$here")
  [ -n "$mirror" ] || die "apt here has no source for $suite"
  say "making the base in $base"
  (cd "$tools" && apt-get -qq download debootstrap && dpkg -x debootstrap_*.deb .) ||
    die "could not download debootstrap (apt-get update first?)"
  DEBOOTSTRAP_DIR=$tools/usr/share/debootstrap "$tools/usr/sbin/debootstrap" \
    --variant=minbase --include=ca-certificates "$suite" "$base.new" "$mirror" \
    >"$root/debootstrap.log" 2>&1 || { tail "$root/debootstrap.log" >&2; die "debootstrap failed"; }
  configure "$base.new"
  # procfs of debootstrap itself may still be mounted there.
  umount "$base.new/proc" "$base.new/sys" 2>/dev/null || true
  inside "$base.new" "${bare[@]}" sh -ec '
    apt-get -qq update
    apt-get -qq install -y --no-install-recommends git make g++ sudo >/dev/null 2>&1
    apt-get clean
    useradd -m -s /bin/bash tester
    echo "tester ALL=(ALL) NOPASSWD: ALL" >/etc/sudoers.d/tester
    chmod 0440 /etc/sudoers.d/tester'
  mv "$base.new" "$base"
}

[ -d "$base" ] || make_base
home=/home/tester
[ "$user" = tester ] || home=/root
if [ -z "$keep" ] || [ ! -d "$run$home/$folder" ]; then
  rm -rf "$run"
  cp -a --reflink=auto "$base" "$run"
  configure "$run"
  git clone -q --no-hardlinks "$checkout" "$run$home/$folder"
  chown -R --reference="$run$home" "$run$home/$folder"
fi
for copy in "${copies[@]}"; do
  cp -a "$copy" "$run$home/$folder/"
done
if [ -s "$run/usr/local/share/outer-ca-bundle.crt" ]; then
  bare+=(PIP_CERT=/usr/local/share/outer-ca-bundle.crt
    CARGO_HTTP_CAINFO=/usr/local/share/outer-ca-bundle.crt)
fi
say "as $user in $home/$folder: $*"
inside "$run" "${bare[@]}" HOME="$home" USER="$user" LOGNAME="$user" \
  setpriv --reuid "$user" --regid "$user" --init-groups \
  bash -c 'cd "$HOME/$1" && shift && exec "$@"' bash "$folder" "$@" </dev/null
