import type { Task, Verdict, WorkflowOutput } from '@agentjet/core';
import type { Judge, JudgeContext } from '@agentjet/rollout';
import { checkVerdict } from '@agentjet/rollout/inputs';
import { copyPlain } from '@agentjet/rollout/loading';

export type CombinedPart = {
  readonly name: string;
  readonly judge: Judge;
  /** The reward is the sum of the parts' rewards times their weights. */
  readonly weight: number;
  /** True if the part is a gate. Without its success, the reward is `gateReward` and later parts are not asked. */
  readonly isGate: boolean;
};

export type CombinedOptions = {
  readonly gateReward: number;
  /** The lowest reward of a success. Null: an episode succeeds if every part judges it a success. */
  readonly successFrom: number | null;
};

type Scored = { readonly part: CombinedPart; readonly verdict: Verdict };

/**
 * Combines several judges into one. Gates are asked first, one after the other; the other parts are asked concurrently.
 * Each part's reward is recorded under its name. If one part fails, the whole verdict fails, because a reward without
 * one of its parts would be wrong.
 */
export function createCombinedJudge(parts: readonly CombinedPart[], options: CombinedOptions): Judge {
  const gates = parts.filter(({ isGate }) => isGate);
  const others = parts.filter(({ isGate }) => !isGate);
  return {
    ...(parts.some(({ judge }) => judge.needsEnvironment === true) && { needsEnvironment: true }),
    usage: () => addUsage(parts),
    async judge(task, output, context) {
      const passed: Scored[] = [];
      for (const part of gates) {
        const scored = await askPart(part, { task, output, context });
        passed.push(scored);
        if (!scored.verdict.isSuccess) return stopped(passed, scored, options);
      }
      const settled = await Promise.allSettled(others.map((part) => askPart(part, { task, output, context })));
      const failed = settled.find((result) => result.status === 'rejected');
      if (failed !== undefined) throw failed.reason;
      const rest = settled.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
      return combine([...passed, ...rest], options);
    },
  };
}

type Asked = { readonly task: Task; readonly output: WorkflowOutput; readonly context: JudgeContext };

async function askPart(part: CombinedPart, { task, output, context }: Asked): Promise<Scored> {
  const verdict: unknown = await part.judge.judge(copyPlain(task), output, context);
  return { part, verdict: checkVerdict(verdict, task, `The part ${part.name}`) };
}

function combine(scored: readonly Scored[], { successFrom }: CombinedOptions): Verdict {
  const reward = scored.reduce((sum, { part, verdict }) => sum + part.weight * verdict.reward, 0);
  const isSuccess = successFrom === null ? scored.every(({ verdict }) => verdict.isSuccess) : reward >= successFrom;
  return { reward, isSuccess, ...describe(scored) };
}

function stopped(scored: readonly Scored[], { part }: Scored, { gateReward }: CombinedOptions): Verdict {
  const { parts, reason } = describe(scored);
  const why = `The gate ${part.name} is closed.`;
  return { reward: gateReward, isSuccess: false, parts, reason: reason === undefined ? why : `${why} ${reason}` };
}

/** The parts of a part are prefixed with its name: `llm/vote_spread`. */
function describe(scored: readonly Scored[]): { readonly parts: Record<string, number>; readonly reason?: string } {
  const parts = scored.flatMap(({ part: { name }, verdict }) => [
    [name, verdict.reward] as const,
    ...Object.entries(verdict.parts ?? {}).map(([inner, value]) => [`${name}/${inner}`, value] as const),
  ]);
  const reasons = scored.flatMap(({ part, verdict: { reason } }) =>
    reason === undefined ? [] : [`${part.name}: ${reason}`],
  );
  return { parts: Object.fromEntries(parts), ...(reasons.length > 0 && { reason: reasons.join(' | ') }) };
}

function addUsage(parts: readonly CombinedPart[]): ReturnType<NonNullable<Judge['usage']>> {
  const used = parts.flatMap(({ judge }) => judge.usage?.() ?? []);
  const sum = (pick: (usage: (typeof used)[number]) => number): number =>
    used.reduce((total, usage) => total + pick(usage), 0);
  return {
    calls: sum(({ calls }) => calls),
    promptTokens: sum(({ promptTokens }) => promptTokens),
    completionTokens: sum(({ completionTokens }) => completionTokens),
  };
}
