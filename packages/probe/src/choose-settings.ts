import { pairedDifference, successRate } from '@agentjet/core/success';
import { scoreGroups } from './groups-that-train.js';
import type { GroupRules, ProbedTask } from './outcomes.js';

/** The outcomes of the same tasks, in the same order, at one temperature. */
export type ProbedTemperature = { readonly temperature: number; readonly tasks: readonly ProbedTask[] };

export type SignalSettings = { readonly temperature: number; readonly numRepeat: number };

/** A step learns little if fewer of its groups train. */
const enoughGroups = 0.5;
/** A larger group is suggested only if it adds this share of groups. */
const worthwhile = 0.1;
/** The group sizes that the probe reports. */
export const groupSizes = [4, 8, 16] as const;

/**
 * Chooses the temperature and the group size with which enough groups train. Another temperature is chosen only if its
 * advantage is larger than random differences between tasks could explain. A larger group is chosen only if it is
 * needed. A smaller group is never chosen.
 */
export function chooseSettings(
  probed: readonly ProbedTemperature[],
  { current, rules }: { readonly current: SignalSettings; readonly rules: GroupRules },
): SignalSettings {
  const temperature = chooseTemperature(probed, { current, rules });
  const tasks = probed.find((each) => each.temperature === temperature)?.tasks ?? [];
  return { temperature, numRepeat: chooseSize(tasks, { current, rules }) };
}

type Choice = { readonly current: SignalSettings; readonly rules: GroupRules };

function chooseTemperature(probed: readonly ProbedTemperature[], { current, rules }: Choice): number {
  const scores = (tasks: readonly ProbedTask[]) => scoreGroups(tasks, current.numRepeat, rules);
  const now = scores(tasksAt(probed, current.temperature));
  let best = { temperature: current.temperature, gain: 0 };
  for (const { temperature, tasks } of probed) {
    const { difference: gain, low } = pairedDifference(now, scores(tasks));
    if (low > 0 && gain > best.gain) best = { temperature, gain };
  }
  return best.temperature;
}

function chooseSize(tasks: readonly ProbedTask[], { current, rules }: Choice): number {
  const shareAt = (size: number): number => successRate(scoreGroups(tasks, size, rules));
  const now = shareAt(current.numRepeat);
  if (now >= enoughGroups) return current.numRepeat;
  const larger = groupSizes.filter((size) => size > current.numRepeat);
  const size = larger.find((each) => shareAt(each) >= enoughGroups) ?? larger.at(-1);
  return size !== undefined && shareAt(size) - now >= worthwhile ? size : current.numRepeat;
}

const tasksAt = (probed: readonly ProbedTemperature[], at: number): readonly ProbedTask[] =>
  probed.find(({ temperature }) => temperature === at)?.tasks ?? [];
