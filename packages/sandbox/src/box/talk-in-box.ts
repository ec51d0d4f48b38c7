import type { Readable, Writable } from 'node:stream';
import { exitOf, lastLine } from '../process/watch-limits.js';
import type { BoxClient } from './engine.js';
import { watchReport, type ExecOptions } from './exec-in-box.js';

/** A command that runs in a box for a while, and whose input and output are streams. */
export type BoxTalk = {
  readonly stdin: Writable;
  readonly stdout: Readable;
  /** Resolves when the command has ended, to the last line of its standard error. */
  readonly ended: Promise<string>;
  /** Ends the command and the processes of its group. A second call does nothing. */
  readonly close: () => Promise<void>;
};

export type TalkOptions = Pick<ExecOptions, 'user' | 'cwd' | 'env'>;

/** `$0` is the mark, and `$1` the folder. The command takes the place of the shell. */
export const talkingScript =
  'echo "$0 begins $$" >&2; [ -z "$1" ] || cd "$1" 2>/dev/null || cd /; shift; command -v "$1" >/dev/null || { echo "$1: not found" >&2; exit 127; }; exec "$@"';

export function talkInBox(
  client: BoxClient,
  { mark, endGroup }: { readonly mark: string; readonly endGroup: (pid: string) => Promise<void> },
): BoxTalk {
  const report = watchReport(mark);
  client.stderr.setEncoding('utf8').on('data', (text: string) => report.read(text));
  client.stdin.on('error', () => undefined);
  client.stdout.on('error', () => undefined);
  let isEnded = false;
  const ended = exitOf(client).then(({ signal, status }) => {
    isEnded = true;
    return lastLine(report.other) || (signal === null ? `exit code ${status}` : `its client got ${signal}`);
  });
  let closing: Promise<void> | undefined;
  const close = async (): Promise<void> => {
    if (isEnded) return;
    client.kill('SIGKILL');
    await ended;
    if (report.pid !== undefined) await endGroup(report.pid).catch(() => undefined);
  };
  return { stdin: client.stdin, stdout: client.stdout, ended, close: () => (closing ??= close()) };
}
