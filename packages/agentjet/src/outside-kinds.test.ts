import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { ConfigError, defineBackbone, setting, z, type Algorithm, type Sample } from '@agentjet/core';
import { backbones } from '@agentjet/trainer/registrations';
import { createTaskReader, defineReader } from '@agentjet/rollout';
import { loadInputs } from '@agentjet/inputs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { AgentJetJob } from './job.js';
import type { JobOptions } from './job-options.js';
import { configuration } from './registrations.js';

/** Tests entries that are not registered in our packages: they are given in code, or named by a path. */

let dir: string;
beforeAll(() => {
  dir = mkdtempSync(path.join(tmpdir(), 'ajet-outside-'));
  writeFileSync(
    path.join(dir, 'mine.ts'),
    `
import { z } from 'zod';
const credit = (value: number) => (group: any) => group.episodes.flatMap(({ samples }: any) =>
  samples.map((sample: any) => ({ ...sample, advantages: Float32Array.from(sample.lossMask, (mask: number) => mask * value) })));
export const Fixed = { name: 'fixed', credit: credit(2) };
export class Made { name = 'made'; credit = credit(3); }
export const Tuned = {
  name: 'tuned',
  section: z.strictObject({ how_much: z.number().default(5) }),
  open: ({ howMuch }: { howMuch: number }) => ({ name: 'tuned', credit: credit(howMuch) }),
};
export const Reader = {
  name: 'numbers',
  section: z.strictObject({ count: z.number().default(2) }),
  open: ({ count }: { count: number }) => ({
    async *trainingTasks() { for (let at = 0; at < count; at++) yield { taskId: 't' + at, mainQuery: '1 + ' + at }; },
    async *evaluationTasks() {},
  }),
};
export class Judge { judge() { return { reward: 0.25 }; } }
export const nothing = { credits: 1 };
`,
  );
});
afterAll(() => rmSync(dir, { recursive: true, force: true }));

const lengths = { maxPromptLength: 128, maxResponseLength: 128, maxResponseLengthInOneTurn: 4, maxModelLen: 256 };

const workflow = async () => ({ reward: 1 });

function createJob(options: JobOptions = {}): AgentJetJob {
  return new AgentJetJob({
    ...lengths,
    numRepeat: 2,
    batchSize: 2,
    experimentDir: path.join(dir, 'runs'),
    ...options,
    config: { trainerCommon: { valBeforeTrain: false, totalTrainingSteps: 1 }, ...options.config },
  })
    .setWorkflow(async (task, tuner) => {
      const model = tuner.selectModel({ agentName: 'solver' }, (tuned) => tuned);
      await model.generate({ messages: [{ role: 'user', content: task.mainQuery }] });
      return { reward: 1 };
    })
    .setData({
      training: [
        { taskId: 'a', mainQuery: 'one' },
        { taskId: 'b', mainQuery: 'two' },
      ],
    });
}

function load(yaml: string): AgentJetJob {
  writeFileSync(path.join(dir, 'job.yaml'), yaml);
  return createJob().loadJobFromYaml(path.join(dir, 'job.yaml'), [
    'data.max_prompt_length=128',
    'data.max_response_length=128',
    'rollout.max_response_length_in_one_turn=4',
    'rollout.num_repeat=2',
    'data.train_batch_size=2',
    'trainer_common.val_before_train=false',
    'trainer_common.total_training_steps=1',
    `experiment_dir=${path.join(dir, 'runs')}`,
  ]);
}

