import { EnvironmentError, type ToolSpec } from '@agentjet/core';
import type { ToolResult } from '@agentjet/rollout/inputs';
import type { Box, ExecResult } from '@agentjet/sandbox/boxes';

/** The tools with which an agent outside of the box works in it, as the task's user. */

/** Where the programs of the agent run, and as whom. */
export type AgentPlace = {
  readonly box: Box;
  readonly user: string | number | undefined;
  readonly workdir: string;
  /** Variables of the network, in addition to those of the box. */
  readonly env: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
};

export type ToolPlace = AgentPlace & {
  readonly shell: 'bash' | 'sh';
  /** The tools of the agent, including those of servers, for messages. */
  readonly toolNames: readonly string[];
  readonly outputCharacters: number;
  /** The longest time of one command. */
  readonly commandSeconds: number;
  /** The time that the agent has left. */
  readonly secondsLeft: number;
};

const text = (description: string) => ({ type: 'string', description });

export const toolSpecs: readonly ToolSpec[] = [
  {
    name: 'bash',
    description:
      'Runs a command in a shell on the machine of the task and returns what it prints. Each call has a new shell; files remain.',
    parameters: {
      type: 'object',
      properties: {
        command: text('The command.'),
        timeout: { type: 'number', description: 'Seconds after which the command is ended.' },
      },
      required: ['command'],
      additionalProperties: false,
    },
  },
  {
    name: 'read',
    description: 'Returns the lines of a text file.',
    parameters: {
      type: 'object',
      properties: {
        path: text('The file.'),
        offset: { type: 'integer', description: 'The first line, from 1.' },
        limit: { type: 'integer', description: 'The number of lines.' },
      },
      required: ['path'],
      additionalProperties: false,
    },
  },
  {
    name: 'write',
    description: 'Writes a text file and the folders that it needs. Replaces a file that exists.',
    parameters: {
      type: 'object',
      properties: { path: text('The file.'), content: text('The whole text of the file.') },
      required: ['path', 'content'],
      additionalProperties: false,
    },
  },
];

type Args = Readonly<Record<string, unknown>>;

/** Runs a tool. Throws EnvironmentError `refused` for arguments that no tool takes. */
export async function runTool(tool: string, args: Args, place: ToolPlace): Promise<ToolResult> {
  if (tool === 'bash') return runBash(args, place);
  if (tool === 'read') return readText(args, place);
  if (tool === 'write') return writeText(args, place);
  throw refused(`There is no tool "${tool}"; there are ${place.toolNames.join(', ')}.`);
}

async function runBash(args: Args, place: ToolPlace): Promise<ToolResult> {
  const command = stringOf(args, 'command');
  const asked = args['timeout'];
  if (asked !== undefined && !(typeof asked === 'number' && asked > 0))
    throw wrong('timeout', asked, 'a positive number');
  const seconds = Math.min(place.commandSeconds, asked ?? Infinity);
  const result = await exec([place.shell, '-c', command], place, { seconds });
  const ended = result.isOutOfTime ? [`[The command was ended after ${Math.min(seconds, place.secondsLeft)} s.]`] : [];
  const status =
    result.status === 0 || result.isOutOfTime
      ? []
      : [`[exit code ${result.status ?? 'unknown: the shell was killed'}]`];
  const isError = result.status !== 0;
  const shown = [result.output.replace(/\n$/, ''), ...ended, ...status].filter((part) => part !== '').join('\n');
  return { text: shown, data: { output: result.output, status: result.status }, ...(isError && { isError }) };
}

async function readText(args: Args, place: ToolPlace): Promise<ToolResult> {
  const offset = lineOf(args, 'offset') ?? 1;
  const limit = lineOf(args, 'limit');
  const rest = limit === undefined ? '' : ` | head -n ${limit}`;
  const script = `if [ -d "$1" ]; then echo "$1 is a folder"; exit 1; fi; [ -r "$1" ] || { cat -- "$1"; exit 1; }; tail -n +${offset} -- "$1"${rest}`;
  return toResult(await exec(['sh', '-c', script, 'read', stringOf(args, 'path')], place));
}

async function writeText(args: Args, place: ToolPlace): Promise<ToolResult> {
  const path = stringOf(args, 'path');
  const script = 'case "$1" in */*) mkdir -p -- "${1%/*}/";; esac && cat > "$1"';
  const result = await exec(['sh', '-c', script, 'write', path], place, { stdin: stringOf(args, 'content') });
  return result.status === 0 ? { text: `Wrote ${path}.` } : toResult(result);
}

function toResult({ output, status, isOutOfTime }: ExecResult): ToolResult {
  if (status === 0) return { text: output };
  const why = isOutOfTime ? 'It took too long.' : output.trim() || `exit code ${status}`;
  return { text: why, isError: true };
}

function exec(
  command: readonly string[],
  { box, user, workdir, env, outputCharacters, commandSeconds, secondsLeft, signal }: ToolPlace,
  { seconds = commandSeconds, stdin }: { readonly seconds?: number; readonly stdin?: string } = {},
): Promise<ExecResult> {
  return box.exec(command, {
    user,
    cwd: workdir,
    env,
    outputCharacters,
    signal,
    seconds: Math.min(seconds, secondsLeft),
    ...(stdin !== undefined && { stdin }),
  });
}

function stringOf(args: Args, name: string): string {
  const value = args[name];
  if (
    typeof value === 'string' &&
    (name === 'content' || value !== '') &&
    !(name !== 'content' && value.includes('\0'))
  )
    return value;
  throw wrong(name, value, 'a string');
}

function lineOf(args: Args, name: string): number | undefined {
  const value = args[name];
  if (value === undefined || value === null) return undefined;
  if (typeof value === 'number' && Number.isInteger(value) && value >= 1) return value;
  throw wrong(name, value, 'a whole number from 1 on');
}

const wrong = (name: string, value: unknown, wanted: string): EnvironmentError =>
  refused(`${name} is ${JSON.stringify(value)?.slice(0, 100)}. Give ${wanted}.`);

const refused = (message: string): EnvironmentError => new EnvironmentError('refused', message);
