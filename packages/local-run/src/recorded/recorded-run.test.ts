import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { BackboneError, type CommonConfig, type Sample, type Task } from '@agentjet/core';
import { accountOf, type LeftOut } from '@agentjet/ledger';
import type { AttemptKeeper, Episode, TaskGroup } from '@agentjet/rollout';
import { createRunFolder, type Checkpoint, type RunFolder } from '@agentjet/run-folder';
import type { TrainingGroup } from '@agentjet/trainer';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createPlaceKeeper } from '../phases/place-keeper.js';
import { toTrainingGroup } from '../schedule/to-training-group.js';
import { createConfig } from '@agentjet/inputs/testing';
import { openRecordedRun, type RecordedRunOptions } from './open-recorded-run.js';
import type { RecordedRun } from './recorded-run.js';

let dir: string;
let folder: RunFolder;
let notices: string[];
let opened: RecordedRun[];
beforeEach(async () => {
  dir = await mkdtemp(path.join(tmpdir(), 'recorded-'));
  folder = await createRunFolder({ experimentDir: dir, experimentName: 'e', configYaml: 'ajet: {}\n' });
  [notices, opened] = [[], []];
});
afterEach(async () => {
  await Promise.all(opened.map((run) => run.close().catch(() => undefined)));
  await rm(dir, { recursive: true, force: true });
});

const taskOf = (taskId: string): Task => ({ taskId, mainQuery: '', initMessages: [], metadata: {} });
const never = new AbortController().signal;

async function open(changes: Partial<RecordedRunOptions> = {}): Promise<RecordedRun> {
  const run = await openRecordedRun({
    config: createConfig({}) as CommonConfig,
    folder,
    backbone: { capabilities: { repeatsSeed: true }, policyVersion: 0 } as RecordedRunOptions['backbone'],
    checkpoint: undefined,
    isChosen: false,
    changes: [],
    onNotice: (message) => void notices.push(message),
    ...changes,
  });
  if (run === undefined) throw new Error('It is not recorded.');
  opened.push(run);
  return run;
}

/** Simulates a crash: nothing more is written, and the next process opens the store. */
async function crashAndOpen(run: RecordedRun, changes: Partial<RecordedRunOptions> = {}): Promise<RecordedRun> {
  await run.places.committed();
  opened = opened.filter((other) => other !== run);
  return open(changes);
}

const checkpointAt = (step: number): Checkpoint =>
  ({ dir: '', state: { step, policyVersion: step, groupsDrawn: 0 } }) as Checkpoint;
const atVersion = (policyVersion: number, repeatsSeed = true): RecordedRunOptions['backbone'] =>
  ({ capabilities: { repeatsSeed }, policyVersion }) as RecordedRunOptions['backbone'];

function sampleOf(episodeId: string): Sample {
  return {
    episodeId,
    agentName: 'a',
    targetTag: 'a',
    ids: Int32Array.of(5, 6, 7, 8),
    lossMask: Uint8Array.of(0, 0, 1, 1),
    logprobs: Float32Array.of(0, 0, -0.1, -1.7),
    policyVersions: Int32Array.of(-1, -1, 3, 3),
    turnIndices: Int32Array.of(-1, -1, 0, 0),
    advantages: new Float32Array(4),
  };
}

function callsOf(answered: number): Episode['calls'] {
  const failed = {
    aborted: 0,
    failed: 0,
    truncated: 0,
    withTools: 0,
    callingTools: 0,
    malformedToolCalls: 0,
    malformedArguments: 0,
    malformedJson: 0,
  };
  return { answered, ...failed, untrained: 0, repeated: 0, unknownTools: 0 };
}

function episodeOf(episodeId: string, taskId: string, outcome: object): Episode {
  const counted = { forks: {}, splices: {}, foreignMessages: {}, specialTokens: {} };
  const stats = { calls: 1, generatedTokens: 2, trainedTokens: 2, samples: 1, ...counted };
  const rest = { calls: callsOf(1), ignoredParameters: {}, metadata: { a: [1] }, logMetrics: { b: 0.25 } };
  const shared = { episodeId, task: taskOf(taskId), repeatIndex: 0, seed: 3, turns: [], stats, seconds: 0.5 };
  return { ...shared, ...rest, samples: [sampleOf(episodeId)], ...outcome } as unknown as Episode;
}

const won = {
  status: 'completed',
  reward: 1,
  isSuccess: true,
  turnRewards: [{ agentName: 'a', turnIndex: 0, value: 0.5 }],
};
const lost = { status: 'completed', reward: 0, isSuccess: false, rewards: { a: 0.125 } };
const failed = { status: 'failed', error: { code: 'workflow_failed', message: 'a bug' } };
const outage = {
  status: 'failed',
  error: { code: 'failed', message: 'down', outage: { source: 'connection', host: 'h' } },
};
const judgeBroke = { status: 'failed', error: { code: 'judge_failed', message: 'no' } };

