import type { CommonConfig } from '@agentjet/core';
import type { MetricsRecord } from '@agentjet/run-folder';
import { describe, expect, it } from 'vitest';
import { Diagnosis, type DiagnosisOptions } from '../diagnosis.js';

type Changes = { readonly temperature?: number; readonly numRepeat?: number };

const configWith = ({ temperature = 1, numRepeat = 8 }: Changes = {}): CommonConfig =>
  ({
    rollout: { temperature, numRepeat, maxResponseLengthInOneTurn: 256, maxModelLen: 2048 },
    trainerCommon: { optim: { lr: 3e-4 }, useKlLoss: false, reportBy: 'kind' },
  }) as CommonConfig;

/** A step of 16 groups of 8 episodes. */
const step = (number: number, changes: Readonly<Record<string, number>>): MetricsRecord => ({
  step: number,
  groups: 16,
  groups_skipped: 0,
  episodes: 128,
  failed_episodes: 0,
  generated_tokens: 5000,
  trained_tokens: 5000,
  policy_version: number,
  success_rate: 0.5,
  entropy: 1,
  ...changes,
});

const evaluation = (at: number, successRate: number, more: Readonly<Record<string, number>> = {}): MetricsRecord => ({
  step: at,
  success_rate: successRate,
  ...more,
});

function open(changes?: Changes, options?: DiagnosisOptions) {
  const diagnosis = new Diagnosis(configWith(changes), options);
  const found: string[] = [];
  const note = (messages: readonly { readonly message: string }[]) => {
    found.push(...messages.map(({ message }) => message));
  };
  return {
    diagnosis,
    found,
    steps: (...lines: readonly MetricsRecord[]) => {
      for (const line of lines) note(diagnosis.look({ step: line }, []));
    },
    evaluations: (...lines: readonly MetricsRecord[]) => {
      for (const line of lines) note(diagnosis.look({ evaluation: line }, []));
    },
  };
}

describe('no signal', () => {
  it('is reported at the first step if no group trains, with success and what helps', () => {
    const { found, steps } = open();
    steps(step(1, { groups_skipped: 16, success_rate: 0, policy_version: 0, trained_tokens: 0 }));
    steps(step(2, { groups_skipped: 16, success_rate: 0, policy_version: 0, trained_tokens: 0 }));
    expect(found).toEqual([
      'In all 16 groups of step 1 the episodes got equal rewards, so they train nothing. Success is 0.000 (95% 0.000-0.194) at temperature 1. ' +
        'The tasks are too hard for this model as it is sampled. What helps: imitate successful transcripts first (debug.collect, then ajet sft), lower rollout.temperature (now 1), or put example turns into the prompt.',
    ]);
  });

  it('blames no rewards if the student agrees with its teacher', () => {
    const { found, steps } = open();
    steps(step(1, { groups_skipped: 16, success_rate: 0, policy_version: 0, trained_tokens: 0, teacher_kl: 0 }));
    expect(found).toEqual([expect.stringMatching(/^In 16 groups of step 1 the student agrees with its teacher /)]);
  });

  it('names the success of an evaluation at a lower temperature', () => {
    const { found, steps, evaluations } = open();
    evaluations(evaluation(0, 0.33, { success_low: 0.25, success_high: 0.42, temperature: 0 }));
    steps(step(1, { groups_skipped: 14, success_rate: 0.01 }));
    expect(found).toEqual([
      expect.stringContaining('lower rollout.temperature (now 1; at 0 success is 0.330 (95% 0.250-0.420))'),
    ]);
  });

  it('advises no lower temperature if it is low already, but larger groups if some episodes succeed', () => {
    const { found, steps } = open({ temperature: 0.3 });
    steps(step(1, { groups_skipped: 15, success_rate: 0.01 }));
    expect(found[0]).toContain('or raise rollout.num_repeat (now 8)');
    expect(found[0]).not.toContain('lower rollout.temperature');
  });

  it('waits for more groups if it may be chance', () => {
    const { found, steps } = open();
    steps(step(1, { groups_skipped: 11, success_rate: 0.05 }));
    expect(found).toEqual([]);
    steps(step(2, { groups_skipped: 12, success_rate: 0.05 }));
    expect(found).toEqual([expect.stringMatching(/^In 23 of 32 groups of steps 1 to 2 /)]);
  });

  it('is not what a model shows that has learned its tasks, and tasks that it solves from the start are too easy', () => {
    const learned = open();
    learned.steps(
      ...[0.5, 0.8, 0.95].map((rate, at) => step(at + 1, { success_rate: rate })),
      ...[4, 5, 6, 7, 8].map((at) => step(at, { success_rate: 0.97, groups_skipped: 15 })),
    );
    expect(learned.found).toEqual([]);
    const easy = open();
    easy.steps(step(1, { groups_skipped: 15, success_rate: 0.99 }));
    expect(easy.found).toEqual([expect.stringContaining('The tasks are too easy to teach anything.')]);
  });

  it('is also reported if each task is solved always or never, unless held-out success is high', () => {
    const agreeing = [1, 2].map((at) => step(at, { groups_skipped: 14, success_rate: 0.6 }));
    const { found, steps } = open();
    steps(...agreeing);
    expect(found).toEqual([
      expect.stringMatching(
        /By chance, 98% of groups of 8 would differ\. The model solves a task in all episodes of its group or in none\./,
      ),
    ]);
    const good = open();
    good.evaluations(evaluation(0, 0.95));
    good.steps(...agreeing);
    expect(good.found).toEqual([]);
  });

  it('names the rate if the samples have lost their variety', () => {
    const { found, steps } = open();
    steps(
      step(1, { entropy: 1.88 }),
      ...[2, 3, 4, 5, 6].map((at) => step(at, { groups_skipped: 14, success_rate: 0.62, entropy: 0.01 })),
    );
    expect(found).toEqual([
      expect.stringMatching(/entropy fell from 1\.880 to 0\.0100.*lower trainer_common\.optim\.lr \(now 0\.0003\)/),
    ]);
  });

  it('is not what failed episodes or a silent agent show', () => {
    const { found, steps } = open();
    const nothing = { policy_version: 0, groups_skipped: 16, success_rate: 0, trained_tokens: 0 };
    steps(step(1, { ...nothing, failed_episodes: 128 }));
    const silent = open();
    silent.steps(step(1, { ...nothing, generated_tokens: 0 }));
    expect([...found, ...silent.found]).toEqual([]);
  });

  it('is found by a resumed run from the steps before', () => {
    const metrics = [1, 2, 3].map((at) => step(at, { groups_skipped: 10, success_rate: 0.05 }));
    const { found, steps } = open({}, { earlier: { metrics, evaluations: [] } });
    steps(step(4, { groups_skipped: 11, success_rate: 0.05 }));
    expect(found).toEqual([expect.stringMatching(/^In 41 of 64 groups of steps 1 to 4 /)]);
  });
});

