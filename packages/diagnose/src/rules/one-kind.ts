import { wilsonInterval } from '@agentjet/core/success';
import type { Rule, RunRecords } from '../rule.js';

const mostShare = 0.6;
/** With fewer tasks, the shares of the kinds are not known well enough. */
const leastTasks = 30;
/** A kind with this success needs no more tasks. */
const learned = 0.8;

/** Finds runs in which most tasks are of one kind and another kind is not learned yet. */
export const oneKind: Rule = {
  name: 'one_kind',
  find(records) {
    const { tasksByKind, config } = records;
    const kinds = [...tasksByKind].sort(([, left], [, right]) => right - left);
    const total = kinds.reduce((sum, [, count]) => sum + count, 0);
    const [first, ...others] = kinds;
    if (first === undefined || others.length === 0 || total < leastTasks) return undefined;
    const [kind, count] = first;
    if (count / total <= mostShare || wilsonInterval(count / total, total).low <= 0.5) return undefined;
    const behind = others.flatMap(([name]) => describeBehind(name, records));
    if (behind.length === 0) return undefined;
    const field = config.trainerCommon.reportBy;
    return {
      message:
        `${count} of ${total} tasks (${Math.round((100 * count) / total)}%) are of one kind, ${field}: ${kind}. ` +
        `Others may not be learned: ${behind.slice(0, 5).join(', ')}. ` +
        `Balance the training tasks by ${field}: add tasks of the rare kinds, or remove some of ${kind}.`,
    };
  },
};

/**
 * Describes a kind with its success in the newest step that has tasks of it. Returns nothing if the kind is learned.
 */
function describeBehind(kind: string, { steps }: RunRecords): readonly string[] {
  const success = steps.findLast((step) => step[`success/${kind}`] !== undefined)?.[`success/${kind}`];
  if (success === undefined) return [kind];
  return success >= learned ? [] : [`${kind} (success ${success.toFixed(2)})`];
}