/**
 * Samples a group. Each of its places has a list of outcomes, with lost attempts first. Returns the number of attempts
 * that were really made.
 */
async function sampleGroup(
  keeper: AttemptKeeper,
  taskId: string,
  places: readonly (readonly object[])[],
): Promise<{ readonly group: TaskGroup; readonly made: readonly string[] }> {
  const made: string[] = [];
  const all: { episode: Episode; lost: Episode[] }[] = [];
  for (const [place, outcomes] of places.entries()) {
    const before: Episode[] = [];
    for (;;) {
      const attempt = before.length;
      const episodeId = `${taskId}-r${place}${attempt === 0 ? '' : `-a${attempt}`}`;
      const at = {
        groupId: taskId,
        task: taskOf(taskId),
        place,
        numPlaces: places.length,
        attempt,
        episodeId,
        seed: place,
      };
      const recalled = keeper.recall?.(at);
      if (recalled === undefined) {
        made.push(episodeId);
        await keeper.begin(at, never);
      }
      const episode = recalled?.episode ?? episodeOf(episodeId, taskId, outcomes[attempt] ?? won);
      const isRetried = recalled === undefined ? keeper.end(at, episode) : !recalled.isFinal;
      if (!isRetried) {
        all.push({ episode, lost: before });
        break;
      }
      before.push(episode);
    }
  }
  const group = {
    groupId: taskId,
    task: taskOf(taskId),
    episodes: all.map(({ episode }) => episode),
    lost: all.flatMap((each) => each.lost),
  };
  return { group, made };
}

const keeperOf = (run: RecordedRun, config = createConfig({}) as CommonConfig) =>
  createPlaceKeeper(config, { onNotice: () => undefined, record: run.places });

/** Decides a step in the same way as the loop. Returns whether the step is on-policy. */
async function decide(
  run: RecordedRun,
  step: number,
  groups: readonly TrainingGroup[],
  steps?: readonly (readonly string[])[],
): Promise<boolean> {
  const { groups: trained, isOnPolicy, content } = run.decide(step, groups);
  const { groupIdOf = (id) => id } = run.namesOf(step);
  const optimizerSteps = steps?.map((ids) => ids.map(groupIdOf)) ?? [trained.map(({ groupId }) => groupId)];
  run.ledger.assign(trained, { content: { policyVersion: step - 1, isOnPolicy, ...content }, optimizerSteps });
  await run.journal.synced();
  return isOnPolicy;
}

/** Concludes the optimizer steps that have no outcome yet. */
async function conclude(run: RecordedRun, step: number, leftOut: readonly LeftOut[] = []): Promise<void> {
  const { optimizerSteps = [] } = run.ledger.state.manifests.get(step) ?? {};
  for (const index of optimizerSteps.keys())
    if (run.ledger.state.outcomes.get(step)?.[index] === undefined)
      run.ledger.conclude(step, index, { isApplied: true, leftOut: index === 0 ? leftOut : [] });
  await run.journal.synced();
}

const redone = (run: RecordedRun): readonly (readonly TrainingGroup[])[] =>
  [...run.ledger.state.manifests.values()].map(run.open);

/** Notes that the weights of repeated steps may differ, as the loop does before it repeats them. */
function raiseIncarnation({ ledger, repeatsExactly }: RecordedRun): void {
  if (!repeatsExactly) ledger.append({ kind: 'incarnation', value: ledger.state.incarnation + 1 });
}

const mixed = {
  a: [[won], [lost], [failed], [outage, won]],
  b: [[failed], [failed], [failed], [won]],
  c: [[won], [judgeBroke], [lost], [won]],
};

async function sampleStep(
  run: RecordedRun,
  step: number,
  config = createConfig({}) as CommonConfig,
): Promise<readonly TrainingGroup[]> {
  const keeper = keeperOf(run, config).during({ purpose: 'train', step });
  const groups: TrainingGroup[] = [];
  for (const [taskId, places] of Object.entries(mixed)) {
    const { group } = await sampleGroup(keeper, taskId, places);
    groups.push(toTrainingGroup(group, config, { epoch: 0, index: groups.length }));
  }
  return groups;
}

