import path from 'node:path';
import { AgentJetError, type CommonConfig, type MetricValues, type RewardedEpisode } from '@agentjet/core';
import {
  defaultPolicy,
  isOf,
  type EndRecord,
  type IdleGroup,
  type ManifestEpisode,
  type ManifestGroup,
  type ManifestRecord,
  type RecordIndex,
} from '@agentjet/ledger';
import { checkpointName, type MetricsRecord, type RunFolder } from '@agentjet/run-folder';
import { cutOf, type Episode } from '@agentjet/rollout';
import {
  contentOf,
  FirstEvaluation,
  readEnd,
  summarizeEvaluation,
  toEvaluationRecord,
  toGroupLines,
  toGroupReport,
  type Ended,
  type JobEvent,
  type JobListener,
  type SampledGroup,
} from '@agentjet/records';
import { EmptySteps, watchSteps, type WatchedSteps } from '@agentjet/local-run';
import type { ServedWeights } from '../served/served-weights.js';
import { StepMaker, type StepContent, type StepGroups } from '@agentjet/run';
import type { MadeStep, StepPlan } from '@agentjet/run/loop';
import type { TrainingGroup } from '@agentjet/trainer';
import { RedoGap } from './redo-gap.js';
import type { LostAttempt } from '../swarm/attempt-lengths.js';
import type { Evaluated, EvaluatedGroup, TrainerPort } from '../swarm/trainer-port.js';

/** The part of a manifest that is not about groups: everything else that the step is computed from. */
export type ServedStep = StepContent & {
  /** Attempts that were lost since the previous step. They appear only in the metrics of the step. */
  readonly lost?: readonly LostAttempt[];
  /**
   * For each group, the attempts that ended without a place in the group. The episode lines and the metrics of the step
   * include them.
   */
  readonly failed?: PlanContext['failed'];
  /** The version of AgentJet. */
  readonly version: string;
};

/** Trains the real weights on sealed rows. A repeated step reads the same rows and the same recipe. */
export class ModelTrainer implements TrainerPort {
  readonly #options: ModelTrainerOptions;
  readonly #steps: StepMaker;
  readonly #gap = new RedoGap();
  readonly #first: FirstEvaluation;
  #watched: WatchedSteps;
  readonly #empty: EmptySteps;
  readonly #emit: JobListener;
  /** The episodes of the step that was planned last or is being trained. */
  #episodes: Episode[] = [];

  constructor(options: ModelTrainerOptions) {
    this.#options = options;
    const { weights, folder, config, onNotice } = options;
    this.#emit = (event) => void (event.type === 'notice' && onNotice?.(event.message));
    this.#watched = watchSteps(this.#emit, { config });
    this.#first = new FirstEvaluation(folder, config);
    this.#empty = new EmptySteps({ trainerCommon: config.trainerCommon, repair });
    this.#steps = new StepMaker({ weights, folder, open: (manifest) => this.#open(manifest), onRefused: 'skip' });
  }

  get repeatsExactly(): boolean {
    return this.#options.weights.repeatsExactly;
  }

  checkpoints = (): Promise<readonly number[]> => this.#options.weights.checkpoints();
  load = async (step: number): Promise<void> => {
    this.#steps.reset();
    this.#empty.reset();
    await this.#watchFrom(step);
    if (!this.repeatsExactly) this.#gap.noteLoad(await this.#options.folder.readMetrics());
    await this.#options.weights.load(step);
  };
  save = async (step: number): Promise<void> => {
    const { weights, folder, onRecorded } = this.#options;
    await weights.save(step);
    onRecorded?.({ type: 'checkpoint_saved', step, dir: path.join(folder.checkpoints.dir, checkpointName(step)) });
  };
  removeCheckpoint = (step: number): Promise<void> => this.#options.weights.removeCheckpoint(step);

  /** Waits until the engine samples from the new weights. */
  publish = (): Promise<void> => this.#options.weights.settle();

