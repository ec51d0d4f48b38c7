import { stat } from 'node:fs/promises';
import path from 'node:path';
import { BackboneError, toErrorMessage, type JsonObject } from '@agentjet/core';
import { examineRun } from '@agentjet/diagnose';
import { loadRunTokenizer } from '@agentjet/inspect';
import {
  isBeingWritten,
  openRunFolder,
  saysWords,
  toEpisodeOutcome,
  type EpisodeIndex,
  type OutcomeInWords,
  type EpisodeRow,
  type RunFolder,
} from '@agentjet/run-folder';
import type {
  EpisodesChunk,
  EpisodeTimes,
  EpisodeView,
  GroupView,
  MetricsChunk,
  Outcomes,
  RunFindings,
  RunOverview,
  RunSummary,
  RunSystem,
  SearchResult,
  TaskView,
} from '../wire.js';
import { compareKinds, compareTasks, compareWithBest } from './compare-evaluations.js';
import { EpisodeTable } from './episode-table.js';
import type { FoundRun } from './find-runs.js';
import { RunLines } from './run-lines.js';
import { readShownSettings, type Settings } from './run-settings.js';
import { summarizeRun, toEvaluationPoint } from './summarize-run.js';
import { TokenDecoder } from './token-texts.js';
import { viewEpisode } from './view-episode.js';
import { measureDisk, sumEpisodeTimes, toSystemPoints } from './view-system.js';
import { viewGroup, type GroupMember } from './view-group.js';

/** The parts of a run that are opened when its episodes are first asked for. */
type Opened = { readonly folder: RunFolder; readonly index: EpisodeIndex; readonly table: EpisodeTable };

/** The most episodes that a group shows. */
const maxMembers = 64;
const maxFound = 20_000;
/** The maximum number of episodes whose times are added up. */
const maxTimed = 256;
/** A running run is examined again after this time. */
const examineMs = 15_000;

/** A run, read from its files as they grow. It never writes. */
export class StudioRun {
  readonly found: FoundRun;
  readonly #lines: RunLines;
  #settings: { readonly value: Settings; readonly writtenMs: number } | undefined;
  #opened: Promise<Opened> | undefined;
  #texts: Promise<TokenDecoder> | undefined;
  #examined: { readonly cursor: string; readonly atMs: number; readonly found: Promise<RunFindings> } | undefined;

  constructor(found: FoundRun) {
    this.found = found;
    this.#lines = new RunLines(found.dir);
  }

  async summary(): Promise<RunSummary> {
    await this.#lines.refresh();
    return summarizeRun({
      found: this.found,
      lines: this.#lines,
      settings: await this.#readSettings(),
      isBeingWritten: await isBeingWritten(this.found.dir),
      updatedMs: await this.updatedMs(),
    });
  }

  async overview(): Promise<RunOverview> {
    const run = await this.summary();
    const settings = await this.#readSettings();
    const rows = await this.#rows().catch(() => []); // the curves of a run are shown even if its episodes cannot be read
    const numPlain = Number(settings['trainer_common.val_pass_n'] ?? 1);
    const tasks = compareTasks(rows, numPlain);
    const evaluations = this.#lines.evaluations.flatMap(toEvaluationPoint);
    return {
      run,
      evaluations,
      loss: compareWithBest(evaluations, rows, numPlain),
      tasks,
      kinds: compareKinds(tasks),
      settings,
      events: this.#lines.log.flatMap(toEvent),
    };
  }

