import { mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { BackboneError, ConfigError, makeFolders, type Backbone } from '@agentjet/core';
import { Checkpoints, type Checkpoint, type TrainingState } from './checkpoints.js';
import { EpisodeFiles } from './episode-files.js';
import type { EpisodeRecord } from './episode-record.js';
import { describeFileError, writing } from './file-error.js';
import { appendJsonLine, filterJsonLines, readJsonLines } from './json-lines.js';
import type { MetricsRecord } from './metrics-record.js';
import { replaceFile } from './replace-file.js';
import { renderReport } from './report.js';
import { renderRewardCurve } from './reward-curve.js';
import { claimWriting } from './writer-claim.js';

const files = {
  config: 'config.yaml',
  metrics: 'metrics.jsonl',
  evaluations: 'evaluations.jsonl',
  log: 'log.jsonl',
  writer: 'writer.json',
  curve: 'reward.svg',
  report: 'report.html',
} as const;

/**
 * What a run leaves behind, readable without us:
 * ```
 * config.yaml        the configuration, resolved
 * metrics.jsonl      one object per step
 * evaluations.jsonl  one object per evaluation
 * episodes/          step-000012.jsonl: one episode per line, token by token
 * checkpoints/       step-000020/: a model folder with the optimizer's state; latest: the newest one's name
 * log.jsonl          what happened, with times
 * reward.svg, report.html
 * writer.json        the process that writes here, while it does
 * ```
 * Writes that fail reject with BackboneError `run_folder` (or `checkpoint`), naming the file and the repair.
 */
export class RunFolder {
  readonly dir: string;
  readonly checkpoints: Checkpoints;
  readonly episodes: EpisodeFiles;
  readonly #clock: () => Date;
  /** What the curve shows; undefined until it is read. */
  #drawn: { readonly metrics: MetricsRecord[]; readonly evaluations: MetricsRecord[] } | undefined;

  constructor(dir: string, clock: () => Date = () => new Date()) {
    this.dir = dir;
    this.checkpoints = new Checkpoints(path.join(dir, 'checkpoints'));
    this.episodes = new EpisodeFiles(path.join(dir, 'episodes'));
    this.#clock = clock;
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

  /** One event: `{ time, event, ...fields }`. */
  log(event: string, fields: Readonly<Record<string, unknown>> = {}): Promise<void> {
    return this.#writing('log', (file) =>
      appendJsonLine(file, { time: this.#clock().toISOString(), event, ...fields }),
    );
  }

  /** Episodes first, then the line in metrics.jsonl that makes the step count, then the curve. */
  async recordStep(metrics: MetricsRecord, episodes: readonly EpisodeRecord[] = []): Promise<void> {
    await writing(this.episodes.dir, () => this.episodes.append(metrics.step, episodes));
    await this.#writing('metrics', (file) => appendJsonLine(file, metrics));
    this.#drawn?.metrics.push(metrics);
    await this.#drawCurve();
  }

  async recordEvaluation(evaluation: MetricsRecord): Promise<void> {
    await this.#writing('evaluations', (file) => appendJsonLine(file, evaluation));
    this.#drawn?.evaluations.push(evaluation);
    await this.#drawCurve();
  }

  /** Default: the three newest checkpoints are kept; 0 keeps all. */
  async save(
    backbone: Pick<Backbone, 'save'>,
    state: TrainingState,
    { maxCheckpoints = 3 }: { readonly maxCheckpoints?: number } = {},
  ): Promise<Checkpoint> {
    const checkpoint = await this.checkpoints.save(backbone, state, { maxCheckpoints });
    await this.log('checkpoint', { step: state.step, dir: path.relative(this.dir, checkpoint.dir) });
    return checkpoint;
  }

  /**
   * Makes the folder what it was after `state.step`: later metrics, evaluations and episodes go, and so does what a
   * killed writer left. A resumed run then writes them anew. Throws BackboneError `run_in_use` while another process
   * writes here.
   */
  async rewind(state: TrainingState): Promise<void> {
    await this.#writing('writer', claimWriting);
    this.#drawn = undefined;
    const isKept = ({ step }: Record<string, unknown>) => typeof step === 'number' && step <= state.step;
    await this.#writing('metrics', (file) => filterJsonLines(file, isKept));
    await this.#writing('evaluations', (file) => filterJsonLines(file, isKept));
    await this.#writing('log', (file) => filterJsonLines(file, () => true));
    await writing(this.episodes.dir, () => this.episodes.rewind(state.step));
    await writing(this.checkpoints.dir, () => this.checkpoints.repair());
    await this.log('resumed', { step: state.step });
  }

  /** report.html as of now. */
  async writeReport(): Promise<void> {
    const [metrics, evaluations, config, steps] = await Promise.all([
      this.readMetrics(),
      this.readEvaluations(),
      this.readConfig(),
      this.episodes.steps(),
    ]);
    const shown = [...new Set([steps[0], steps.at(-1)])].filter((step) => step !== undefined);
    const episodes = (await Promise.all(shown.map((step) => this.episodes.readStep(step)))).flatMap((records) =>
      records.slice(0, 4),
    );
    await this.#writing('report', (file) =>
      replaceFile(
        file,
        renderReport({
          name: path.basename(path.dirname(this.dir)),
          dir: this.dir,
          metrics,
          evaluations,
          config,
          episodes,
        }),
      ),
    );
  }

  async #drawCurve(): Promise<void> {
    const { metrics, evaluations } = await this.#readDrawn();
    await this.#writing('curve', (file) =>
      replaceFile(file, renderRewardCurve(metrics, evaluations), { isFlushed: false }),
    );
  }

  async #readDrawn() {
    this.#drawn ??= { metrics: await this.readMetrics(), evaluations: await this.readEvaluations() };
    return this.#drawn;
  }

  #path(name: keyof typeof files): string {
    return path.join(this.dir, files[name]);
  }

  #writing(name: keyof typeof files, write: (file: string) => Promise<void>): Promise<void> {
    return writing(this.#path(name), () => write(this.#path(name)));
  }
}

