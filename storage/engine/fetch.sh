#!/usr/bin/env bash
# Fetches the ClickHouse library that pin.env names into the user's cache, where
# rocelens looks for it, and checks both the package and the library in it. Run
# by `make engine`. What is there already is not fetched again, and a download
# that was cut goes on where it stopped.
#
# The package comes from the npm registry that npm is set up to use. Without npm,
# the address of a registry may be given in npm_config_registry.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=/dev/null
. "${PIN_FILE:-$here/pin.env}"

# Seconds in which npm must have an answer.
patience=${PATIENCE:-30}

say() { echo "engine: $*"; }
fail() {
	echo "engine: $*" >&2
	exit 1
}
have() { command -v "$1" >/dev/null; }

system=$(uname -s)/$(uname -m)
if [[ $system != Linux/x86_64 ]]; then
	say "there is no package of the library for $system: install ClickHouse, or name a libchdb.so in ROCELENS_CHDB"
	exit 0
fi
if [[ -n ${ROCELENS_CHDB:-} ]]; then
	say "ROCELENS_CHDB names $ROCELENS_CHDB, nothing to fetch"
	exit 0
fi

dir=${XDG_CACHE_HOME:-${HOME:?}/.cache}/rocelens/chdb-$VERSION
library=$dir/libchdb.so
stamp=$dir/checked # holds the checksum of the library beside it
mkdir -p "$dir"

# One at a time, where the system has what that takes.
if have flock; then
	exec 9>"$dir/fetch.lock"
	flock 9
fi

if [[ -f $library && -f $stamp && $(<"$stamp") == "$LIBRARY_SHA256" && $(stat -c %s "$library") == "$LIBRARY_BYTES" ]]; then
	say "$library is there"
	exit 0
fi

is() { # is SUM FILE CHECKSUM
	[[ $("$1" "$2" | cut -d' ' -f1) == "$3" ]]
}

package=$dir/package.tgz
if [[ -f $package ]] && ! is sha512sum "$package" "$TARBALL_SHA512"; then
	rm -f "$package"
fi
if [[ ! -f $package ]]; then
	rm -rf "$dir/pack"
	mkdir "$dir/pack"
	url=
	say "fetching $PACKAGE@$VERSION, 178 MB"
	if have npm; then
		code=0
		url=$(timeout "$patience" npm view "$PACKAGE@$VERSION" dist.tarball 2>"$dir/pack/log") || code=$?
		[[ $code != 124 ]] || fail "the registry that npm is set up to use did not answer within $patience s"
	elif [[ -n ${npm_config_registry:-} ]]; then
		url=${npm_config_registry%/}/$PACKAGE/-/${PACKAGE##*/}-$VERSION.tgz
	else
		fail "npm is needed to fetch it (or curl, and a registry in npm_config_registry)"
	fi
	if [[ -n $url ]] && have curl && curl -fsSL --connect-timeout 10 --retry 3 -C - -o "$package.part" "$url" 2>>"$dir/pack/log"; then
		mv "$package.part" "$package"
	elif have npm && (cd "$dir/pack" && npm pack --silent "$PACKAGE@$VERSION" >/dev/null 2>>log); then
		mv "$dir"/pack/*.tgz "$package"
		rm -f "$package.part"
	else
		cat "$dir/pack/log" >&2
		fail "$PACKAGE@$VERSION could not be fetched; run this again to go on"
	fi
	rm -rf "$dir/pack"
	if ! is sha512sum "$package" "$TARBALL_SHA512"; then
		rm -f "$package"
		fail "what was fetched as $PACKAGE@$VERSION has the wrong checksum and was deleted"
	fi
fi

say "unpacking to $library, 566 MB"
rm -rf "$dir/new"
mkdir "$dir/new"
tar -xzf "$package" -C "$dir/new" --strip-components=1 package/libchdb.so
if ! is sha256sum "$dir/new/libchdb.so" "$LIBRARY_SHA256"; then
	rm -rf "$dir/new"
	fail "the library in $PACKAGE@$VERSION has the wrong checksum and was deleted"
fi
chmod 755 "$dir/new/libchdb.so"
mv -f "$dir/new/libchdb.so" "$library"
echo "$LIBRARY_SHA256" >"$stamp"
rm -rf "$dir/new" "$package"
say "$library is there"
