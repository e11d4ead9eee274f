#!/bin/sh
# Installs a package over the system, in a layer that ends with this process, and starts it from its desktop file.
# Usage: bundle.sh PACKAGE FOLDER DISPLAY, in mount and process namespaces of its own; ends when its stdin does.
set -eu
package=$1
folder=$2
display=$3

layer=$(mktemp -d)
mount -t tmpfs tmpfs "$layer"
mkdir "$layer/changed" "$layer/work" "$layer/system"
system=$layer/system
mount -t overlay overlay -o "lowerdir=/,upperdir=$layer/changed,workdir=$layer/work" "$system"
mount --rbind /dev "$system/dev"
mount -t proc proc "$system/proc"
# Sockets are found in the system's own folder only, and so are the package and the user's folder.
mount --bind /tmp "$system/tmp"

chroot "$system" /usr/bin/dpkg --install "$package" >&2
chroot "$system" /usr/bin/desktop-file-validate "/usr/share/applications/RTC Desktop.desktop" >&2
chroot "$system" /usr/bin/env -i DISPLAY="$display" \
    /usr/bin/gio launch "/usr/share/applications/RTC Desktop.desktop" "$folder" >&2
read -r _ || true
