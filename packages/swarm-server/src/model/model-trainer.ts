import { unpackTurns } from '@agentjet/context-tracker';
import { AgentJetError, type CommonConfig, type RewardedEpisode, type Sample } from '@agentjet/core';
import {
  defaultPolicy,
  isOf,
  type EndRecord,
  type ManifestEpisode,
  type ManifestGroup,
  type ManifestRecord,
  type Outcome,
  type RecordIndex,
} from '@agentjet/ledger';
import { Diagnosis, type EpisodeFacts } from '@agentjet/diagnose';
import type { MetricsRecord, RunFolder } from '@agentjet/run-folder';
import {
  countAnswers,
  openRows,
  toLeftOut,
  type RowHead,
  type RowSpans,
  type SealedRow,
  type ServedWeights,
  type StepRecipe,
} from '@agentjet/session/served';
import type { PreparedBatch, TrainingGroup } from '@agentjet/trainer';
import { RedoGap } from './redo-gap.js';
import type { LostAttempt } from '../swarm/attempt-lengths.js';
import type { EvaluatedEpisode, StepPlan, TrainerPort } from '../swarm/trainer-port.js';

/** What a manifest says of its step beside its groups: everything else that the step is computed from. */
export type StepContent = {
  readonly recipe: StepRecipe;
  /** False if a token was sampled by another incarnation of the weights. */
  readonly isOnPolicy: boolean;
  /** Attempts that were lost since the step before; only the metrics of the step tell of them. */
  readonly lost?: readonly LostAttempt[];
  /** Of AgentJet. */
  readonly version: string;
};

/** Trains the real weights on sealed rows. Making a step again reads the same rows and the same recipe. */
export class ModelTrainer implements TrainerPort {
  readonly #options: ModelTrainerOptions;
  /** The batch that was planned last, or is being trained. */
  #batch: { readonly name: string; readonly prepared: PreparedBatch } | undefined;
  #steppedAt = performance.now();
  readonly #gap = new RedoGap();
  readonly #diagnosis: Diagnosis;

  constructor(options: ModelTrainerOptions) {
    this.#options = options;
    this.#diagnosis = new Diagnosis(options.config);
  }

  get repeatsExactly(): boolean {
    return this.#options.weights.repeatsExactly;
  }

  checkpoints = (): Promise<readonly number[]> => this.#options.weights.checkpoints();
  load = async (step: number): Promise<void> => {
    this.#batch = undefined;
    if (!this.repeatsExactly) this.#gap.noteLoad(await this.#options.folder.readMetrics());
    await this.#options.weights.load(step);
  };
  save = (step: number): Promise<void> => this.#options.weights.save(step);
  removeCheckpoint = (step: number): Promise<void> => this.#options.weights.removeCheckpoint(step);

  /** The engine samples from the new weights as soon as they are made. */
  publish = (): Promise<void> => Promise.resolve();

  plan = (groups: readonly ManifestGroup[], { isOnPolicy, changes, lost }: PlanContext): StepPlan => {
    const recipe = this.#options.weights.recipe(changes);
    const { prepared } = this.#prepare(groups, { recipe, lost });
    const { version } = this.#options;
    const content: StepContent = { recipe, isOnPolicy, version, ...(lost.length > 0 && { lost }) };
    return { optimizerSteps: withIdleGroups(prepared.optimizerSteps, groups), content };
  };

  optimize = async (manifest: ManifestRecord, index: number, known: Outcome | undefined): Promise<Outcome> => {
    const { recipe, isOnPolicy, lost = [] } = manifest.content as StepContent;
    const { prepared } = this.#prepare(manifest.groups, { recipe, lost });
    const isApplied = await this.#step(prepared, { manifest, index, recipe, isOnPolicy, known });
    const leftOut = index === 0 ? prepared.leftOut.map(toLeftOut) : [];
    if (index === manifest.optimizerSteps.length - 1)
      await this.#record(prepared, manifest, { isRedo: known !== undefined, recipe });
    return { isApplied, leftOut };
  };

