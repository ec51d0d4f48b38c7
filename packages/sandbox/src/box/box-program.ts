import { parseJsonObject } from '@agentjet/core';
import { SandboxError } from '../code-runner.js';
import { lastLine } from '../process/watch-limits.js';
import { askEngine, callEngine, type BoxEngine } from './engine.js';

/** Boxes that run a program of their image, such as a server, instead of waiting for commands. */

export type BoxProgram = {
  /** Goes before the arguments. Null: that of the image. */
  readonly entrypoint: readonly string[] | null;
  /** The arguments. Null: those of the image, unless the program has another entry point. */
  readonly command: readonly string[] | null;
};

const engineSeconds = 60;

/** Returns the program with its arguments, or null if the box has none. Throws SandboxError if the image names none. */
export async function readProgram(
  engine: BoxEngine,
  { image, program }: { readonly image: string; readonly program?: BoxProgram | undefined },
): Promise<readonly string[] | null> {
  if (program === undefined) return null;
  const format = '{"entrypoint":{{json .Config.Entrypoint}},"command":{{json .Config.Cmd}}}';
  const said = await askEngine(engine, ['image', 'inspect', '--format', format, image], { seconds: engineSeconds });
  const ofImage = parseJsonObject(said) as Partial<BoxProgram> | undefined;
  if (ofImage === undefined) throw new SandboxError('failed', `${engine.name} does not describe the image ${image}.`);
  const entrypoint = program.entrypoint ?? ofImage.entrypoint ?? [];
  const command = program.command ?? (program.entrypoint === null ? ofImage.command : null) ?? [];
  const whole = [...entrypoint, ...command];
  if (whole.length === 0) throw new SandboxError('failed', `The image ${image} names no program to run.`);
  return whole;
}

/**
 * The shell is the first process of the box. It ends with the program, or when the life of the box is over, which the
 * first process could not be made to do from inside. `ownStatus` is the highest status of a program, so that another one
 * is that of an engine that ended the box.
 */
const script =
  'life=$1; shift; "$@" & it=$!; (sleep "$life"; kill -9 $it) & wait $it; s=$?; [ $s -le 120 ] || s=120; exit $s';
const ownStatus = 120;

/** The end of `run` for an image and its program. */
export const programArguments = (image: string, program: readonly string[], lifeSeconds: number): readonly string[] => [
  '--entrypoint',
  '/bin/sh',
  image,
  '-c',
  script,
  'program',
  String(Math.ceil(lifeSeconds)),
  ...program,
];

export type BoxEnd = {
  /** The status of the program; 120 if a signal ended it. */
  readonly status: number;
  /** False if the engine ended the box, or lost its status. */
  readonly isOwn: boolean;
  /** The last line that the program printed. */
  readonly said: string;
  /** False if podman has yet to take the box off its network, for which it writes the names of the network again. */
  readonly isCleared: boolean;
};

/** Returns how the program of a box ended, or null while it is running. Throws SandboxError if the box is gone. */
export async function readProgramEnd(engine: BoxEngine, box: string): Promise<BoxEnd | null> {
  const { state, value } = await readState(engine, box, 'ExitCode');
  if (state === 'running') return null;
  const status = Number(value);
  if (!Number.isInteger(status)) throw new SandboxError('failed', `${engine.name} does not say how ${box} ended.`);
  const logs = await callEngine(engine, ['logs', '--tail', '5', box], { seconds: engineSeconds });
  return {
    status,
    isOwn: status >= 0 && status <= ownStatus,
    said: lastLine(logs.stderr) || lastLine(logs.stdout),
    isCleared: state !== 'stopped',
  };
}

/** Returns when a box began. Throws SandboxError if it is not running. */
export async function readProgramStart(engine: BoxEngine, box: string): Promise<string> {
  const { state, value } = await readState(engine, box, 'StartedAt');
  if (state === 'running') return value;
  throw new SandboxError('failed', `The box ${box} has ended.`);
}

/** States of a box that has ended. The exit code of a box in another state is not its own. */
const endStates = ['exited', 'stopped', 'dead'];

/** Returns the state of a box with one of its fields. Throws SandboxError if the box neither runs nor has ended. */
async function readState(
  engine: BoxEngine,
  box: string,
  field: 'ExitCode' | 'StartedAt',
): Promise<{ readonly state: string; readonly value: string }> {
  const format = `{{.State.Status}} {{.State.${field}}}`;
  const said = await askEngine(engine, ['container', 'inspect', '--format', format, box], { seconds: engineSeconds });
  const [state = '', ...rest] = said.split(' ');
  if (state !== 'running' && !endStates.includes(state))
    throw new SandboxError('failed', `The box ${box} is in the state ${JSON.stringify(state)}.`);
  return { state, value: rest.join(' ') };
}
