import { ConfigError, quoteForShell, codeOfError } from '@agentjet/core';
import { toOneLine } from '@agentjet/core/text';
import { SwarmOperator, type KeysAnswer, type Operation } from '@agentjet/swarm-client';
import { createOutput, type Output } from '../output.js';
import { describeServer, describeShares } from './describe-server.js';
import { readBounds, readLimits } from './key-flags.js';
import { toChoice } from './read-flags.js';
import { serverOf } from '../program-parts.js';

/**
 * The commands of an operator for a swarm's server, from any machine. The key comes from AJET_SWARM_KEY and never from
 * the command line.
 */
export type OperatorFlags = { readonly server?: string; readonly keys?: boolean; readonly json?: boolean };

export function openOperator({ keys, ...flags }: OperatorFlags): SwarmOperator {
  const key = process.env['AJET_SWARM_KEY'];
  if ((key === undefined || key === '') && keys !== false)
    throw new ConfigError(
      'no_key',
      "There is no key. Put a commander's key into the environment variable AJET_SWARM_KEY, or pass --no-keys if the server needs no key.",
    );
  return new SwarmOperator({ url: serverOf(flags), key });
}

/** `ajet swarm status` shows the state of the server once. */
export async function showStatus(flags: OperatorFlags): Promise<number> {
  const server = await openOperator(flags).server();
  print(flags, describeServer(server), server);
  return 0;
}

/** `ajet swarm set key=value ...` changes keys of the configuration while training runs. */
export async function setConfig(assignments: readonly string[], flags: OperatorFlags): Promise<number> {
  const changes = Object.fromEntries(assignments.map(readAssignment));
  const answer = await openOperator(flags).configure(changes);
  print(flags, [`Revision ${answer.revision} applies from step ${answer.from_step} on.`], answer);
  return 0;
}

/** `ajet swarm shares [name=part ...]` shows the shares, or sets their parts. */
export async function setShares(assignments: readonly string[], flags: OperatorFlags): Promise<number> {
  const operator = openOperator(flags);
  const { shares = {} } = await operator.server();
  if (assignments.length === 0) {
    print(flags, describeShares(shares), { shares });
    return 0;
  }
  const parts = Object.fromEntries(assignments.map(readPart));
  const answer = await operator.share(parts);
  const [added, left] = [minus(parts, shares), minus(shares, parts)];
  print(
    flags,
    [
      `Revision ${answer.revision}: the parts apply from step ${answer.from_step} on.`,
      ...(added.length > 0 ? [`New shares, which have no tasks until a client sends some: ${added.join(', ')}`] : []),
      ...(left.length > 0 ? [`Shares without a part from that step on: ${left.join(', ')}`] : []),
    ],
    answer,
  );
  return 0;
}

const minus = (all: object, others: object): readonly string[] =>
  Object.keys(all).filter((name) => !Object.hasOwn(others, name));

/** Runs `ajet swarm pause | resume | drain | stop | start | checkpoint`. */
export async function operate(operation: Operation, flags: OperatorFlags): Promise<number> {
  const operator = openOperator(flags);
  let answer = await operator.operate(operation);
  while (answer.state === 'accepted') {
    await new Promise((resolve) => setTimeout(resolve, 200));
    answer = { ...answer, ...(await operator.operation(answer.operation_id).catch(unlessRefused)) };
  }
  print(flags, [`${operation}: ${answer.state}${answer.message === undefined ? '' : `. ${answer.message}`}`], answer);
  return answer.state === 'failed' ? 1 : 0;
}

/** Ignores a status of 500 or more, with which a server answers while it is being reopened. Throws any other error. */
function unlessRefused(error: unknown): undefined {
  const status = error instanceof Error && 'status' in error ? error.status : undefined;
  if (typeof status !== 'number' || status < 500) throw error;
}

/** `ajet swarm end` ends the run of a server that was started with --standby. */
export async function endRun(flags: OperatorFlags): Promise<number> {
  const operator = openOperator(flags);
  const { run } = await operator.endRun();
  while ((await operator.server().catch(codeOfError)) !== 'no_run')
    await new Promise((resolve) => setTimeout(resolve, 200));
  print(
    flags,
    [`The run ${run} has ended. Continue it with: ajet swarm begin --conf <file> --run ${quoteForShell(run)}`],
    { run },
  );
  return 0;
}

export type MakeKeyFlags = OperatorFlags & {
  readonly role?: string;
  readonly shares?: string;
  readonly scores?: string;
  readonly maxEpisodes?: string;
  readonly rewardBounds?: string;
  readonly limits?: string;
  readonly expires?: string;
};

/** Runs `ajet swarm keys list | make <name> | delete <name>`. */
export async function printKeyList(flags: OperatorFlags): Promise<number> {
  const answer = await openOperator(flags).keys();
  print(flags, answer.keys.map(describeKey), answer);
  return 0;
}