export type NewRun = {
  /** Holds a folder per experiment, which holds a folder per run. */
  readonly experimentDir: string;
  readonly experimentName: string;
  /** Text of config.yaml. */
  readonly configYaml: string;
  readonly clock?: () => Date;
};

/** `<experimentDir>/<experimentName>/<time>/`, new. Throws ConfigError `unwritable_run_folder`. */
export async function createRunFolder({
  experimentDir,
  experimentName,
  configYaml,
  clock = () => new Date(),
}: NewRun): Promise<RunFolder> {
  const parent = path.resolve(experimentDir, experimentName);
  try {
    makeFolders(parent);
    const dir = await makeUniqueFolder(path.join(parent, formatTime(clock())));
    await writeFile(path.join(dir, files.config), configYaml);
    await claimWriting(path.join(dir, files.writer));
    return new RunFolder(dir, clock);
  } catch (cause) {
    throw new ConfigError('unwritable_run_folder', describeFileError(parent, cause), { cause });
  }
}

/** A run folder that exists. Throws BackboneError `run_folder` for what is none. */
export async function openRunFolder(dir: string, options: { readonly clock?: () => Date } = {}): Promise<RunFolder> {
  const isRun = await stat(path.join(dir, files.config)).then(
    (entry) => entry.isFile(),
    () => false,
  );
  if (!isRun)
    throw new BackboneError(
      'run_folder',
      `${dir} is not a run folder: it holds no ${files.config}. ${await sayWhereRunsAre(dir)}`,
    );
  return new RunFolder(path.resolve(dir), options.clock);
}

async function sayWhereRunsAre(dir: string): Promise<string> {
  const newest = await findLatestRun(dir, '.');
  return newest === undefined
    ? 'Runs are the folders <experiment_dir>/<experiment_name>/<time>.'
    : `The newest run in it is ${newest}.`;
}

/** The newest run of an experiment; undefined where there is none. */
export async function findLatestRun(experimentDir: string, experimentName: string): Promise<string | undefined> {
  const parent = path.resolve(experimentDir, experimentName);
  const names = await readdir(parent).catch(() => []);
  const runs = await Promise.all(
    names.map((name) =>
      stat(path.join(parent, name, files.config)).then(
        () => [name],
        () => [],
      ),
    ),
  );
  const newest = runs.flat().sort(compareRunNames).at(-1);
  return newest === undefined ? undefined : path.join(parent, newest);
}

/** 2026-08-09T12-30-05, local time: sorts by time, and is a folder name everywhere. */
function formatTime(date: Date): string {
  const pad = (value: number) => String(value).padStart(2, '0');
  const day = [date.getFullYear(), pad(date.getMonth() + 1), pad(date.getDate())].join('-');
  return `${day}T${[pad(date.getHours()), pad(date.getMinutes()), pad(date.getSeconds())].join('-')}`;
}

async function makeUniqueFolder(dir: string): Promise<string> {
  for (let attempt = 1; ; attempt++) {
    const candidate = attempt === 1 ? dir : `${dir}_${attempt}`;
    const isNew = await mkdir(candidate).then(
      () => true,
      (thrown: NodeJS.ErrnoException) => {
        if (thrown.code === 'EEXIST') return false;
        throw thrown;
      },
    );
    if (isNew) return candidate;
  }
}

/** By time, then by the number behind it: `..._10` comes after `..._9`. */
function compareRunNames(a: string, b: string): number {
  return a.localeCompare(b, 'en', { numeric: true });
}
