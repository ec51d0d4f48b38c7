import {
  AgentJetError,
  BackboneError,
  ConfigError,
  deriveSeed,
  JudgeError,
  toErrorMessage,
  type Task,
} from '@agentjet/core';
import { isGroupJudge, type Judge, type JudgeContext, type TaskReader } from '@agentjet/rollout';
import { checkVerdict } from '@agentjet/rollout/inputs';
import { copyPlain } from '@agentjet/rollout/loading';
import { openRunFolder, type RecordedEpisode, type RunFolder } from '@agentjet/run-folder';
import type { ChatTokenizer } from '@agentjet/tokenizer';
import { openTokenizer, type TokenizerParts } from './open-tokenizer.js';
import { RecordedTasks } from './recorded-tasks.js';
import { readRecordedTranscripts } from './recorded-transcripts.js';
import {
  hasChanged,
  meanScore,
  type LeftOutEpisodes,
  type RescoredEpisode,
  type RescoreReport,
  type EpisodeScore,
} from './rescore-report.js';

export type RescoreParts = TokenizerParts & {
  readonly judge: Judge;
  readonly runDir: string;
  /** Undefined: all steps. */
  readonly step?: number | undefined;
  /** Called only if the record of a task is not complete. */
  readonly openReader: () => Promise<TaskReader>;
  readonly parallel: number;
  readonly signal: AbortSignal;
};

/**
 * Implements `AgentJetJob.rescore`: asks the judge about the recorded episodes of a run. Nothing is sampled, and the
 * run is not changed. Throws BackboneError `run_folder` or `no_episode`, and ConfigError `bad_judge`.
 */
export async function rescoreRun(parts: RescoreParts): Promise<RescoreReport> {
  const { judge, runDir, signal } = parts;
  if (judge.needsEnvironment === true) throw needsEpisodes();
  const startedAt = performance.now();
  const run = await openRunFolder(runDir);
  const steps = await chooseSteps(run, parts.step);
  const scorer = new Scorer(parts, await openTokenizer(run, parts));
  for (const step of steps) {
    if (signal.aborted) break;
    await scorer.score(await run.episodes.readStep(step));
  }
  return {
    run: run.dir,
    steps,
    ...scorer.read(),
    usage: judge.usage?.() ?? { calls: 0, promptTokens: 0, completionTokens: 0 },
    seconds: (performance.now() - startedAt) / 1000,
    isInterrupted: signal.aborted,
  };
}

function needsEpisodes(): ConfigError {
  return new ConfigError(
    'bad_judge',
    'The judge asks the environment of an episode, which is gone after the episode. Name a judge that reads answers, or leave environment out of task_judge.combined.',
  );
}

async function chooseSteps({ dir, episodes }: RunFolder, step: number | undefined): Promise<readonly number[]> {
  const steps = await episodes.steps();
  if (step === undefined && steps.length > 0) return steps;
  if (step !== undefined && steps.includes(step)) return [step];
  const [first, last] = [steps[0], steps.at(-1)];
  const kept = first === undefined ? 'It has none' : `Its episodes are of the steps ${first} to ${last}`;
  const wanted = step === undefined ? 'episodes' : `episodes of step ${step}`;
  throw new BackboneError('no_episode', `The run ${dir} has no ${wanted}. ${kept}.`);
}

/** A conversation that the judge asked for is not in the record. */
class NoConversation extends Error {
  override readonly message =
    "the judge reads the conversation, and the record has no tokens of it, or the run's tokenizer is gone";
}

type Asked = { readonly record: RecordedEpisode; readonly task: Task; readonly context: JudgeContext };

/** Asks the judge and keeps what changed. */
class Scorer {
  readonly #parts: RescoreParts;
  readonly #tokenizer: ChatTokenizer | undefined;
  readonly #tasks: RecordedTasks;
  readonly #rescored: RescoredEpisode[] = [];
  readonly #leftOut = new Map<string, LeftOutEpisodes>();
  #episodes = 0;
  #scoredByWorkflow = 0;

  constructor(parts: RescoreParts, tokenizer: ChatTokenizer | undefined) {
    this.#parts = parts;
    this.#tokenizer = tokenizer;
    this.#tasks = new RecordedTasks(parts.openReader);
  }

