import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import {
  BackboneError,
  ConfigError,
  parseJsonObject,
  toErrorMessage,
  type Backbone,
  replaceFile,
} from '@agentjet/core';
import { rewindAnnotations, writeAnnotations, type AnnotationLine } from './annotations.js';
import { Checkpoints, type Checkpoint, type TrainingState } from './checkpoints.js';
import { EpisodeFiles } from './episode-files.js';
import { EpisodeIndex } from './episode-index/episode-index.js';
import { readRecordKeys } from './episode-index/record-keys.js';
import { IndexWriter } from './episode-index/write-index.js';
import type { EpisodeRecord, RecordedEpisode } from './episode-record.js';
import { writing } from './file-error.js';
import { isSum } from './file-sums.js';
import { appendJsonLine, filterJsonLines, readJsonLines } from './json-lines.js';
import type { MetricsLine, MetricsRecord } from './metrics-record.js';
import { readModelSource } from './model-source.js';
import { compareModels, isTokenizerFile, sumModel, type ModelChange } from './model-sums.js';
import { cutUnknown, findChangedRecords, noteRecords, recordsOfStep, whileCut } from './record-sums.js';
import { renderRewardCurve } from './reward-curve.js';
import { runFiles, type RunFile } from './run-files.js';
import { readSystem } from './system-record.js';
import { findChangedSources, type TasksRecord } from './tasks-record.js';
import { checkWriting, claimWriting, releaseWriting, removeLeftovers } from './writer-claim.js';

/** The changes that a resumed run makes. */
export type RunChanges = {
  readonly firstStep: number;
  readonly changes: readonly { readonly key: string; readonly before: unknown; readonly after: unknown }[];
  readonly configYaml: string;
  readonly code: Readonly<Record<string, string>>;
};

export type RunFolderOptions = {
  readonly clock?: () => Date;
  /** A metric of the evaluations, such as `success_rate`. The checkpoint with its highest value is kept. */
  readonly keepBest?: string | null | undefined;
  /** Called with messages for the user that do not end the run: repairs, or a curve that could not be drawn. */
  readonly onNotice?: (message: string) => void;
};

/** How messages name the index. */
const indexName = 'index/';

/**
 * The files of a run, which are readable without AgentJet:
 * ```
 * config.yaml        the configuration, resolved
 * metrics.jsonl      one object per step
 * evaluations.jsonl  one object per evaluation
 * episodes/          step-000012.jsonl: one episode per line, token by token
 * index/             step-000012.jsonl: one row per episode, without tokens; made from episodes/, and made again if it is lost
 * annotations/       step-000012.jsonl: what the trainer computed for the tokens of the step
 * checkpoints/       step-000020/: a model folder with the optimizer's state; latest: the newest one's name
 * changes.jsonl      settings that a resumed run changed, with the first step for which they are valid; config.yaml has the newest
 * code.json          SHA-256 of the code that the configuration names
 * model.json         length and SHA-256 of the files of the model folder that the run began with
 * rules.json         the rules that the run began with; a run of an older version has others, or none, and is refused
 * arithmetic.json    threads and processor that made the newest weights, if their last digits depend on them
 * tasks.json         the sources of the tasks with their sums, their number, and the tasks that were left out
 * sums.jsonl         length and SHA-256 of the records above, after each step and evaluation
 * log.jsonl          events with times
 * system.jsonl       memory, CPU and free disk after each step
 * reward.svg         the reward curve
 * recorded/          finished episodes and the decisions to train, for `--resume` (`@agentjet/local-run`)
 * writer.json        the process that writes here, while it runs
 * ```
 * A failed write rejects with BackboneError `run_folder` (or `checkpoint`), which names the file and the repair.
 */
export class RunFolder {
  readonly dir: string;
  readonly checkpoints: Checkpoints;
  readonly episodes: EpisodeFiles;
  readonly #clock: () => Date;
  readonly #onNotice: (message: string) => void;
  readonly #keepBest: string | undefined;
  readonly #index: IndexWriter;
  readonly #unwritten = new Set<string>();
  /** The points of the curve; undefined until they are read. */
  #drawn: { readonly metrics: MetricsRecord[]; readonly evaluations: MetricsRecord[] } | undefined;

  constructor(dir: string, { clock = () => new Date(), onNotice = () => {}, keepBest }: RunFolderOptions = {}) {
    this.dir = dir;
    this.#onNotice = onNotice;
    this.#keepBest = keepBest ?? undefined;
    this.checkpoints = new Checkpoints(path.join(dir, 'checkpoints'));
    this.episodes = new EpisodeFiles(path.join(dir, 'episodes'));
    this.#clock = clock;
    this.#index = new IndexWriter(dir, () => this.readConfig());
  }

