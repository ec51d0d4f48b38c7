import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { AgentJetJob, Workflow, type JobEvent, type Task, type Tuner } from 'agentjet';
import { beforeAll, expect, it } from 'vitest';
import { createScratchFolder } from './support/job-folder.js';
import { readEpisodes, readMetrics, readRows } from './support/read-run.js';
import { writeTinyModel } from './support/tiny-model.js';

let modelDir: string;
beforeAll(async () => {
  modelDir = await writeTinyModel(path.join(createScratchFolder(), 'model'));
});

/** One of two agents learns, and the judge rewards. */
class Duet extends Workflow {
  override trainableTargets = ['singer'];

  async execute(task: Task, tuner: Tuner) {
    const listener = { name: 'listener', generate: () => Promise.reject(new Error('the listener only listens')) };
    const singer = tuner.selectModel({ agentName: 'Ann', targetTag: 'singer' }, (model) => model);
    expect(tuner.selectModel({ agentName: 'Bob', targetTag: 'listener', debugModel: listener }, (model) => model)).toBe(
      listener,
    );
    const { message } = await singer.generate({ messages: [{ role: 'user', content: task.mainQuery }] });
    return { metadata: { song: message.content } };
  }
}

function createJob(experimentDir: string): AgentJetJob {
  return new AgentJetJob({
    model: modelDir,
    experimentDir,
    experimentName: 'duet',
    numRepeat: 4,
    batchSize: 2,
    maxPromptLength: 128,
    maxResponseLength: 128,
    maxModelLen: 256,
    maxResponseLengthInOneTurn: 8,
    config: { trainerCommon: { totalTrainingSteps: 3, testFreq: 2, logger: ['console', 'tensorboard'] } },
  })
    .setWorkflow(Duet)
    .setJudge((_, output) => {
      const letters = String(output.metadata?.['song']).match(/[a-z]/gi)?.length ?? 0;
      return { reward: letters / 8, isSuccess: letters > 3 };
    })
    .setData({
      training: async function* () {
        for (let index = 0; ; index++) yield { taskId: `song-${index}`, mainQuery: `Sing ${index}` };
      },
      validation: [{ taskId: 'encore', mainQuery: 'Sing again' }],
    });
}

it('trains from code: a class, an endless generator, a judge', async () => {
  const experimentDir = createScratchFolder();
  const events: JobEvent[] = [];
  const result = await createJob(experimentDir).tune({ onEvent: (event) => events.push(event) });
  expect(result).toMatchObject({
    policyVersion: 3,
    isInterrupted: false,
    successBefore: expect.any(Number),
    successAfter: expect.any(Number),
  });
  const run = String(result.runDir);
  expect(path.dirname(run)).toBe(path.join(experimentDir, 'duet'));
  expect(readMetrics(run)).toHaveLength(3);
  expect(readRows(path.join(run, 'evaluations.jsonl')).map((row) => row['step'])).toEqual([0, 2, 3]);
  const [file = '', ...more] = readdirSync(path.join(run, 'tensorboard'));
  expect(more).toEqual([]);
  const sent = readFileSync(path.join(run, 'tensorboard', file), 'latin1').match(/(train|eval)\/reward_mean/g);
  expect(sent?.toSorted()).toEqual([...Array(3).fill('eval/reward_mean'), ...Array(3).fill('train/reward_mean')]);
  expect(
    new Set(
      readEpisodes(run)
        .flatMap((row) => row['samples'] as { agent_name: string }[])
        .map((sample) => sample.agent_name),
    ),
  ).toEqual(new Set(['Ann']));
  expect(existsSync(path.join(String(result.modelDir), 'config.json'))).toBe(true);
  expect(events.filter(({ type }) => type === 'episode_finished')).toHaveLength(3 * 8 + 3);
  expect(events.at(-1)).toEqual({ type: 'run_finished', result });

  const evaluation = await createJob(experimentDir).evaluate({ checkpoint: run, onEvent: () => {} });
  expect(evaluation?.successRate).toBe(result.successAfter);
});

it('a signal ends it after the step, and resume trains the rest', async () => {
  const experimentDir = createScratchFolder();
  const controller = new AbortController();
  const stopped = await createJob(experimentDir).tune({
    signal: controller.signal,
    onEvent: (event) => event.type === 'step_finished' && controller.abort(),
  });
  expect(stopped).toMatchObject({ isInterrupted: true, policyVersion: 1, successAfter: null });
  const resumed = await createJob(experimentDir).tune({ resume: true, onEvent: () => {} });
  expect(resumed).toMatchObject({
    isInterrupted: false,
    policyVersion: 3,
    runDir: stopped.runDir,
    successBefore: stopped.successBefore,
  });
  expect(readMetrics(String(resumed.runDir)).map((row) => row['step'])).toEqual([1, 2, 3]);
});
