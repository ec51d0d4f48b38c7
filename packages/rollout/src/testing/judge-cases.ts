import assert from 'node:assert/strict';
import type { ContractCase, Task, WorkflowOutput } from '@agentjet/core';
import { askJudge, type Judge, type JudgeContext } from '../judge.js';

/** A question for a judge, and the reward that it must give. */
export type JudgeExample = { readonly task: Task; readonly output: WorkflowOutput; readonly reward: number };

function contextOf(at: number): JudgeContext {
  const signal = new AbortController().signal;
  return { episodeId: `e${at}`, signal, seed: at, transcripts: [], environment: null };
}

async function rewardsOf(judge: Judge, examples: readonly JudgeExample[]): Promise<readonly number[]> {
  const verdicts = examples.map(({ task, output }, at) => askJudge(judge, { task, output, context: contextOf(at) }));
  return (await Promise.all(verdicts)).map(({ reward }) => reward);
}

function deepFreeze<Value>(value: Value): Value {
  if (typeof value === 'object' && value !== null) Object.values(Object.freeze(value)).forEach(deepFreeze);
  return value;
}

/**
 * Cases that every Judge must pass, including those of external authors: `for (const { name, run } of judgeCases(open,
 * examples)) it(name, run)`. At least two of the examples need different rewards.
 */
export function judgeCases(
  open: () => Judge | Promise<Judge>,
  examples: readonly JudgeExample[],
): readonly ContractCase[] {
  const expected = examples.map(({ reward }) => reward);
  return [
    {
      name: 'gives the rewards of the examples, asked all at once',
      run: async () => assert.deepEqual(await rewardsOf(await open(), examples), expected),
    },
    {
      name: 'does not remember what it judged before',
      run: async () => {
        const judge = await open();
        const backward = examples.toReversed();
        assert.deepEqual(await rewardsOf(judge, backward), expected.toReversed());
        assert.deepEqual(await rewardsOf(judge, examples), expected);
      },
    },
    {
      name: 'changes neither the task nor the output',
      run: async () => {
        assert.ok(
          new Set(expected).size > 1,
          'All examples have the same reward, so a judge that always gives it would pass.',
        );
        const frozen = deepFreeze(structuredClone(examples));
        assert.deepEqual(await rewardsOf(await open(), frozen), expected);
      },
    },
  ];
}
