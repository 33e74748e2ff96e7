#!/bin/sh
# Stands for ptxas: prints the text in FAKE_PTXAS_LOG and writes a fake cubin,
# unless FAKE_PTXAS_STATUS says to fail or FAKE_PTXAS_SLEEP to hang.
if [ "$1" = --version ]; then
  echo "Cuda compilation tools, release 13.0, V13.0.88"
  exit 0
fi
if [ -n "$FAKE_PTXAS_SLEEP" ]; then
  exec sleep "$FAKE_PTXAS_SLEEP"
fi
cat "$FAKE_PTXAS_LOG" >&2
while [ $# -gt 1 ]; do
  if [ "$1" = -o ]; then
    [ "${FAKE_PTXAS_STATUS:-0}" != 0 ] || printf 'fake cubin' > "$2"
  fi
  shift
done
exit "${FAKE_PTXAS_STATUS:-0}"