  /** Returns the hashes of the code, by the names in the configuration. */
  async readCodeHashes(): Promise<Readonly<Record<string, string>>> {
    const text = await readFile(this.#path('code'), 'utf8').catch(() => '{}');
    const hashes = Object.entries(parseJsonObject(text) ?? {});
    return Object.fromEntries(hashes.flatMap(([name, hash]) => (typeof hash === 'string' ? [[name, hash]] : [])));
  }

  /** Records changes that are valid from `firstStep` on, and replaces config.yaml. */
  async recordChanges({ firstStep, changes, configYaml, code }: RunChanges): Promise<void> {
    for (const change of changes)
      await this.#writing('changes', (file) => appendJsonLine(file, { first_step: firstStep, ...change }));
    if (changes.length > 0) await this.#writing('config', (file) => replaceFile(file, configYaml));
    await this.#writing('code', (file) => replaceFile(file, `${JSON.stringify(code)}\n`));
  }

  /** Returns `Backbone.arithmetic` of the process that made the newest weights, or undefined if it is unknown. */
  async readArithmetic(): Promise<string | undefined> {
    const text = await readFile(this.#path('arithmetic'), 'utf8').catch(() => '{}');
    const arithmetic = parseJsonObject(text)?.['arithmetic'];
    return typeof arithmetic === 'string' ? arithmetic : undefined;
  }

  async writeArithmetic(arithmetic: string): Promise<void> {
    await this.#writing('arithmetic', (file) => replaceFile(file, `${JSON.stringify({ arithmetic })}\n`));
  }

  /** Opens the index of the run's episodes, for programs that read a run, finished or running. */
  async openIndex(): Promise<EpisodeIndex> {
    return new EpisodeIndex(this.dir, this.episodes, readRecordKeys(await this.readConfig()));
  }

  readConfig(): Promise<string> {
    return readFile(this.#path('config'), 'utf8');
  }

  async readMetrics(): Promise<MetricsRecord[]> {
    return (await readJsonLines(this.#path('metrics'))) as MetricsRecord[];
  }

  async readEvaluations(): Promise<MetricsRecord[]> {
    return (await readJsonLines(this.#path('evaluations'))) as MetricsRecord[];
  }

  /** Writes one event: `{ time, event, ...fields }`. */
  log(event: string, fields: Readonly<Record<string, unknown>> = {}): Promise<void> {
    return this.#writing('log', (file) =>
      appendJsonLine(file, { time: this.#clock().toISOString(), event, ...fields }),
    );
  }

  /**
   * Writes the episodes, then the line in metrics.jsonl, then the curve. A step counts as recorded only if it has its
   * line.
   */
  async recordStep(
    metrics: MetricsLine,
    episodes: readonly EpisodeRecord[] = [],
    annotations: readonly AnnotationLine[] = [],
  ): Promise<void> {
    await this.#checkOwned();
    await this.#writeEpisodes({ step: metrics.step, phase: 'train' }, episodes);
    if (annotations.length > 0)
      await this.#writingIfPossible('annotations/', () => writeAnnotations(this.dir, metrics.step, annotations));
    await this.#writing('metrics', (file) => appendJsonLine(file, metrics));
    await this.#noteRecords('metrics', metrics.step);
    const { step } = metrics;
    await this.#writingIfPossible(runFiles.system, async () =>
      appendJsonLine(this.#path('system'), await readSystem(this.dir, step, this.#clock())),
    );
    this.#drawn?.metrics.push(metrics);
    await this.#drawCurve();
  }

  /**
   * Writes the episodes, then the line in evaluations.jsonl, then the curve. An evaluation counts as recorded only if
   * it has its line.
   */
  async recordEvaluation(evaluation: MetricsLine, episodes: readonly EpisodeRecord[] = []): Promise<void> {
    await this.#checkOwned();
    await this.#writeEpisodes({ step: evaluation.step, phase: 'evaluation' }, episodes);
    await this.#writing('evaluations', (file) => appendJsonLine(file, evaluation));
    await this.#noteRecords('evaluations', evaluation.step);
    this.#drawn?.evaluations.push(evaluation);
    await this.#drawCurve();
    await this.#markBest();
  }

  async #writeEpisodes(at: Pick<RecordedEpisode, 'step' | 'phase'>, records: readonly EpisodeRecord[]): Promise<void> {
    const places = await writing(this.episodes.dir, () => this.episodes.append(at, records));
    await this.#writingIfPossible(indexName, () => this.#index.append(at, records, places));
  }

  /** Writes a file that a run can do without. A failure becomes a notice, once for each file. */
  async #writingIfPossible(what: string, write: () => Promise<void>): Promise<void> {
    try {
      await write();
    } catch (thrown) {
      if (!this.#unwritten.has(what))
        this.#onNotice(`${what} could not be written, and the run continues without it: ${toErrorMessage(thrown)}`);
      this.#unwritten.add(what);
    }
  }

  /** Saves a checkpoint. By default the three newest are kept; 0 keeps all. */
  async save(
    backbone: Pick<Backbone, 'save'>,
    state: TrainingState,
    { maxCheckpoints = 3 }: { readonly maxCheckpoints?: number } = {},
  ): Promise<Checkpoint> {
    await this.#checkOwned();
    const checkpoint = await this.checkpoints.save(backbone, state, { maxCheckpoints });
    await this.log('checkpoint', { step: state.step, dir: path.relative(this.dir, checkpoint.dir) });
    await this.#markBest();
    return checkpoint;
  }

  /** Marks the evaluated checkpoint with the highest metric. If two are equal, marks the earlier one. */
  async #markBest(): Promise<void> {
    const figure = this.#keepBest;
    if (figure === undefined) return;
    const { evaluations } = await this.#readDrawn();
    const steps = await this.checkpoints.steps();
    const best = evaluations
      .filter((evaluation) => steps.includes(evaluation.step) && evaluation[figure] !== undefined)
      .toSorted((a, b) => (b[figure] ?? 0) - (a[figure] ?? 0) || a.step - b.step)[0];
    if (best === undefined) {
      const last = evaluations.at(-1);
      if (last !== undefined && last[figure] === undefined)
        throw new ConfigError(
          'unknown_figure',
          `trainer_common.keep_best is "${figure}", but evaluations have ${Object.keys(last).join(', ')}.`,
        );
      return;
    }
    await writing(this.checkpoints.dir, () => this.checkpoints.markBest(best.step));
  }

  /**
   * Restores the folder to its state after `state.step`: later metrics, evaluations, episodes and checkpoints are
   * removed, and so are leftovers of a killed writer. Every file is cut to complete records. A resumed run then writes
   * the removed parts again. Throws BackboneError `run_in_use` while another process writes here.
   */
  async rewind(state: TrainingState): Promise<void> {
    await this.#writing('writer', (file) => claimWriting(file));
    this.#drawn = undefined;
    const changed = [...(await findChangedRecords(this.dir)), ...(await writing(this.dir, () => cutUnknown(this.dir)))];
    changed.forEach(this.#onNotice);
    const repairs = await whileCut(this.dir, () => this.#cutAfter(state.step));
    repairs.forEach(this.#onNotice);
    const told = [...changed, ...repairs];
    await this.log('resumed', { step: state.step, ...(told.length === 0 ? {} : { repairs: told }) });
  }

  /** Removes everything after `lastStep`. Resolves to descriptions of what was wrong. */
  async #cutAfter(lastStep: number): Promise<readonly string[]> {
    const isKept = ({ step }: Record<string, unknown>) => typeof step === 'number' && step <= lastStep;
    await this.#cut('metrics', isKept);
    await this.#cut('evaluations', isKept);
    await this.#cut('log', () => true);
    await this.#cut('system', () => true);
    await removeLeftovers(this.dir);
    const evaluated = new Set((await this.readEvaluations()).map(({ step }) => step));
    const repairs = [...(await writing(this.episodes.dir, () => this.episodes.rewind(lastStep, evaluated)))];
    await this.#writingIfPossible(indexName, () => this.#index.rewind(this.episodes));
    await writing(this.dir, () => rewindAnnotations(this.dir, lastStep));
    const abandoned = await writing(this.checkpoints.dir, () => this.checkpoints.rewind(lastStep));
    if (abandoned.length > 0)
      repairs.push(`Checkpoints after step ${lastStep} are set aside: ${abandoned.join(', ')}.`);
    return [...repairs, ...(await this.#missingSteps(lastStep))];
  }

  /**
   * Describes changes of the records since they were written. If `modelDir` is the folder that the run began with, also
   * describes changes of its tokenizer.
   */
  async findChanges(modelDir?: string): Promise<readonly string[]> {
    const records = await findChangedRecords(this.dir);
    const models = modelDir === undefined ? [] : await this.findModelChanges(modelDir, isTokenizerFile);
    const words = models.map(
      ({ file }) =>
        `${path.join(modelDir ?? '', file)} has changed since the run began: tokens may be shown as other text.`,
    );
    return [...records, ...words];
  }

  /** Returns differences between the files of the model folder and those that the run began with. */
  async findModelChanges(modelDir: string, isWanted?: (name: string) => boolean): Promise<readonly ModelChange[]> {
    const text = await readFile(this.#path('model'), 'utf8').catch(() => '{}');
    const before = Object.entries(parseJsonObject(text) ?? {}).flatMap(([name, sum]) =>
      isSum(sum) && (isWanted?.(name) ?? true) ? [[name, sum] as const] : [],
    );
    return compareModels(Object.fromEntries(before), await sumModel(modelDir, isWanted));
  }

  /** Records the files of the model folder at the beginning of the run, and their source. */
  async recordModel(modelDir: string): Promise<void> {
    const source = await readModelSource(modelDir);
    const record = { ...(await sumModel(modelDir)), ...(source && { source }) };
    await this.#writing('model', (file) => replaceFile(file, `${JSON.stringify(record)}\n`));
  }

  /** Records the run's tasks, and reports which of their sources have changed since the previous start of the run. */
  async recordTasks(tasks: TasksRecord): Promise<void> {
    const before = await readFile(this.#path('tasks'), 'utf8').catch(() => '{}');
    findChangedSources(parseJsonObject(before) ?? {}, tasks).forEach(this.#onNotice);
    await this.#writing('tasks', (file) => replaceFile(file, `${JSON.stringify(tasks, null, 2)}\n`));
  }

  /**
   * Makes this process the writer of the folder, even if another process is the writer. The next write of that process
   * is refused.
   */
  async takeOver(): Promise<void> {
    await claimWriting(this.#path('writer'), { takesOver: true });
  }

  /** Releases the folder, so that another process can write it. */
  async close(): Promise<void> {
    await releaseWriting(this.#path('writer')).catch(() => undefined); // the claim also ends when the process ends
  }

  /**
   * Throws BackboneError `run_folder` if the folder does not exist any more, and `run_in_use` if another process has
   * taken it over.
   */
  async #checkOwned(): Promise<void> {
    if (!existsSync(this.#path('config')))
      throw new BackboneError(
        'run_folder',
        `The run folder ${this.dir} was removed or moved while the run was writing it. Start the run again, or put the folder back and continue with --resume.`,
      );
    await checkWriting(this.#path('writer'));
  }

  #noteRecords(name: 'metrics' | 'evaluations', step: number): Promise<void> {
    return this.#writing('sums', () => noteRecords(this.dir, [runFiles[name], ...recordsOfStep(step)]));
  }

  async #cut(
    name: 'metrics' | 'evaluations' | 'log' | 'system',
    isKept: (value: Record<string, unknown>) => boolean,
  ): Promise<void> {
    await this.#writing(name, async (file) => {
      const { broken } = await filterJsonLines(file, isKept);
      if (broken > 0) this.#onNotice(`${broken} lines of ${file} were not whole records; they are removed.`);
    });
  }

  async #missingSteps(lastStep: number): Promise<readonly string[]> {
    const seen = new Set((await this.readMetrics()).map(({ step }) => step));
    const missing = Array.from({ length: lastStep }, (_, index) => index + 1).filter((step) => !seen.has(step));
    if (missing.length === 0) return [];
    return [
      `${this.#path('metrics')} has no line for ${missing.length} of ${lastStep} steps; the first is ${missing[0]}. The curve lacks them.`,
    ];
  }

  async #drawCurve(): Promise<void> {
    try {
      const { metrics, evaluations } = await this.#readDrawn();
      await this.#writing('curve', (file) =>
        replaceFile(file, renderRewardCurve(metrics, evaluations), { isFlushed: false }),
      );
    } catch (thrown) {
      this.#onNotice(`reward.svg could not be written, and the run continues without it: ${toErrorMessage(thrown)}`);
    }
  }

  async #readDrawn() {
    this.#drawn ??= { metrics: await this.readMetrics(), evaluations: await this.readEvaluations() };
    return this.#drawn;
  }

  #path(name: RunFile): string {
    return path.join(this.dir, runFiles[name]);
  }

  #writing(name: RunFile, write: (file: string) => Promise<void>): Promise<void> {
    return writing(this.#path(name), () => write(this.#path(name)));
  }
}