/** Shows a key with its limits in one line. */
function describeKey({ name, role, ...limits }: KeysAnswer['keys'][number]): string {
  const { shares, scores, reward_bounds: bounds, max_episodes: most, limits: others = {}, expires_at: until } = limits;
  const said = [
    ...(shares === undefined ? [] : [`shares ${shares.join(' ')}`]),
    ...(scores === undefined ? [] : [`scores ${scores.join(' ')}`]),
    ...(bounds === undefined ? [] : [`rewards ${bounds.join(' to ')}`]),
    ...(most === undefined ? [] : [`at most ${most} episodes`]),
    ...Object.entries(others).map(([limit, value]) => `${limit} ${value}`),
    ...(until === undefined ? [] : [`until ${until}`]),
  ];
  return [`${role.padEnd(10)} ${name}`, ...said].join(', ');
}

export async function makeKey(name: string, flags: MakeKeyFlags): Promise<number> {
  const { role = 'worker', shares, scores, maxEpisodes, expires } = flags;
  if (expires !== undefined && Date.parse(expires) <= Date.now())
    throw new ConfigError(
      'wrong_value',
      `--expires is ${expires}, which is in the past, so nobody could use the key. Choose a later time.`,
    );
  const answer = await openOperator(flags).makeKey({
    name,
    role: toChoice(role, '--role', ['observer', 'worker', 'commander']),
    ...(shares !== undefined && { shares: shares.split(',') }),
    ...(scores !== undefined && { scores: scores.split(',') }),
    ...(maxEpisodes !== undefined && { max_episodes: Number(maxEpisodes) }),
    ...readBounds(flags.rewardBounds),
    ...readLimits(flags.limits),
    ...(expires !== undefined && { expires_at: expires }),
  });
  print(flags, [`key "${name}" (${role}), shown only now: ${answer.key}`], answer);
  return 0;
}

export async function deleteKey(name: string, flags: OperatorFlags): Promise<number> {
  if (!(await openOperator(flags).deleteKey(name)))
    throw new ConfigError('wrong_value', `There is no key ${JSON.stringify(name)}. \`ajet swarm keys\` lists them.`);
  print(flags, [`The key "${name}" is deleted. Its running episodes are given back.`], { deleted: true });
  return 0;
}

export type EpisodesFlags = OperatorFlags & { readonly state?: string; readonly limit?: string; readonly key?: string };

/** Runs `ajet swarm episodes [--state pooled]`. */
export async function printEpisodeList({ state, limit = '100', ...flags }: EpisodesFlags): Promise<number> {
  const answer = await openOperator(flags).episodes({ limit, ...(state !== undefined && { state }) });
  const lines = answer.episodes.map(({ episode_id, state: found, group_id = '', client = '', reward, reason, step }) =>
    [
      episode_id,
      found,
      group_id,
      client,
      reward === null || reward === undefined ? '' : `reward ${reward}`,
      reason ?? '',
      step === undefined ? '' : `step ${step}`,
    ]
      .filter((part) => part !== '')
      .join('  '),
  );
  print(flags, lines.length > 0 ? lines : ['There are no such episodes.'], answer);
  return 0;
}

/** Runs `ajet swarm episodes drop --key <name>`. */
export async function dropEpisodes({ key, ...flags }: EpisodesFlags): Promise<number> {
  if (key === undefined)
    throw new ConfigError('wrong_value', 'Name the key whose episodes are to be dropped: --key <name>.');
  const answer = await openOperator(flags).dropEpisodes(key);
  print(flags, [`${answer.dropped} episodes of the key "${key}" are dropped. Their places are open again.`], answer);
  return 0;
}

/** `ajet swarm audit` shows who asked for what, and when. */
export async function showAudit(flags: OperatorFlags): Promise<number> {
  const answer = await openOperator(flags).audit();
  const lines = answer.entries.map(
    ({ at, by, what, detail }) => `${at}  ${by === '' ? '(no key)' : by}  ${what}  ${JSON.stringify(detail)}`,
  );
  print(flags, lines.length > 0 ? lines : ['Nobody has asked for anything yet.'], answer);
  return 0;
}

function print(flags: OperatorFlags, lines: readonly string[], value: unknown): void {
  const output: Output = createOutput(flags);
  if (flags.json === true) output.writeJson(value);
  else for (const line of lines) output.writeLine(toOneLine(line)); // names come from clients
}

function readAssignment(text: string): readonly [string, unknown] {
  const [, key, value] = /^([\w.]+)=(.*)$/s.exec(text) ?? [];
  if (key === undefined || value === undefined)
    throw new ConfigError(
      'wrong_value',
      `${JSON.stringify(text)} is not key=value, such as trainer_common.optim.lr=1e-5.`,
    );
  try {
    return [key, JSON.parse(value) as unknown];
  } catch {
    return [key, value];
  }
}

function readPart(text: string): readonly [string, number] {
  const [, name, part] = /^([^=]+)=([\d.eE-]+)$/.exec(text) ?? [];
  if (name !== undefined && Number(part) > 0) return [name, Number(part)];
  throw new ConfigError('wrong_value', `${JSON.stringify(text)} is not a share with its part, such as math=0.4.`);
}
