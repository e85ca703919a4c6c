# Sourced: minimal Debian systems, each in a folder of its own, which is kept and reused. $systems lists
# those in use; they are unmounted at the end.

here=$PWD
folder=${PLATFORMS:-$here/build-platforms}

# The archive of this machine's own packages, or debootstrap's default.
archive() {
	apt-get indextargets --format '$(ORIGIN) $(SITE)' 'Created-By: Packages' 2>/dev/null \
		| awk -v origin="$1" '$1 == origin { print $2; exit }'
}

# bootstrap SYSTEM: a minimal system in minimal-SYSTEM, or false where it can't be had.
bootstrap() {
	minimal=$folder/minimal-$1
	if [ -f "$minimal/bootstrapped" ]; then
		return 0
	fi
	origin=Debian
	[ "$1" != noble ] || origin=Ubuntu
	site=$(archive "$origin")
	rm -rf "$minimal"
	# shellcheck disable=SC2086
	debootstrap --force-check-gpg --variant=minbase "$1" "$minimal" $site >"$folder/$1.log" 2>&1 || return 1
	unmount "minimal-$1" # debootstrap can leave its /proc there
	# A mirror may lag behind what its release file promises.
	echo 'Acquire::Check-Valid-Until "false";' >"$minimal/etc/apt/apt.conf.d/mirror"
	touch "$minimal/bootstrapped"
}

# open_system NAME MINIMAL: a copy of a minimal system, if there is none of the name; then its mounts and network.
open_system() {
	[ -d "$folder/$1" ] || cp -a "$folder/minimal-$2" "$folder/$1"
	[ ! -f /etc/resolv.conf ] || cp -L /etc/resolv.conf "$folder/$1/etc/resolv.conf"
	mountpoint -q "$folder/$1/proc" || mount -t proc proc "$folder/$1/proc"
	for inner in dev dev/pts; do
		mountpoint -q "$folder/$1/$inner" || mount --bind "/$inner" "$folder/$1/$inner"
	done
}

unmount() {
	for inner in proc dev/pts dev; do
		! mountpoint -q "$folder/$1/$inner" || umount "$folder/$1/$inner"
	done
}

unmount_all() {
	for system in $systems; do
		unmount "$system"
	done
}

# remove SYSTEM: never through a mount.
remove() {
	unmount "$1" && rm -rf --one-file-system "${folder:?}/$1"
}

# checkout SYSTEM: the last commit, as its folder /attnledger
checkout() {
	rm -rf "$folder/$1/attnledger"
	git clone -q "$here" "$folder/$1/attnledger"
}

# inside SYSTEM COMMAND: a shell in that system, in the checkout, with nothing of this environment.
inside() {
	chroot "$folder/$1" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 \
		DEBIAN_FRONTEND=noninteractive CI=true sh -euc "cd /attnledger; $2"
}

# Whether systems can be made here; says why not.
has_systems() {
	[ "$(id -u)" -eq 0 ] && command -v debootstrap >/dev/null
}
