import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { BoxEngine } from '../box/engine.js';

/**
 * A replacement for the command line of podman, for tests without an engine. Commands of `exec` run on this machine,
 * files of `cp` come from a folder, and every call is written down.
 */
export type ScriptedEngine = {
  readonly engine: BoxEngine;
  /** The calls so far, each as one line. */
  readonly calls: () => readonly string[];
  /** Runs before the named verb, as lines of a shell script. `$@` are its arguments. */
  readonly on: (verb: string, script: string) => void;
  /** The root folder of boxes, for `cp` out of a box. */
  readonly root: string;
};

const script = `#!/bin/sh
home=$(dirname "$0")
echo "$*" | head -n 1 >> "$home/calls"
verb=$1; shift
if [ -e "$home/on-$verb" ]; then . "$home/on-$verb"; fi
case $verb in
info) echo "$home";;
image) [ -e "$home/has-image" ];;
build|pull) touch "$home/has-image";;
container) [ ! -e "$home/gone" ] && echo true;;
exec)
  while [ "$1" != /bin/sh ]; do shift; done
  exec "$@";;
cp)
  for last; do :; done
  if [ "$last" = - ]; then
    from=\${1#*:}
    if [ -e "$home/gone" ] || [ ! -e "$home/root$from" ]; then
      echo "Error: \\"$from\\" could not be found on container b: no such file or directory" >&2
      exit 125
    fi
    tar -C "$(dirname "$home/root$from")" -c "$(basename "$from")"
  else cat > "$home/copied.tar"; fi;;
esac
`;

/** Creates the program in a new folder below `parent`. */
export function scriptEngine(parent: string): ScriptedEngine {
  const folder = mkdtempSync(path.join(parent, 'engine-'));
  const program = path.join(folder, 'podman');
  writeFileSync(program, script);
  chmodSync(program, 0o755);
  const root = path.join(folder, 'root');
  mkdirSync(root);
  const log = path.join(folder, 'calls');
  return {
    engine: { name: 'podman', program, folder },
    calls: () => (existsSync(log) ? readFileSync(log, 'utf8').trimEnd().split('\n') : []),
    on: (verb, lines) => writeFileSync(path.join(folder, `on-${verb}`), `${lines}\n`),
    root,
  };
}
