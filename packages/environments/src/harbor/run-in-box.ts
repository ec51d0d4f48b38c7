import path from 'node:path';
import { EnvironmentError } from '@agentjet/core';
import type { ProgramOrder, ProgramResult } from '@agentjet/rollout/inputs';
import type { AgentPlace } from './tools.js';

/** The variables of the program replace those of its place. */
export type ProgramPlace = AgentPlace & {
  readonly outputCharacters: number;
  /** The time that the program has left, in ms. It pauses while time does not count. */
  readonly msLeft: () => number;
};

const writeSeconds = 120;
const script = 'mkdir -p -- "${1%/*}/" && cat > "$1"';

/** Writes the files of a program and runs it in the box until it ends or its time is over. */
export async function runInBox(
  { command, env = {}, files = {}, stdin }: ProgramOrder,
  { box, user, workdir, env: usual, outputCharacters, msLeft, signal }: ProgramPlace,
): Promise<ProgramResult> {
  if (command.length === 0) throw refused('The command of a program is empty. Give at least its name.');
  const common = { user, cwd: workdir, outputCharacters };
  for (const [file, content] of Object.entries(files)) {
    if (!path.posix.isAbsolute(file))
      throw refused(`The file ${JSON.stringify(file)} of a program needs an absolute path.`);
    const write = ['sh', '-c', script, 'write', file];
    const { status, output } = await box.exec(write, { ...common, stdin: content, seconds: writeSeconds, signal });
    if (status !== 0) throw refused(`The file ${file} cannot be written: ${output.trim() || `exit code ${status}`}.`);
  }
  const limit = new AbortController();
  const stop = endWhenOver(msLeft, limit);
  try {
    if (limit.signal.aborted) return { status: null, output: '', isOutOfTime: true };
    const input = stdin === undefined ? {} : { stdin };
    const given = { ...common, ...input, env: { ...usual, ...env }, seconds: null, signal };
    const { status, output, isOutOfTime } = await box.exec(command, { ...given, limit: limit.signal });
    return { status, output, isOutOfTime };
  } finally {
    stop();
  }
}

/** Aborts when no time is left. Time that does not count may make it later. */
function endWhenOver(msLeft: () => number, limit: AbortController): () => void {
  let timer: NodeJS.Timeout;
  const look = (): void => {
    const left = msLeft();
    if (left <= 0) limit.abort(new Error('The time of the agent is over.'));
    else timer = setTimeout(look, Math.max(100, Math.min(left, 2 ** 30)));
  };
  look();
  return () => clearTimeout(timer);
}

const refused = (message: string): EnvironmentError => new EnvironmentError('refused', message);
