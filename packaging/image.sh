#!/bin/sh
# Makes the root file system of the image: the archive, the C and C++ libraries that its Node needs, a user, and
# nothing else: no shell, no package manager. Runs on Debian.
# image.sh ARCHIVE FOLDER
set -eu
archive=$(readlink -f "$1")
mkdir -p "$2"
image=$(readlink -f "$2")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

cd "$scratch"
apt-get download -qq libc6 libgcc-s1 libstdc++6 >/dev/null
mkdir debian
for package in *.deb; do dpkg-deb -x "$package" debian; done
mkdir -p "$image/fusegate" "$image/etc" "$image/tmp" "$image/dev" "$image/proc"
# Libraries and the loader alone, under the folders that Debian links together.
libraries=$(cd debian && find . -name '*-linux-gnu*' -type d -path '*lib/*' | head -n 1)
mkdir -p "$image/usr/lib" "$image/usr/lib64"
triplet=$(basename "$libraries")
mkdir -p "$image/usr/lib/$triplet"
for folder in debian/lib debian/usr/lib; do
  [ ! -d "$folder/$triplet" ] || find "$folder/$triplet" -maxdepth 1 -name '*.so*' \
    -exec cp -a {} "$image/usr/lib/$triplet/" \;
done
ln -s usr/lib "$image/lib"
ln -s usr/lib64 "$image/lib64"
for loader in "$image/usr/lib/$triplet"/ld-linux*; do
  ln -sf "../lib/$triplet/$(basename "$loader")" "$image/usr/lib64/$(basename "$loader")"
  # On arm64 programs name it here.
  ln -sf "$triplet/$(basename "$loader")" "$image/usr/lib/$(basename "$loader")"
done

printf 'root:x:0:0::/:/sbin/nologin\nfusegate:x:1000:1000::/fusegate:/sbin/nologin\n' >"$image/etc/passwd"
printf 'root:x:0:\nfusegate:x:1000:\n' >"$image/etc/group"
printf 'hosts: files dns\n' >"$image/etc/nsswitch.conf"
chmod 1777 "$image/tmp"
tar -xzf "$archive" -C "$image/fusegate" --strip-components=1
# A new volume takes its owner from this folder.
install -d -o 1000 -g 1000 -m 700 "$image/fusegate/data"