describe('collapse', () => {
  const healthy = [1, 2, 3, 4, 5].map((at) => step(at, { entropy: 1.9 - at / 10 }));
  const without = step(6, { entropy: 0.02 });

  it('is reported if success is under half of its best in two evaluations and entropy is gone', () => {
    const { found, diagnosis, steps, evaluations } = open();
    evaluations(evaluation(0, 0.4));
    steps(...healthy);
    evaluations(evaluation(5, 0.6));
    steps(without);
    evaluations(evaluation(10, 0.29));
    expect(diagnosis.collapse()).toBeUndefined();
    evaluations(evaluation(15, 0.1));
    expect(found).toEqual([
      'The model has collapsed: success was 0.290 and 0.100 in the last two evaluations, after 0.600 at step 5, and entropy fell from 1.800 to 0.0200. ' +
        'Begin again, or resume from a checkpoint near step 5, with a lower trainer_common.optim.lr (now 0.0003), or set trainer_common.use_kl_loss. trainer_common.keep_best: success_rate keeps the best checkpoint.',
    ]);
    expect(diagnosis.collapse()).toBe(found[0]);
    evaluations(evaluation(20, 0.5));
    expect(diagnosis.collapse()).toBeUndefined();
  });

  it('is not low entropy with good success, and not low success with variety', () => {
    const learned = open();
    learned.steps(...healthy, without);
    learned.evaluations(...[0.5, 0.9, 0.95, 0.95].map((rate, at) => evaluation(at * 5, rate)));
    const forgetful = open();
    forgetful.steps(...healthy);
    forgetful.evaluations(...[0.5, 0.9, 0.2, 0.2].map((rate, at) => evaluation(at * 5, rate)));
    expect([...learned.found, ...forgetful.found]).toEqual([]);
    expect(forgetful.diagnosis.collapse()).toBeUndefined();
  });

  it('is also seen in the training, but does not end a run that way', () => {
    const { found, diagnosis, steps } = open();
    steps(...healthy, ...[6, 7, 8, 9].map((at) => step(at, { entropy: 0.01, success_rate: 0.2 })));
    expect(found).toEqual([]);
    steps(step(10, { entropy: 0.01, success_rate: 0.2 }));
    expect(found).toEqual([
      expect.stringMatching(/success in training is 0\.200 over steps 6 to 10, after 0\.500 before, and entropy/),
    ]);
    expect(diagnosis.collapse()).toBeUndefined();
  });
});

describe('one kind', () => {
  const kinds = (sum: number, others: Readonly<Record<string, number>>) => ({ 'tasks/sum': sum, ...others });

  it('is reported if it has most of the tasks and another kind is not learned', () => {
    const { found, steps } = open();
    const line = kinds(12, { 'tasks/product': 2, 'success/product': 0, 'tasks/date': 2, 'success/date': 0.95 });
    steps(step(1, line));
    expect(found).toEqual([]);
    steps(step(2, line));
    expect(found).toEqual([
      '24 of 32 tasks (75%) are of one kind, kind: sum. Others may not be learned: product (success 0.00). ' +
        'Balance the training tasks by kind: add tasks of the rare kinds, or remove some of sum.',
    ]);
  });

  it('is not reported if the others are learned, if the kinds are balanced, or if there is only one', () => {
    const { found, steps } = open();
    steps(step(1, kinds(80, { 'tasks/product': 20, 'success/product': 0.9 })));
    const balanced = open();
    balanced.steps(step(1, kinds(58, { 'tasks/product': 42, 'success/product': 0 })));
    const only = open();
    only.steps(step(1, kinds(100, {})));
    expect([...found, ...balanced.found, ...only.found]).toEqual([]);
  });
});