  /** Scores the episodes of one step. Episodes that a judge compares are asked about together. */
  async score(records: readonly RecordedEpisode[]): Promise<void> {
    this.#episodes += records.length;
    const asked = (await Promise.all(records.map((record) => this.#prepare(record)))).flatMap((each) => each ?? []);
    const batches = isGroupJudge(this.#parts.judge) ? groupsOf(asked) : asked.map((each) => [each]);
    let next = 0;
    const work = async (): Promise<void> => {
      for (let batch = batches[next++]; batch !== undefined; batch = batches[next++]) {
        if (this.#parts.signal.aborted) return;
        await this.#ask(batch);
      }
    };
    await Promise.all(Array.from({ length: this.#parts.parallel }, work));
  }

  read(): Pick<
    RescoreReport,
    'episodes' | 'rescored' | 'scoredByWorkflow' | 'before' | 'after' | 'changes' | 'leftOut'
  > {
    return {
      episodes: this.#episodes,
      rescored: this.#rescored.length,
      scoredByWorkflow: this.#scoredByWorkflow,
      before: meanScore(this.#rescored.map(({ before }) => before)),
      after: meanScore(this.#rescored.map(({ after }) => after)),
      changes: this.#rescored.filter(hasChanged),
      leftOut: [...this.#leftOut.values()],
    };
  }

  async #prepare(record: RecordedEpisode): Promise<Asked | undefined> {
    if (record['status'] !== 'completed')
      return this.#leave(record, 'the episode failed, so there is nothing to score');
    const task = await this.#tasks.taskOf(record);
    if (typeof task === 'string') return this.#leave(record, task);
    return { record, task, context: this.#toContext(record) };
  }

  #toContext(record: RecordedEpisode): JudgeContext {
    const read = (): JudgeContext['transcripts'] => {
      const transcripts = readRecordedTranscripts(record, this.#tokenizer);
      if (transcripts === undefined) throw new NoConversation();
      return transcripts;
    };
    return {
      episodeId: record.episode_id,
      signal: this.#parts.signal,
      seed: deriveSeed(Number(record['seed']), 'judge'),
      get transcripts() {
        return read();
      },
      environment: null,
    };
  }

  async #ask(batch: readonly Asked[]): Promise<void> {
    try {
      const verdicts = await this.#judge(batch);
      for (const [at, { record, task }] of batch.entries())
        this.#note(record, toScore(checkVerdict(verdicts[at], task)));
    } catch (error) {
      if (error instanceof ConfigError) throw error;
      if (this.#parts.signal.aborted) return;
      for (const { record } of batch) this.#leave(record, describeFailure(error), codeOf(error));
    }
  }

  async #judge(batch: readonly Asked[]): Promise<readonly unknown[]> {
    const { judge, signal } = this.#parts;
    const [first] = batch;
    if (first === undefined) return [];
    const outputs = batch.map(({ record }) => toOutput(record));
    if (!isGroupJudge(judge)) return [await judge.judge(copyPlain(first.task), outputs[0] ?? {}, first.context)];
    const groupId = groupOf(first.record);
    const episodes = batch.map(({ context }) => context);
    const { seed } = first.context;
    const verdicts = await judge.judgeGroup(copyPlain(first.task), outputs, { groupId, signal, seed, episodes });
    if (Array.isArray(verdicts) && verdicts.length === batch.length) return verdicts;
    throw new JudgeError(
      'bad_verdict',
      `The judge returned no list of ${batch.length} verdicts for group "${groupId}".`,
    );
  }

  #note(record: RecordedEpisode, after: EpisodeScore): void {
    const before = toScore({
      reward: Number(record['reward']),
      isSuccess: record['is_success'] === true,
      reason: record['reason'],
    });
    if (record['seconds_judging'] === undefined) this.#scoredByWorkflow++;
    const { episode_id: episodeId, step, phase } = record;
    this.#rescored.push({ episodeId, taskId: String(record['task_id']), step, phase, before, after });
  }

  /** Episodes of one kind are counted together, with the reason of the first. */
  #leave(record: RecordedEpisode, reason: string, kind = reason): undefined {
    const known = this.#leftOut.get(kind) ?? { reason, episodes: 0, firstEpisode: record.episode_id };
    this.#leftOut.set(kind, { ...known, episodes: known.episodes + 1 });
    return undefined;
  }
}

const describeFailure = (error: unknown): string =>
  error instanceof NoConversation ? error.message : `no verdict: ${toErrorMessage(error)}`;

const codeOf = (error: unknown): string =>
  error instanceof AgentJetError ? error.code : error instanceof NoConversation ? error.message : 'thrown';

const groupOf = ({ group_id: group, task_id: task, phase }: RecordedEpisode): string =>
  typeof group === 'string' ? group : `${phase}-${String(task)}`;

function groupsOf(asked: readonly Asked[]): readonly (readonly Asked[])[] {
  const groups = new Map<string, Asked[]>();
  for (const each of asked) groups.set(groupOf(each.record), [...(groups.get(groupOf(each.record)) ?? []), each]);
  return [...groups.values()];
}

function toOutput({ metadata, log_metrics: logMetrics }: RecordedEpisode): object {
  return { metadata: copyPlain(metadata ?? {}), logMetrics: copyPlain(logMetrics ?? {}) };
}

function toScore({
  reward,
  isSuccess,
  reason,
}: {
  readonly reward: number;
  readonly isSuccess: boolean;
  readonly reason?: unknown;
}): EpisodeScore {
  return { reward, isSuccess, reason: typeof reason === 'string' ? reason : null };
}