describe('the manifest of a step', () => {
  it.each(['partial_group', 'drop_group', 'zero_reward'] as const)('gives back its groups under %s', async (policy) => {
    const config = createConfig({ rollout: { failedEpisodePolicy: policy } }) as CommonConfig;
    const run = await open({ config });
    const groups = await sampleStep(run, 1, config);
    await decide(run, 1, groups);
    const again = await crashAndOpen(run, { config });
    expect(again.lastStep).toBe(1);
    expect(redone(again)).toEqual([groups]);
    await conclude(again, 1);
    const states = [...again.ledger.state.groups.values()].map(({ fate }) => fate);
    expect(states).not.toContain(undefined);
    expect(states).not.toContain('assigned');
  });

  it('names the groups of each optimizer step, and what became of each is told apart', async () => {
    const run = await open();
    const groups = await sampleStep(run, 1);
    const [a = '', ...others] = groups.filter(({ episodes }) => episodes.length > 0).map(({ groupId }) => groupId);
    await decide(run, 1, groups, [others, [a]]);
    const nameOf = (groupId: string): string => run.places.groupIdOf(groupId, { purpose: 'train', step: 1 });
    expect(run.ledger.state.manifests.get(1)?.optimizerSteps).toEqual([others.map(nameOf), [nameOf(a)]]);
    run.ledger.conclude(1, 0, { isApplied: true });
    const again = await crashAndOpen(run);
    expect(again.ledger.state.outcomes.get(1)?.map((outcome) => outcome?.index)).toEqual([0]);
    await conclude(again, 1);
    expect(again.ledger.state.outcomes.get(1)?.map((outcome) => outcome?.index)).toEqual([0, 1]);
    expect([...again.ledger.state.groups.values()].map(({ fate }) => fate)).not.toContain('assigned');
  });

  it('is void once its gradient was refused: the resumed run samples the step anew', async () => {
    const run = await open();
    await decide(run, 1, await sampleStep(run, 1));
    const error = new BackboneError('non_finite_gradient', 'The gradient norm is NaN.');
    const state = { step: 0, policyVersion: 0, groupsDrawn: 0 };
    await run.noteOutcome({ status: 'failed', error, state, checkpoint: undefined });
    const again = await crashAndOpen(run);
    expect(redone(again)).toEqual([]);
    const { made } = await sampleGroup(keeperOf(again).during({ purpose: 'train', step: 1 }), 'a', [[won], [lost]]);
    expect(made).toEqual(['a-r0', 'a-r1']);
  });
});

describe('episodes of a step that is not decided', () => {
  it('are not sampled again after a crash, nor are the attempts that were lost before them', async () => {
    const run = await open();
    const keeper = keeperOf(run).during({ purpose: 'train', step: 1 });
    await sampleGroup(keeper, 'a', [[won], [outage, lost]]);
    const at = { groupId: 'b', task: taskOf('b'), place: 0, numPlaces: 2, attempt: 0, episodeId: 'b-r0', seed: 0 };
    await keeper.begin(at, never); // this attempt runs when the process dies
    const again = keeperOf(await crashAndOpen(run)).during({ purpose: 'train', step: 1 });
    const whole = await sampleGroup(again, 'a', [[], []]);
    expect(whole.made).toEqual([]);
    expect(whole.group.episodes.map((episode) => episode.status === 'completed' && episode.reward)).toEqual([1, 0]);
    expect(whole.group.lost.map(({ episodeId }) => episodeId)).toEqual(['a-r1']);
    expect((await sampleGroup(again, 'b', [[won], [won]])).made).toEqual(['b-r0', 'b-r1']);
  });

  it('are sampled again if what they are sampled with was changed, or somebody goes back to a checkpoint', async () => {
    const run = await open();
    await sampleGroup(keeperOf(run).during({ purpose: 'train', step: 1 }), 'a', [[won], [lost]]);
    const change = { key: 'rollout.user_workflow', before: 'a', after: 'b' };
    const changed = await crashAndOpen(run, { changes: [change] });
    const other = await sampleGroup(keeperOf(changed).during({ purpose: 'train', step: 1 }), 'a', [[won], [lost]]);
    expect(other.made).toHaveLength(2);
    await decide(changed, 1, [toTrainingGroup(other.group, createConfig({}) as CommonConfig, undefined)]);
    const chosen = await crashAndOpen(changed, { isChosen: true });
    expect(chosen.lastStep).toBe(0);
    const last = await sampleGroup(keeperOf(chosen).during({ purpose: 'train', step: 1 }), 'a', [[won], [lost]]);
    expect(last.made).toHaveLength(2);
  });

  it('count as off-policy if the steps before them were made again by a backbone that does not repeat exactly', async () => {
    const run = await open({ backbone: atVersion(0, false) });
    await decide(run, 1, await sampleStep(run, 1));
    await conclude(run, 1);
    await sampleGroup(keeperOf(run).during({ purpose: 'train', step: 2 }), 'a', [[won], [lost]]);
    const again = await crashAndOpen(run, { backbone: atVersion(0, false) });
    raiseIncarnation(again);
    const keeper = keeperOf(again).during({ purpose: 'train', step: 2 });
    const { group, made } = await sampleGroup(keeper, 'a', [[], []]);
    expect(made).toEqual([]);
    const batch = [toTrainingGroup(group, createConfig({}) as CommonConfig, undefined)];
    expect(await decide(again, 2, batch)).toBe(false);
  });

  it.each([
    ['on-policy', '2 threads', true],
    ['off-policy', '3 threads', false],
  ])('count as %s if the steps before them, made with 2 threads, were made again with %s', async (_, now, expected) => {
    const made = (arithmetic: string) => ({ backbone: { ...atVersion(0), arithmetic } });
    const run = await open(made('2 threads'));
    await decide(run, 1, await sampleStep(run, 1));
    await conclude(run, 1);
    await sampleGroup(keeperOf(run).during({ purpose: 'train', step: 2 }), 'a', [[won], [lost]]);
    const between = await crashAndOpen(run, made(now));
    raiseIncarnation(between);
    const again = await crashAndOpen(between, made(now));
    raiseIncarnation(again);
    const { group } = await sampleGroup(keeperOf(again).during({ purpose: 'train', step: 2 }), 'a', [[], []]);
    const batch = [toTrainingGroup(group, createConfig({}) as CommonConfig, undefined)];
    expect(await decide(again, 2, batch)).toBe(expected);
    expect(await folder.readArithmetic()).toBe(now);
  });
});