describe('an algorithm and a backbone given in code', () => {
  it('train, and the run says that they were given', async () => {
    const opened: string[] = [];
    const credited: number[] = [];
    const algorithm: Algorithm = {
      name: 'even',
      credit: ({ episodes }) => {
        credited.push(episodes.length);
        return episodes.flatMap(({ samples }) => samples.map(credit));
      },
    };
    const credit = (sample: Sample): Sample => ({
      ...sample,
      advantages: Float32Array.from(sample.lossMask, (mask) => mask),
    });
    const watched = defineBackbone({
      ...backbones[0],
      name: 'watched',
      section: z.strictObject({ label: setting(z.string(), 'x', 'what it is called') }),
      open: ({ label }, parts) => {
        opened.push(label);
        return backbones[0].open({ numThreads: 1, frozenWeights: 'float32' }, parts);
      },
    });
    const job = createJob({ algorithm, backbone: watched }).setSection(watched, { label: 'y' });
    expect(job.config.backbone).toBe('(code)->watched');
    const { policyVersion, runDir } = await job.tune({ onEvent: () => {} });
    expect([policyVersion, opened, credited]).toEqual([1, ['y'], [2, 2]]);
    const again = new AgentJetJob().loadJobFromYaml(path.join(runDir ?? '', 'config.yaml'));
    await expect(again.setWorkflow(workflow).tune({ onEvent: () => {} })).rejects.toThrow(
      '"backbone" is "(code)->watched": the run was made with a backbone given in code.',
    );
  });

  it('have settings that are typed by their own section, if the job uses them', () => {
    const { name: _, ...rest } = backbones[0];
    const other = defineBackbone({ ...rest, name: 'other_one' });
    expect(() => createJob().setSection(other, { numThreads: 2 })).toThrow(
      'setSection() got "other_one", which this job does not use.',
    );
    const job = createJob({ backbone: other });
    expect(job.setSection(other, { numThreads: 2 }).config).toMatchObject({ otherOne: { numThreads: 2 } });
  });

  it('may be a reader or a judge, with settings', async () => {
    const reader = defineReader({
      name: 'counted',
      section: z.strictObject({ count: setting(z.int(), 1) }),
      open: ({ count }) =>
        createTaskReader({
          training: Array.from({ length: count }, (_, at) => ({ taskId: `t${at}`, mainQuery: 'x' })),
        }),
    });
    const job = createJob().setData(reader).setSection(reader, { count: 3 });
    const { inputs } = await loadInputs({ workflow, reader }, { config: job.config, composition: configuration });
    const ids: string[] = [];
    for await (const { taskId } of inputs.reader.trainingTasks()) ids.push(taskId);
    expect(ids).toEqual(['t0', 't1', 't2']);
  });

  it('are refused with what they lack', async () => {
    const wrong = { algorithm: { name: 'half' } } as unknown as JobOptions;
    await expect(createJob(wrong).tune()).rejects.toThrow(
      'The algorithm given in code is not an algorithm: it is an object with name. It needs a name and credit(group)',
    );
  });
});

describe('a kind named by path/file.ts->Export', () => {
  it.each([
    ['Fixed', 'fixed'],
    ['Made', 'made'],
    ['Tuned', 'tuned'],
  ])('may be an instance, a class or a registration: %s', async (name, made) => {
    const { config } = load(
      `ajet:\n  task_reader: { type: random_dummy }\n  trainer_common:\n    algorithm:\n      adv_estimator: ./mine.ts->${name}\n`,
    );
    const { inputs } = await loadInputs({ workflow }, { config, composition: configuration });
    expect(inputs.algorithm.name).toBe(made);
  });

  it('may be a reader with settings, or a judge', async () => {
    const text = 'ajet:\n  task_reader: { type: ./mine.ts->Reader, numbers: { count: 3 } }\n';
    const { config } = load(`${text}  task_judge: { judge_type: ./mine.ts->Judge }\n`);
    const { inputs } = await loadInputs({ workflow }, { config, composition: configuration });
    const ids: string[] = [];
    for await (const { taskId } of inputs.reader.trainingTasks()) ids.push(taskId);
    expect(ids).toEqual(['t0', 't1', 't2']);
    expect(inputs.judge).toMatchObject({ judge: expect.any(Function) });
  });

  it('brings its own section, whose mistakes are reported like any other', async () => {
    const text = (key: string): string =>
      `ajet:\n  trainer_common:\n    algorithm:\n      adv_estimator: ./mine.ts->Tuned\n      tuned:\n        ${key}\n`;
    const { config } = load(`${text('how_much: 7')}  task_reader: { type: random_dummy }\n`);
    const loaded = await loadInputs({ workflow }, { config, composition: configuration });
    expect(loaded.config.trainerCommon.algorithm).toMatchObject({ tuned: { howMuch: 7 } });
    await expect(load(text('how_mush: 7')).tune()).rejects.toThrow(
      /Unknown key "trainer_common\.algorithm\.tuned\.how_mush" in .*job\.yaml:6, with the value 7\. Did you mean "trainer_common\.algorithm\.tuned\.how_much"\?/,
    );
    await expect(load(text('how_much: many')).tune()).rejects.toThrow(/job\.yaml:6 is "many", but must be a number/);
  });

  it('a section that nothing brings is still an unknown key', async () => {
    const job = load('ajet:\n  backbone: ./mine.ts->nothing\n  other:\n    x: 1\n');
    await expect(job.tune()).rejects.toThrow(/mine\.ts->nothing is not a backbone: it is an object with credits/);
    expect(() => load('ajet:\n  other:\n    x: 1\n')).toThrow(ConfigError);
  });

  it('a name that is almost one of ours gets a suggestion', () => {
    expect(() => createJob({ algorithm: 'gpro' } as unknown as JobOptions)).toThrow(
      '"trainer_common.algorithm.adv_estimator" in the options given in code is "gpro", but must be one of grpo, reinforce, maxrl, distill, sft, dr_grpo, rloo, reinforce_plus_plus, dapo, gspo, cispo. Did you mean "grpo"?',
    );
  });
});
