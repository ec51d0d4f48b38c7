import { newMark, type ExecOptions } from '../box/exec-in-box.js';
import type { TalkOptions } from '../box/talk-in-box.js';
import { toolsFolderOf, type BoxCluster } from './cluster.js';

/**
 * Shell scripts that run in a pod. They reach it over standard input, because the API server logs the address of a
 * request, which has the command. `$0` is the busybox of the box's tools, so an agent cannot replace the programs.
 */

/** A command that reads a script, framed by its length, and runs it. The rest of standard input is left to the script. */
export function scriptCommand(cluster: BoxCluster): readonly string[] {
  const folder = toolsFolderOf(cluster);
  return [`${folder}/sh`, '-c', `read -r n; ${take('script')}; eval "$script"`, `${folder}/busybox`];
}

/** `dd` reads exactly that many bytes. */
const take = (name: string): string => `${name}=$("$0" dd bs="$n" count=1 iflag=fullblock 2>/dev/null)`;

export function frame(bytes: string | Buffer): Buffer {
  const body = Buffer.from(bytes as string);
  return Buffer.concat([Buffer.from(`${body.length}\n`), body]);
}

/** Standard input cannot be closed, so its end is a frame without bytes. */
export const lastFrame = Buffer.from('0\n');

/** Writes the frames that follow to its standard output. */
const frames =
  'frames() { while read -r n && [ "$n" -gt 0 ]; do "$0" dd bs="$n" count=1 iflag=fullblock 2>/dev/null; done; }';

/** Quotes words for a shell. */
export const words = (list: readonly string[]): string =>
  list.map((word) => `'${word.replaceAll("'", `'\\''`)}'`).join(' ');

export type Reported = { readonly script: string; readonly mark: string };

/**
 * Runs a command as a user, and reports its beginning and its end on standard error, and its end on standard output, too.
 * `user` is a name, a number, or both numbers of the image's user.
 */
export function execScript(
  command: readonly string[],
  { stdin, ...options }: TalkOptions & Pick<ExecOptions, 'stdin'>,
): Reported {
  const input = stdin === undefined ? 'run "$@" 2>&1 < /dev/null' : 'frames | run "$@" 2>&1';
  return reportAround([frames, input, 'status=$?', 'echo "$mark ended"', '(exit "$status")'], command, options);
}

/** Like `execScript`. The command has the rest of standard input, and its errors stay apart from its output. */
export const talkScript = (command: readonly string[], options: TalkOptions): Reported =>
  reportAround(['run "$@"'], command, options);

function reportAround(
  work: readonly string[],
  command: readonly string[],
  { cwd, env = {}, user }: TalkOptions,
): Reported {
  const mark = newMark();
  const script = [
    `mark=${mark}`,
    ...asUser(String(user ?? 0), env),
    `echo "$mark begins $$" >&2`,
    ...(cwd === undefined ? [] : [`cd ${words([cwd])} 2>/dev/null || cd /`]),
    `set -- ${words(command)}`,
    ...work,
    'echo "$mark ended $?" >&2',
  ];
  return { script: script.join('\n'), mark };
}

/** Defines `run`. The user's groups are those of the image's `/etc/group`. */
function asUser(user: string, env: Readonly<Record<string, string>>): readonly string[] {
  const variables = words(Object.entries(env).map(([name, value]) => `${name}=${value}`));
  if (/^(0|root)(:|$)/.test(user)) return [`run() { "$0" env ${variables} "$@"; }`];
  const name = user.split(':')[0] ?? '';
  const number = /^\d+$/.test(name);
  const home = 'HOME' in env ? '' : 'HOME="$home"';
  return [
    `entry=$("$0" awk -F: -v u=${words([name])} '$${number ? 3 : 1} == u { print $1 ":" $6; exit }' /etc/passwd)`,
    'home=${entry#*:}',
    ...(number ? [] : [`[ -n "$entry" ] || { echo ${words([`The image has no user ${name}.`])} >&2; exit 126; }`]),
    'if [ -n "$entry" ]; then tool=su; else tool=setuidgid; fi',
    '"$0" --list | "$0" grep -qx $tool || { echo "The tools of boxes have no $tool." >&2; exit 126; }',
    'if [ "$tool" = su ]',
    `then run() { "$0" su -p -s "\${0%busybox}sh" -c 'exec "$@"' -- "\${entry%%:*}" sh "$0" env ${home} ${variables} "$@"; }`,
    `else run() { "$0" setuidgid ${words([user.includes(':') ? user : `${user}:0`])} "$0" env HOME=/ ${variables} "$@"; }`,
    'fi',
  ];
}

/** Unpacks the archive whose frames follow. */
export function unpackScript(folder: string): Reported {
  const mark = newMark();
  const unpack = `frames | "$0" tar -x -f - -C ${words([folder])} 2>&1`;
  return { script: [frames, unpack, `echo "${mark} ended $?" >&2`].join('\n'), mark };
}

/** Packs a file or folder, or reports `absent`. */
export function packScript(folder: string, name: string): Reported {
  const mark = newMark();
  const file = words([`${folder.replace(/\/$/, '')}/${name}`]);
  const script = [
    `if [ -e ${file} ] || [ -L ${file} ]`,
    `then "$0" tar -c -f - -C ${words([folder, name.startsWith('-') ? `./${name}` : name])}; echo "${mark} ended $?" >&2`,
    `else echo "${mark} absent 0" >&2`,
    'fi',
  ];
  return { script: script.join('\n'), mark };
}

/**
 * Ends every process except the first one, and fails if one is left. The kernel ends them all at once, so none can start
 * another one meanwhile. Processes that have ended and that nobody waits for do not count.
 */
export const killAllScript = [
  'for try in 1 2 3 4 5 6 7 8 9 10; do',
  '  kill -9 -1 2>/dev/null',
  '  left=',
  '  for folder in /proc/[0-9]*; do',
  '    pid=${folder#/proc/}',
  '    if [ "$pid" = 1 ] || [ "$pid" = "$$" ]; then continue; fi',
  '    read -r line < "$folder/stat" 2>/dev/null || continue',
  '    case "${line##*) }" in [ZX]*) ;; *) left=$pid;; esac',
  '  done',
  '  [ -n "$left" ] || exit 0',
  '  "$0" sleep 0.2',
  'done',
  'echo "process $left is left" >&2; exit 1',
].join('\n');

/** Ends a process group, and fails if it has no process. */
export const killGroupScript = (pid: string): string => `kill -9 -${pid}`;

/**
 * Fails with 1 if the box can reach the API server. One failed try proves nothing, because a network also loses
 * connections, and a policy may take effect a little later. So three tries in succession must fail.
 */
export const offlineScript = [
  '"$0" --list | "$0" grep -qx nc || { echo "The tools of boxes have no nc." >&2; exit 2; }',
  '[ -n "$KUBERNETES_SERVICE_HOST" ] || { echo "The box does not know the address of the API server." >&2; exit 2; }',
  'failed=0',
  'for try in 1 2 3 4 5 6 7 8 9 10 11 12; do',
  '  if "$0" nc -w 1 "$KUBERNETES_SERVICE_HOST" "$KUBERNETES_SERVICE_PORT" < /dev/null > /dev/null 2>&1',
  '  then failed=0; "$0" sleep 0.5',
  '  else failed=$((failed + 1)); [ "$failed" -lt 3 ] || exit 0',
  '  fi',
  'done',
  'exit 1',
].join('\n');