it('ends the run with the reason when its ledger cannot be written', async () => {
  const run = await open();
  const groups = await sampleStep(run, 1);
  await run.close();
  await expect(decide(run, 1, groups)).rejects.toMatchObject({
    code: 'run_folder',
    message: expect.stringMatching(/^Episodes cannot be recorded: .* Continue with --resume/) as unknown,
  });
});

it('reports a place where nothing can be recorded, and the run continues', async () => {
  const config = createConfig({ swarm: { storeDir: path.join(folder.dir, 'config.yaml') } }) as CommonConfig;
  await expect(open({ config })).rejects.toThrow('It is not recorded.');
  expect(notices.join()).toMatch(
    /^Episodes are not recorded: .* --resume samples the steps since the last checkpoint again/,
  );
});

it('forgets what it has recorded when recording is turned off', async () => {
  const run = await open();
  await decide(run, 1, await sampleStep(run, 1));
  const config = createConfig({ rollout: { record: false } }) as CommonConfig;
  await expect(crashAndOpen(run, { config })).rejects.toThrow('It is not recorded.');
  expect((await open()).lastStep).toBe(0);
});

it('counts the episodes that a step did not train, by reason', async () => {
  const run = await open();
  await decide(run, 1, await sampleStep(run, 1));
  const { episodeIdOf = () => undefined } = run.namesOf(1);
  await conclude(run, 1, [
    { episodeId: episodeIdOf('a-r0') ?? '', reason: 'nothing_to_train' },
    { episodeId: episodeIdOf('c-r0') ?? '', reason: 'too_long' },
  ]);
  const { droppedByReason } = accountOf(run.ledger.state);
  expect(droppedByReason).toMatchObject({ nothing_to_train: 1, too_long: 1 });
});

it('resumes a run that made steps without recording', async () => {
  const run = await open();
  await decide(run, 1, await sampleStep(run, 1));
  await conclude(run, 1);
  const again = await crashAndOpen(run, { checkpoint: checkpointAt(5), backbone: atVersion(5) });
  expect(again.lastStep).toBe(5);
  await decide(again, 6, await sampleStep(again, 6));
  expect(again.lastStep).toBe(6);
});

it('keeps evaluated episodes until a checkpoint covers them', async () => {
  const run = await open();
  const at = { purpose: 'evaluation', step: 0 } as const;
  await sampleGroup(keeperOf(run).during(at), 'eval-0-t', [[won], [failed]]);
  await run.noteEvaluation(0);
  const again = await crashAndOpen(run);
  expect((await sampleGroup(keeperOf(again).during(at), 'eval-0-t', [[], []])).made).toEqual([]);
  await again.noteEvaluation(0);
  expect(again.ledger.state.evaluations.size).toBe(1);
});

it('sets a ledger aside that cannot be read, and records anew', async () => {
  const run = await open();
  run.ledger.append({ kind: 'outcome', step: 1, index: 0, isApplied: true, leftOut: [] });
  run.ledger.append({ kind: 'checkpoint', step: 1 });
  await run.close();
  const { LmdbStore } = await import('@agentjet/ledger');
  const store = await LmdbStore.open(path.join(folder.dir, 'recorded'), { takeOver: true });
  await store.takeOver();
  const group = { kind: 'end', groupId: 'nobody', episodeId: 'nobody' } as never;
  await store.commit([{ sequence: 1000, record: group }]);
  await store.close();
  const again = await open();
  expect(again.lastStep).toBe(0);
  expect(notices.join()).toMatch(
    /cannot be read, so their folder was renamed to .*recorded\.unreadable-\d+: The ledger contradicts itself/,
  );
});
