#!/bin/sh
# `holocron` for a person on this machine: as the user and with the settings that its units have. Give it by sudo.
set -a
. /etc/holocron/holocron.env
cd /opt/holocron
exec runuser -u holocron -- /opt/holocron/.venv/bin/holocron "$@"