  /** The rules read all episodes, so they are asked again only if there are new lines, and not after each step of a run. */
  async findings(): Promise<RunFindings> {
    await this.#lines.refresh();
    const { cursor } = this.#lines;
    const isOld = this.#examined === undefined || Date.now() - this.#examined.atMs > examineMs;
    if (this.#examined === undefined || (isOld && this.#examined.cursor !== cursor)) {
      const found = examineRun(this.found.dir).then(({ findings, unseen }) => ({ findings, unseen }));
      this.#examined = { cursor, atMs: Date.now(), found };
      found.catch(() => (this.#examined = undefined));
    }
    return this.#examined.found;
  }

  async metrics(after: string): Promise<MetricsChunk> {
    await this.#lines.refresh();
    return this.#lines.chunkAfter(after);
  }

  async episodes(after: string): Promise<EpisodesChunk> {
    await this.#rows();
    return (await this.#open()).table.chunkAfter(after);
  }

  /** The outcomes of the episodes at these places, `<step>.<offset>`. Unknown places are left out. */
  async outcomes(refs: readonly string[]): Promise<Outcomes> {
    const { index, table } = await this.#open();
    const found = await Promise.all(
      refs.map(async (ref) => {
        const row = table.find(ref);
        const outcome = row && (await readOutcome(index, row));
        return outcome === undefined ? [] : [[ref, outcome] as const];
      }),
    );
    return Object.fromEntries(found.flat());
  }

  /** Episodes whose question, answers, reasons or errors contain the words, in the order of the table. */
  async search(words: string, step: number | undefined): Promise<SearchResult> {
    const { index } = await this.#open();
    const wanted = words.toLowerCase();
    const candidates = (await this.#rows()).filter((row) => step === undefined || row.step === step);
    const refs: string[] = [];
    for (const [at, rows] of byStep(candidates.slice(-maxFound))) {
      const heads = await index.readHeads(at, rows).catch(() => []); // the file was removed
      for (const [place, row] of rows.entries()) {
        const isNamed = [row.episode_id, row.task_id].some((name) => name.toLowerCase().includes(wanted));
        const outcome = outcomeIn(heads[place], { index, row });
        if (isNamed || saysWords(outcome ?? {}, words)) refs.push(`${row.step}.${row.offset}`);
      }
    }
    return { refs, isCut: candidates.length > maxFound };
  }

  /** Undefined if there is no such episode. */
  async episode(id: string): Promise<EpisodeView | undefined> {
    const rows = await this.#rows();
    const { index, table } = await this.#open();
    const row = table.findId(id);
    if (row === undefined) return undefined;
    const [member, texts] = await Promise.all([readMember(index, row), this.#readTexts()]);
    return member && viewEpisode({ ...member, texts, siblings: siblingsOf(row, rows) });
  }

  /** Undefined if there is no such group in this step. */
  async group(id: string, step: number): Promise<GroupView | undefined> {
    const rows = (await this.#rows()).filter((row) => row.group_id === id && row.step === step).slice(0, maxMembers);
    if (rows.length === 0) return undefined;
    const { index } = await this.#open();
    const members = await Promise.all(rows.map((row) => readMember(index, row)));
    return viewGroup(
      members.filter((member) => member !== undefined),
      await this.#readTexts(),
    );
  }

  /** One task in all evaluations, or undefined if none has it. */
  async task(id: string): Promise<TaskView | undefined> {
    const rows = (await this.#rows()).filter((row) => row.phase === 'evaluation' && row.task_id === id);
    if (rows.length === 0) return undefined;
    const { index } = await this.#open();
    const episodes = await Promise.all(
      rows.map(async (row) => ({
        id: row.episode_id,
        step: row.step,
        repeat: row.repeat_index,
        reward: row.reward,
        isSuccess: row.is_success,
        outcome: (await readOutcome(index, row)) ?? {},
      })),
    );
    return { task: id, episodes };
  }

  async system(): Promise<RunSystem> {
    return { points: toSystemPoints(await this.#lines.system()), disk: await measureDisk(this.found.dir) };
  }

  /** Adds up the times of a step's training episodes, or of its evaluation if the step has no training episodes. */
  async times(step: number): Promise<EpisodeTimes> {
    const rows = (await this.#rows()).filter((row) => row.step === step);
    const trained = rows.filter(({ phase }) => phase === 'train');
    const { index } = await this.#open();
    const read = (trained.length > 0 ? trained : rows).slice(0, maxTimed).map((row) => readMember(index, row));
    const members = await Promise.all(read);
    return sumEpisodeTimes(members.flatMap((member) => member?.record ?? []));
  }

  /** Returns cursors that change if lines or episodes are added or removed. */
  async cursors(): Promise<{ readonly metrics: string; readonly episodes: string }> {
    await this.#lines.refresh();
    const metrics = this.#lines.cursor;
    if (this.#opened === undefined) return { metrics, episodes: '' };
    await this.#refreshTable().catch(() => undefined); // a request for the episodes answers with the reason
    return { metrics, episodes: (await this.#open()).table.cursor };
  }

  /** The time of the last write, in milliseconds since 1970. */
  async updatedMs(): Promise<number> {
    const times = ['metrics.jsonl', 'evaluations.jsonl', 'log.jsonl', 'episodes', 'config.yaml'].map((name) =>
      stat(path.join(this.found.dir, name)).then(
        ({ mtimeMs }) => mtimeMs,
        () => 0,
      ),
    );
    return Math.round(Math.max(...(await Promise.all(times))));
  }

  async #rows(): Promise<readonly EpisodeRow[]> {
    await this.#refreshTable();
    return (await this.#open()).table.rows;
  }

  /** Counts how often the run was resumed, because a resumed run may have replaced episodes since the last call. */
  async #refreshTable(): Promise<boolean> {
    await this.#lines.refresh();
    const numResumed = this.#lines.log.filter(({ event }) => event === 'resumed').length;
    return (await this.#open()).table.refresh(numResumed);
  }

  #open(): Promise<Opened> {
    this.#opened ??= this.#openNow().catch((thrown: unknown) => {
      this.#opened = undefined;
      throw thrown;
    });
    return this.#opened;
  }

  async #openNow(): Promise<Opened> {
    const folder = await openRunFolder(this.found.dir);
    const index = await folder.openIndex();
    return { folder, index, table: new EpisodeTable(index) };
  }

  #readTexts(): Promise<TokenDecoder> {
    this.#texts ??= this.#open().then(async ({ folder }) => new TokenDecoder(await loadRunTokenizer(folder)));
    return this.#texts;
  }

  async #readSettings(): Promise<Settings> {
    const { mtimeMs } = await stat(path.join(this.found.dir, 'config.yaml')).catch(() => ({ mtimeMs: 0 }));
    if (this.#settings?.writtenMs !== mtimeMs)
      this.#settings = { value: await readShownSettings(this.found.dir), writtenMs: mtimeMs };
    return this.#settings.value;
  }
}

async function readOutcome(index: EpisodeIndex, row: EpisodeRow): Promise<OutcomeInWords | undefined> {
  const head = await index.readHead(row).catch(() => undefined); // the file was removed
  return outcomeIn(head, { index, row });
}

/** Undefined if the line is gone or belongs to another episode, because the run was rewound after the row was read. */
function outcomeIn(
  head: JsonObject | undefined,
  { index, row }: { readonly index: EpisodeIndex; readonly row: EpisodeRow },
): OutcomeInWords | undefined {
  return head?.['episode_id'] === row.episode_id ? toEpisodeOutcome(head, index.keys) : undefined;
}

async function readMember(index: EpisodeIndex, row: EpisodeRow): Promise<GroupMember | undefined> {
  const outcome = await readOutcome(index, row);
  return outcome && { row, outcome, record: await index.read(row) };
}

function byStep(rows: readonly EpisodeRow[]): ReadonlyMap<number, readonly EpisodeRow[]> {
  const steps = new Map<number, EpisodeRow[]>();
  for (const row of rows) {
    const own = steps.get(row.step) ?? [];
    steps.set(row.step, own);
    own.push(row);
  }
  return steps;
}

function siblingsOf(row: EpisodeRow, rows: readonly EpisodeRow[]): readonly EpisodeRow[] {
  const isSibling = (other: EpisodeRow): boolean =>
    other.step === row.step && other.phase === row.phase && other.group_id === row.group_id && row.group_id !== '';
  return rows.filter(isSibling).slice(0, maxMembers);
}

function toEvent({ time, event, ...rest }: Readonly<Record<string, unknown>>) {
  if (event === 'checkpoint') return [];
  const words = Object.entries(rest).map(
    ([key, value]) => `${key} ${typeof value === 'string' ? value : JSON.stringify(value)}`,
  );
  return [{ time: String(time), text: [String(event), ...words].join(' · ') }];
}

/** The message for people if a run cannot be read. */
export function describeProblem(thrown: unknown): string {
  return thrown instanceof BackboneError ? thrown.message : `The run cannot be read: ${toErrorMessage(thrown)}`;
}