  recordEvaluation = async (step: number, episodes: readonly EvaluatedEpisode[]): Promise<void> => {
    const { folder, records } = this.#options;
    const numEpisodes = Math.max(1, episodes.length);
    const lines = episodes.map((episode) => ({
      samples: [],
      ...toRecord(episode, records.end(episode.episodeId), this.#policy),
      phase: 'evaluate',
    }));
    await folder.recordEvaluation(
      {
        step,
        episodes: episodes.length,
        success_rate: episodes.filter(({ isSuccess }) => isSuccess === true).length / numEpisodes,
        reward_mean: episodes.reduce((sum, { reward }) => sum + reward, 0) / numEpisodes,
      },
      lines,
    );
    this.#options.onRecorded?.();
  };

  close = (): Promise<void> => this.#options.weights.close();

  async #step(prepared: PreparedBatch, { manifest, index, recipe, isOnPolicy, known }: OneStep): Promise<boolean> {
    if (known?.isApplied === false) return false; // refused before: the weights stay
    if (prepared.optimizerSteps.length === 0) return true; // nothing to train, and nothing refused
    const optimizer = this.#options.weights.ratesOf(recipe, { step: manifest.step, index });
    const isMade = (await prepared.optimize(index, { optimizer, isOnPolicy })) !== undefined;
    if (isMade || known === undefined) return isMade;
    throw new AgentJetError(
      'redo_diverged',
      `Optimizer step ${manifest.step}.${index} was made before, and now its gradient is not finite: the weights have diverged. Go back with --from to a checkpoint before step ${manifest.step}.`,
    );
  }

