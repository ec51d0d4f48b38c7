import { EnvironmentOutage, isJsonObject, isReward, parseJson, rewardRange, type Verdict } from '@agentjet/core';
import { readOnlyFile, TooLarge, type Box } from '@agentjet/sandbox/boxes';
import { asOutage } from './box-work.js';

/** Reads the verdict of a box that was stopped, so that nothing in it can change the files any more. */

/** A verdict is a few numbers. */
const mostBytes = 1_000_000;
const folder = '/logs/verifier';

type Place = {
  readonly box: Box;
  /** The host of outages of the engine. */
  readonly engine: string;
  /** The host of outages of the task. */
  readonly host: string;
};

/** The numbers of a verifier by name. A single number is named `reward`. */
export type Rewards = Readonly<Record<string, number>>;

/** Throws EnvironmentOutage if the verifier gave no usable numbers. That is not the agent's failure. */
export async function readBoxRewards(place: Place): Promise<Rewards> {
  const json = await readFile(place, 'reward.json');
  if (json !== null) return checkRewards(parseRewards(json), () => unusable(place, 'reward.json', json));
  const text = await readFile(place, 'reward.txt');
  if (text === null) throw await silent(place);
  const value = text.trim() === '' ? undefined : Number(text.trim());
  return checkRewards({ reward: value }, () => unusable(place, 'reward.txt', text));
}

async function readFile({ box, engine, host }: Place, name: string): Promise<string | null> {
  try {
    const read = await asOutage(engine, () =>
      box.copyOut(`${folder}/${name}`, (archive) => readOnlyFile(archive, mostBytes)),
    );
    return read === null ? null : read.toString('utf8');
  } catch (error) {
    if (!(error instanceof TooLarge)) throw error;
    throw new EnvironmentOutage(`The verifier wrote a ${name} with more than ${mostBytes} bytes.`, {
      host,
      cause: error,
    });
  }
}

/** A number, or numbers by name. Anything else is undefined. */
function parseRewards(text: string): Readonly<Record<string, unknown>> | undefined {
  const value = parseJson(text);
  if (typeof value === 'number') return { reward: value };
  return isJsonObject(value) ? value : undefined;
}

function checkRewards(
  rewards: Readonly<Record<string, unknown>> | undefined,
  refuse: () => EnvironmentOutage,
): Rewards {
  const entries = Object.entries(rewards ?? {}).map(
    ([name, value]) => [name, typeof value === 'boolean' ? Number(value) : value] as const,
  );
  const numbers = entries.filter((entry): entry is readonly [string, number] => isReward(entry[1]));
  if (entries.length === 0 || numbers.length < entries.length) throw refuse();
  return Object.fromEntries(numbers);
}

/** The reward is the number of that name, or else the mean of all. */
export function toVerdict(rewards: Rewards): Verdict {
  const values = Object.values(rewards);
  const reward = rewards['reward'] ?? values.reduce((sum, value) => sum + value, 0) / values.length;
  const others = values.length > 1 || rewards['reward'] === undefined;
  return { reward, isSuccess: reward >= 1, ...(others && { rewards, parts: rewards }) };
}

/** Joins the numbers of several steps by their mean. A number that a step does not have counts as 0. */
export function meanOfSteps(steps: readonly Rewards[]): Rewards {
  const names = [...new Set(steps.flatMap((rewards) => Object.keys(rewards)))];
  const mean = (name: string): number => steps.reduce((sum, rewards) => sum + (rewards[name] ?? 0), 0) / steps.length;
  return Object.fromEntries(names.map((name) => [name, mean(name)]));
}

function unusable({ host }: Place, name: string, seen: string): EnvironmentOutage {
  const shown = JSON.stringify(seen.trim().slice(0, 200));
  return new EnvironmentOutage(
    `The verifier wrote ${shown} to ${name}, which is not ${rewardRange}, or such numbers by name.`,
    { host },
  );
}

/** Says what the verifier printed last, because a verifier without a verdict is usually one that broke. */
async function silent(place: Place): Promise<EnvironmentOutage> {
  const printed = await readFile(place, 'test-stdout.txt').catch(() => null);
  const last = printed?.trim().split('\n').at(-1);
  const said = last ? ` Its last line was ${JSON.stringify(last.slice(0, 300))}.` : '';
  return new EnvironmentOutage(`The verifier wrote neither reward.json nor reward.txt.${said}`, { host: place.host });
}
