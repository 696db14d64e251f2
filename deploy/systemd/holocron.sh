#!/bin/sh
# `holocron` for a person on this machine: as the user and with the settings that its units have. Give it by sudo.
# Settings are taken as systemd takes them: a `$` or `&` in an address is no word of the shell's.
while IFS= read -r setting || [ -n "$setting" ]; do
    case $setting in
    [A-Z]*=*) export "$setting" ;;
    esac
done </etc/holocron/holocron.env
cd /opt/holocron || exit
exec runuser -u holocron -- /opt/holocron/.venv/bin/holocron "$@"
