import type { EpisodeIndex, EpisodeRow } from '@agentjet/run-folder';
import type { EpisodesChunk, NamedColumn } from '../wire.js';

/** The number of files that are read at the same time. */
const atOnce = 16;

/**
 * The rows of a run's index, read as they are appended. If a step's file is shorter than what was read of it, or is
 * gone, the run was rewound, and all rows are read anew.
 */
export class EpisodeTable {
  readonly #index: EpisodeIndex;
  #rows: EpisodeRow[] = [];
  #ends = new Map<number, number>();
  #byRef = new Map<string, EpisodeRow>();
  #byId = new Map<string, EpisodeRow>();
  /** The number of rows in `#byRef` and `#byId`. */
  #named = 0;
  #generation = 0;
  #numResumed = 0;
  #reading: Promise<boolean> | undefined;

  constructor(index: EpisodeIndex) {
    this.#index = index;
  }

  get rows(): readonly EpisodeRow[] {
    return this.#rows;
  }

  /** By `<step>.<offset>`. */
  find(ref: string): EpisodeRow | undefined {
    this.#addNames();
    return this.#byRef.get(ref);
  }

  /** The newest episode with this id. */
  findId(id: string): EpisodeRow | undefined {
    this.#addNames();
    return this.#byId.get(id);
  }

  /**
   * Resolves with true if rows were added or removed. `numResumed` counts how often the run was resumed: a resumed run may
   * have written other episodes in the place of those that it removed.
   */
  refresh(numResumed = this.#numResumed): Promise<boolean> {
    this.#reading ??= this.#read(numResumed).finally(() => (this.#reading = undefined));
    return this.#reading;
  }

  async #read(numResumed: number): Promise<boolean> {
    const steps = await this.#index.steps();
    const sizes = new Map(await Promise.all(steps.map(async (step) => [step, await this.#index.size(step)] as const)));
    const isShorter = [...this.#ends].some(([step, end]) => (sizes.get(step) ?? 0) < end);
    const isRewound = this.#rows.length > 0 && (isShorter || numResumed !== this.#numResumed);
    this.#numResumed = numResumed;
    if (isRewound) this.#restart();
    const before = this.#rows.length;
    const grown = steps.filter((step) => (sizes.get(step) ?? 0) > (this.#ends.get(step) ?? 0));
    for (let at = 0; at < grown.length; at += atOnce) await this.#readSteps(grown.slice(at, at + atOnce));
    return isRewound || this.#rows.length > before;
  }

  async #readSteps(steps: readonly number[]): Promise<void> {
    const read = await Promise.all(steps.map((step) => this.#index.rowsOf(step, this.#ends.get(step) ?? 0)));
    for (const row of read.flat()) {
      this.#rows.push(row);
      this.#ends.set(row.step, row.offset + row.length + 1);
    }
  }

  /** The names are only needed once something is looked up, so a table of 100,000 rows opens sooner without them. */
  #addNames(): void {
    for (; this.#named < this.#rows.length; this.#named++) {
      const row = this.#rows[this.#named];
      if (row === undefined) continue;
      this.#byRef.set(`${row.step}.${row.offset}`, row);
      this.#byId.set(row.episode_id, row);
    }
  }

  #restart(): void {
    this.#generation++;
    this.#rows = [];
    this.#ends = new Map();
    this.#byRef = new Map();
    this.#byId = new Map();
    this.#named = 0;
  }

  /** Changes with every row that is read. Send it to `chunkAfter` to get only later rows. */
  get cursor(): string {
    return `${this.#generation}-${this.#rows.length}`;
  }

  /** The rows after a cursor that an earlier chunk returned. */
  chunkAfter(cursor: string): EpisodesChunk {
    const known = /^(\d+)-(\d+)$/.exec(cursor);
    const isReset = known?.[1] !== String(this.#generation);
    const rows = isReset ? this.#rows : this.#rows.slice(Number(known?.[2]));
    return { cursor: this.cursor, isReset, ...toColumns(rows) };
  }
}

function toColumns(rows: readonly EpisodeRow[]): Omit<EpisodesChunk, 'cursor' | 'isReset'> {
  return {
    length: rows.length,
    id: rows.map((row) => row.episode_id),
    offset: rows.map((row) => row.offset),
    step: rows.map((row) => row.step),
    evaluation: rows.map((row) => (row.phase === 'evaluation' ? 1 : 0)),
    reward: rows.map((row) => row.reward),
    success: rows.map((row) => (row.is_success ? 1 : 0)),
    scored: rows.map((row) => (row.is_scored ? 1 : 0)),
    repeat: rows.map((row) => row.repeat_index),
    tokens: rows.map((row) => row.generated_tokens),
    trained: rows.map((row) => row.trained_tokens),
    seconds: rows.map((row) => row.seconds),
    calls: rows.map((row) => row.calls),
    cut: rows.map((row) => row.calls_cut),
    refused: rows.map((row) => row.calls_malformed),
    toolErrors: rows.map((row) => row.tool_errors ?? 0),
    task: nameColumn(rows, (row) => row.task_id),
    group: nameColumn(rows, (row) => row.group_id),
    kind: nameColumn(rows, (row) => row.kind ?? ''),
    error: nameColumn(rows, (row) => (row.status === 'failed' ? (row.error_code ?? 'failed') : '')),
    forks: nameColumn(rows, (row) => Object.keys(row.forks).join(' ')),
    agents: nameColumn(rows, (row) => row.agents.join(', ')),
  };
}

function nameColumn(rows: readonly EpisodeRow[], nameOf: (row: EpisodeRow) => string): NamedColumn {
  const places = new Map<string, number>();
  const at = rows.map((row) => {
    const name = nameOf(row);
    const place = places.get(name) ?? places.size;
    places.set(name, place);
    return place;
  });
  return { names: [...places.keys()], at };
}