  plan = (groups: readonly ManifestGroup[], { isOnPolicy, changes, lost, failed, idle }: PlanContext): StepPlan => {
    const given = { groups: this.#toTrainingGroups({ groups, idle }, { lost, failed }) };
    const ids = groups.map(({ groupId }) => groupId);
    const plan = this.#steps.plan(given, ids, { changes, isOnPolicy });
    const hasFailed = Object.keys(failed).length > 0;
    const content: ServedStep = {
      ...plan.content,
      version: this.#options.version,
      ...(lost.length > 0 && { lost }),
      ...(hasFailed && { failed }),
    };
    return { ...plan, content };
  };

  optimize: TrainerPort['optimize'] = (manifest, index, known) => this.#steps.optimize(manifest, index, known);

  record = async (manifest: ManifestRecord, { secondsSampling, isRedo }: MadeStep): Promise<void> => {
    const more = { ...toShareMetrics(manifest.shares), ...this.#gap.noteStep(isRedo) };
    const { metrics } = await this.#steps.record(manifest, { secondsSampling, more });
    this.#options.onRecorded?.({ type: 'step_finished', step: metrics.step, totalSteps: this.#totalSteps, metrics });
    this.#report(metrics);
    if (!isRedo) this.#empty.note(metrics);
  };

  check = (): void => {
    this.#empty.check();
    this.#watched.checkCollapse();
  };

  /** Writes an evaluation, unless an earlier process has written it. */
  recordEvaluation = async (step: number, { groups, seconds }: Evaluated): Promise<void> => {
    const { folder, config } = this.#options;
    if ((await folder.readEvaluations()).some((evaluation) => evaluation.step === step)) return;
    const sampled = groups.map((group) => this.#toSampledGroup(group));
    const all = sampled.map(({ episodes }) => episodes);
    const summary = summarizeEvaluation(all, config);
    const change = await this.#first.changeTo(step, summary.scores);
    const missing = groups.reduce((sum, { numPlaces, attempts }) => sum + numPlaces - attempts.length, 0);
    const evaluation = {
      ...summary,
      step,
      seconds,
      ...(change !== undefined && { change }),
      ...(missing > 0 && { missingEpisodes: missing }),
    };
    await folder.recordEvaluation(toEvaluationRecord(evaluation), sampled.flatMap(toGroupLines));
    this.#watched.listener({ type: 'evaluated', evaluation });
    this.#options.onRecorded?.({ type: 'evaluated', evaluation });
  };

  close = (): Promise<void> => this.#options.weights.close();

  /** Reports what the episodes and the metrics of a step show. */
  #report(metrics: MetricsRecord): void {
    const { step } = metrics;
    const { listener } = this.#watched;
    for (const episode of this.#episodes) listener({ type: 'episode_finished', phase: 'sample', step, episode });
    this.#episodes = [];
    listener({ type: 'step_finished', step, totalSteps: 0, metrics });
  }

  /** Watches the run anew, starting with the lines up to this step, which is the step of the weights. */
  async #watchFrom(last: number): Promise<void> {
    const { folder, config } = this.#options;
    const metrics = (await folder.readMetrics()).filter(({ step }) => step <= last);
    const evaluations = (await folder.readEvaluations()).filter(({ step }) => step <= last);
    this.#watched = watchSteps(this.#emit, { config, earlier: { metrics, evaluations } });
  }

  #open(manifest: ManifestRecord): StepGroups {
    const { lost = [], failed = {} } = manifest.content as ServedStep;
    return { groups: this.#toTrainingGroups(manifest, { lost, failed }) };
  }

  #toTrainingGroups(
    { groups, idle = [] }: Pick<ManifestRecord, 'groups' | 'idle'>,
    { lost, failed }: Untrained,
  ): readonly TrainingGroup[] {
    this.#episodes = [];
    return inDrawOrder(groups, idle).map((drawn, at) =>
      this.#toTrainingGroup(drawn, { lost: at === 0 ? lost : [], failed }),
    );
  }

  /** The number of steps. 0 if the tasks decide when the run ends. */
  get #totalSteps(): number {
    return this.#options.config.trainerCommon.totalTrainingSteps ?? 0;
  }