  async #record(
    prepared: PreparedBatch,
    { step, shares, groups }: ManifestRecord,
    { isRedo, recipe }: { readonly isRedo: boolean; readonly recipe: StepRecipe },
  ): Promise<void> {
    const { learningRate = 0 } = this.#options.weights.ratesOf(recipe, { step, index: 0 });
    const planned = prepared.optimizerSteps.length === 0 ? { learning_rate: learningRate } : {};
    const seconds = (performance.now() - this.#steppedAt) / 1000;
    const more = { ...planned, ...toShareMetrics(shares), ...this.#gap.noteStep(isRedo) };
    const metrics = await prepared.record(this.#options.folder, step, seconds, more);
    this.#notice(metrics, groups);
    this.#steppedAt = performance.now();
    this.#batch = undefined;
    this.#options.onRecorded?.();
  }

  /** Reports what the rules find in the step's records. */
  #notice(metrics: MetricsRecord, groups: readonly ManifestGroup[]): void {
    const { records, onNotice } = this.#options;
    const episodes = groups.flatMap((group) =>
      group.episodes.map(({ episodeId }) => {
        const { swallowed_errors: swallowed } = contentOf(records.end(episodeId), this.#policy);
        return { episode_id: episodeId, ...(swallowed !== undefined && { swallowed_errors: swallowed }) };
      }),
    );
    for (const { message } of this.#diagnosis.look(metrics, episodes)) onNotice?.(message);
  }

  /** Planned and trained from one preparation: the weights do not change in between. */
  #prepare(
    groups: readonly ManifestGroup[],
    { recipe, lost }: Required<Pick<StepContent, 'recipe' | 'lost'>>,
  ): { readonly prepared: PreparedBatch } {
    const name = JSON.stringify(groups);
    if (this.#batch?.name === name) return this.#batch;
    const prepared = this.#options.weights.prepare(
      groups.map((group, at) => this.#toTrainingGroup(group, at === 0 ? lost : [])),
      recipe,
    );
    this.#batch = { name, prepared };
    return this.#batch;
  }

  get #policy(): string {
    return this.#options.policy ?? defaultPolicy;
  }

  /** Throws AgentJetError `redo_impossible`: a step without rows that it had would give other weights, silently. */
  #endOf(episodeId: string): EndRecord {
    const end = this.#options.records.end(episodeId);
    if (end !== undefined) return end;
    throw new AgentJetError(
      'redo_impossible',
      `The end of episode "${episodeId}" is in no file of the ledger, and its step cannot be made without it. Restore the files, or go back with --from to a checkpoint after that step.`,
    );
  }

  #toTrainingGroup({ groupId, rank, episodes }: ManifestGroup, lost: readonly LostAttempt[]): TrainingGroup {
    const policy = this.#policy;
    const ends = episodes.map((each) => ({ episode: toOwn(each, policy), end: this.#endOf(each.episodeId) }));
    return {
      groupId,
      ...(rank !== undefined && { rank }),
      episodes: ends.map(({ episode, end }) => toRewarded(episode, end, policy)),
      report: {
        episodes: ends.length,
        failedEpisodes: ends.filter(({ end }) => end?.status === 'failed').length,
        successes: ends.filter(({ end }) => end?.isSuccess === true).length,
        rewardSum: ends.reduce((sum, { episode }) => sum + episode.reward, 0),
        generatedTokens: ends.reduce((sum, { end }) => sum + tokensOf(end, policy), 0),
        attempts: [...ends.map(({ end }) => toAttemptLength(end, policy)), ...lost],
        logMetrics: ends.map(({ end }) => contentOf(end, policy).log_metrics ?? {}),
        means: ends.map(({ episode }) => toMeans(episode)),
        counts: countCalls(ends.map(({ end }) => contentOf(end, policy))),
        records: ends.map(({ episode, end }) => toRecord(episode, end, policy)),
      },
    };
  }
}

export type ModelTrainerOptions = {
  /** Whose weights these are. Default: `default`. */
  readonly policy?: string;
  readonly config: CommonConfig;
  readonly weights: ServedWeights;
  readonly folder: RunFolder;
  readonly records: Pick<RecordIndex, 'end'>;
  /** Called with what a rule of `diagnose` found, once for each rule. */
  readonly onNotice?: ((message: string) => void) | undefined;
  readonly version: string;
  /** Told after each line of the metrics or the evaluations. */
  readonly onRecorded?: () => void;
};

type PlanContext = Parameters<TrainerPort['plan']>[1];

type OneStep = {
  readonly manifest: ManifestRecord;
  readonly index: number;
  readonly recipe: StepRecipe;
  readonly isOnPolicy: boolean;
  readonly known: Outcome | undefined;
};

/** The content of an end, as `ServedEpisodes.seal` and the end's own request make it. */
type EndContent = {
  readonly task_id?: string;
  /** The place in its group. */
  readonly repeat_index?: number;
  readonly rows?: readonly (SealedRow | RowHead | RowSpans)[];
  readonly turns?: Parameters<typeof unpackTurns>[0];
  readonly metadata?: unknown;
  readonly log_metrics?: Readonly<Record<string, number>>;
  readonly error?: string;
  readonly messages?: unknown;
  readonly ignored_parameters?: Readonly<Record<string, unknown>>;
  readonly swallowed_errors?: EpisodeFacts['swallowed_errors'];
  readonly stats?: { readonly generatedTokens?: number };
  /** Which of the end's bytes is the first one of these rows. Default: 0. */
  readonly bytes_at?: number;
  /** What differs between several policies. */
  readonly policies?: Readonly<
    Record<string, Pick<EndContent, 'rows' | 'turns' | 'stats' | 'bytes_at' | 'ignored_parameters'>>
  >;
};

function contentOf(end: EndRecord | undefined, policy: string): EndContent {
  const content = (end?.content ?? {}) as EndContent;
  return { ...content, ...content.policies?.[policy] };
}

/** Generated by the policy. */
function tokensOf(end: EndRecord | undefined, policy: string): number {
  const { policies, stats } = contentOf(end, policy);
  return (policies === undefined ? end?.tokens : stats?.generatedTokens) ?? 0;
}

/** What concerns the policy. A reward that names it is for all its targets. */
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
  end: EndRecord | undefined,
  policy: string,
): RewardedEpisode {
  const { rows = [], bytes_at: from } = contentOf(end, policy);
  const samples: readonly Sample[] = openRows(episodeId, rows, end?.bytes?.slice(from));
  return {
    episodeId,
    place,
    reward,
    samples,
    ...(rewards !== undefined && { rewards }),
    ...(turnRewards !== undefined && { turnRewards }),
  };
}

function toMeans({ rewards = {}, turnRewards }: ManifestEpisode): Readonly<Record<string, number>> {
  return {
    ...Object.fromEntries(Object.entries(rewards).map(([target, reward]) => [`reward/${target}`, reward])),
    ...(turnRewards !== undefined && { turn_rewards: turnRewards.reduce((sum, { value }) => sum + value, 0) }),
  };
}

/** What each share was to have of the batch, and what it had, in groups. Nothing in a run without shares. */
function toShareMetrics(shares: ManifestRecord['shares']): Readonly<Record<string, number>> {
  const { asked = {}, got = {} } = shares ?? {};
  const names = [...new Set([...Object.keys(asked), ...Object.keys(got)])];
  const rows = names.flatMap((share) => [
    [`share/${share}/asked`, asked[share] ?? 0] as const,
    [`share/${share}/got`, got[share] ?? 0] as const,
  ]);
  return Object.fromEntries(rows);
}

/** For the metrics of a step, under the names of an ordinary run. */
function countCalls(contents: readonly EndContent[]): Readonly<Record<string, number>> {
  const turns = contents.map((content) => (content.turns === undefined ? [] : unpackTurns(content.turns)));
  const swallowed = contents.flatMap((content) => content.swallowed_errors ?? []);
  return {
    ...countAnswers(
      turns.map((each) => ({ turns: each.map((turn) => ({ isTruncated: turn.is_truncated === true })) })),
    ),
    ...(swallowed.length > 0 && { swallowed_errors: swallowed.reduce((sum, { times }) => sum + times, 0) }),
  };
}

/** The line of an episode in episodes/, without its samples. */
function toRecord(
  { episodeId, reward, rewards }: Omit<ManifestEpisode, 'place'>,
  end: EndRecord | undefined,
  policy: string,
) {
  const content = contentOf(end, policy);
  const { task_id, repeat_index, turns, metadata, log_metrics, error, messages, swallowed_errors } = content;
  const { ignored_parameters: ignored } = content;
  return {
    episode_id: episodeId,
    ...(task_id !== undefined && { task_id, repeat_index }),
    status: end?.status ?? 'completed',
    reward,
    is_success: end?.isSuccess ?? null,
    ...(rewards !== undefined && { rewards }),
    ...(error !== undefined && { error }),
    ...(turns !== undefined && { turns: unpackTurns(turns) }),
    ...(messages !== undefined && { messages }),
    ...(swallowed_errors !== undefined && { swallowed_errors }),
    ...(ignored !== undefined && Object.keys(ignored).length > 0 && { ignored_parameters: ignored }),
    metadata: metadata ?? {},
    log_metrics: log_metrics ?? {},
    generated_tokens: tokensOf(end, policy),
  };
}

/** Every group is in an optimizer step, those too of which nothing is trained: their fate falls with the first one. */
function withIdleGroups(
  steps: readonly (readonly string[])[],
  groups: readonly ManifestGroup[],
): readonly (readonly string[])[] {
  const trained = new Set(steps.flat());
  const idle = groups.map(({ groupId }) => groupId).filter((groupId) => !trained.has(groupId));
  const [first = [], ...others] = steps;
  return [[...first, ...idle], ...others];
}