  get #policy(): string {
    return this.#options.policy ?? defaultPolicy;
  }

  /**
   * Returns the recorded end of an episode. Throws AgentJetError `redo_impossible` if there is none, because a step
   * without some of its rows would silently give other weights.
   */
  #endOf(episodeId: string): EndRecord {
    const end = this.#options.records.end(episodeId);
    if (end !== undefined) return end;
    throw new AgentJetError(
      'redo_impossible',
      `The end of episode "${episodeId}" is in no file of the ledger, and its step cannot be made without it. Restore the files, or go back with --from to a checkpoint after that step.`,
    );
  }

  #toSampledGroup({ groupId, taskId, attempts }: EvaluatedGroup): SampledGroup {
    const episodes = attempts.map((each) => {
      const { episodeId, place, attempt, seed, reward, isSuccess, rewards, reason } = each;
      const seat = { taskId, place, attempt: attempt + 1, seed };
      const end = this.#options.records.end(episodeId);
      return this.#toEpisode({ episodeId, seat, end, reward, isSuccess, rewards, dropped: reason });
    });
    return { groupId, episodes, lost: [] };
  }

  #toTrainingGroup({ group, earlier }: DrawnGroup, { lost, failed }: Untrained): TrainingGroup {
    const { groupId, rank, episodes } = group;
    const members = episodes.map((each) => {
      const own = toOwn(each, this.#policy);
      const end = this.#endOf(each.episodeId);
      const { isSuccess = end.isSuccess, reward, rewards } = own;
      return { own, end, episode: this.#toEpisode({ ...own, end, reward, rewards, isSuccess }) };
    });
    const othersOf = ({ groupId: id }: ManifestGroup): readonly Episode[] =>
      (failed[id] ?? []).map((episodeId) => this.#toUntrained(episodeId));
    const before = earlier.map((each) => toSampledGroup(each.groupId, [], othersOf(each)));
    const found = toSampledGroup(
      groupId,
      members.map(({ episode }) => episode),
      othersOf(group),
    );
    const sampled = { ...found, lost: [...before.flatMap((each) => [...each.lost, ...each.episodes]), ...found.lost] };
    this.#episodes.push(...found.episodes);
    const lengths = members.map(({ end }) => toAttemptLength(end, this.#policy));
    return {
      groupId,
      ...(rank !== undefined && { rank }),
      episodes: members.map(({ own, episode }) => toRewarded(own, episode)),
      report: {
        ...toGroupReport(sampled, this.#options.config.trainerCommon, new Set(episodes.map((each) => each.episodeId))),
        attempts: [...lengths, ...lost],
      },
    };
  }

  /** Returns the episode as one that is not trained. It may have had a reward, if its group was dropped. */
  #toUntrained(episodeId: string): Episode {
    const end = this.#endOf(episodeId);
    const { reward, isSuccess, rewards } = end;
    return this.#toEpisode({ episodeId, end, reward, isSuccess, rewards });
  }

  #toEpisode(ended: Ended): Episode {
    return readEnd(ended, this.#policy);
  }
}

/** Attempts of a batch that are not trained. */
type Untrained = { readonly lost: readonly LostAttempt[]; readonly failed: PlanContext['failed'] };

export type ModelTrainerOptions = {
  /** The policy that owns the weights. Default: `default`. */
  readonly policy?: string;
  readonly config: CommonConfig;
  readonly weights: ServedWeights;
  readonly folder: RunFolder;
  readonly records: Pick<RecordIndex, 'end'>;
  /** Called with each finding of a rule of `diagnose`, once for each rule. */
  readonly onNotice?: ((message: string) => void) | undefined;
  readonly version: string;
  /** Called after a step or an evaluation is recorded, and after a checkpoint is saved. */
  readonly onRecorded?: (event: RecordedEvent) => void;
};

export type RecordedEvent = Extract<JobEvent, { type: 'step_finished' | 'evaluated' | 'checkpoint_saved' }>;

type PlanContext = Parameters<TrainerPort['plan']>[1];

/** The number of tokens that the policy generated. */
function tokensOf(end: EndRecord | undefined, policy: string): number {
  const { policies, stats } = contentOf(end, policy);
  return (policies === undefined ? end?.tokens : stats?.generatedTokens) ?? 0;
}

/**
 * Returns the episode with only the rewards of this policy. A reward that names the policy applies to all its targets.
 */
function toOwn({ turnRewards, ...episode }: ManifestEpisode, policy: string): ManifestEpisode {
  if (policy === defaultPolicy) return { ...episode, ...(turnRewards !== undefined && { turnRewards }) };
  const own = turnRewards?.filter((each) => isOf(each, policy));
  return {
    ...episode,
    reward: episode.rewards?.[policy] ?? episode.reward,
    ...(own !== undefined && own.length > 0 && { turnRewards: own }),
  };
}

function toAttemptLength(end: EndRecord, policy: string) {
  return { episodeId: end.episodeId, tokens: tokensOf(end, policy), seconds: end.seconds, isCut: false };
}

function toRewarded(
  { episodeId, place, reward, rewards, turnRewards }: ManifestEpisode,
  episode: Episode,
): RewardedEpisode {
  return {
    episodeId,
    place,
    reward,
    samples: episode.samples,
    ...cutOf(episode),
    ...(rewards !== undefined && { rewards }),
    ...(turnRewards !== undefined && { turnRewards }),
  };
}

/**
 * `others` are attempts that ended without a place. If a place was given up, its last attempt counts as its episode.
 * Earlier attempts were lost to outages.
 */
function toSampledGroup(groupId: string, members: readonly Episode[], others: readonly Episode[]): SampledGroup {
  const last = new Map<number, Episode>();
  for (const other of others) last.set(other.repeatIndex, other); // in the order of their claims
  for (const member of members) last.set(member.repeatIndex, member);
  const episodes = [...last.values()].sort((a, b) => a.repeatIndex - b.repeatIndex);
  return { groupId, episodes, lost: others.filter((other) => !episodes.includes(other)) };
}

/** Returns the planned and the actual number of groups of each share in the batch. Empty in a run without shares. */
function toShareMetrics(shares: ManifestRecord['shares']): MetricValues {
  const { asked = {}, got = {} } = shares ?? {};
  const names = [...new Set([...Object.keys(asked), ...Object.keys(got)])];
  const rows = names.flatMap((share) => [
    [`share/${share}/asked`, asked[share] ?? 0] as const,
    [`share/${share}/got`, got[share] ?? 0] as const,
  ]);
  return Object.fromEntries(rows satisfies readonly (readonly [keyof MetricValues, number])[]) as MetricValues;
}

/**
 * A group of the batch, with the earlier groups of the same draw, which were dropped. A group that is not trained has
 * no episodes.
 */
type DrawnGroup = { readonly group: ManifestGroup; readonly earlier: readonly ManifestGroup[] };

/** Returns the batch in the order in which its tasks were drawn, including groups that are not trained. */
function inDrawOrder(groups: readonly ManifestGroup[], idle: readonly IdleGroup[]): readonly DrawnGroup[] {
  if (idle.length === 0) return groups.map((group) => ({ group, earlier: [] }));
  const tries = new Map<number, ManifestGroup[]>();
  for (const group of [...idle.map((each) => ({ ...each, episodes: [] })), ...groups]) {
    const { draw = -1 } = group;
    tries.set(draw, [...(tries.get(draw) ?? []), group]);
  }
  const inOrder = [...tries].sort(([a], [b]) => a - b);
  return inOrder.flatMap(([, all]) => all.slice(-1).map((group) => ({ group, earlier: all.slice(0, -1) })));
}

const repair =
  'Repair the cause and continue with "ajet swarm start" (without a server, with --resume), or set trainer_common.max_empty_steps to null to continue regardless.';
