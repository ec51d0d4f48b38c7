import { appendFile, mkdir, readdir, rm } from 'node:fs/promises';
import path from 'node:path';
import type { EpisodeRecord } from './episode-record.js';
import { readJsonLineAt, readJsonLines, readLineBeginnings } from './json-lines.js';

/** How every line begins. */
const lineStart = '{"episode_id":';
/** Most bytes of a line that are looked at for its id. */
const maxIdBytes = 4096;

/** `episodes/step-000012.jsonl`: the episodes of one step, one per line, `episode_id` first. Lines are only ever appended. */
export class EpisodeFiles {
  readonly dir: string;

  constructor(dir: string) {
    this.dir = dir;
  }

  async append(step: number, records: readonly EpisodeRecord[]): Promise<void> {
    if (records.length === 0) return;
    await mkdir(this.dir, { recursive: true });
    const lines = records.map(
      ({ episode_id: id, ...rest }) => `${JSON.stringify({ episode_id: id, step, ...rest })}\n`,
    );
    await appendFile(this.#fileOf(step), lines.join(''));
  }

  /** Steps that have episodes, ascending. */
  async steps(): Promise<number[]> {
    const names = await readdir(this.dir).catch((thrown: NodeJS.ErrnoException) => {
      if (thrown.code === 'ENOENT') return [];
      throw thrown;
    });
    return names
      .flatMap((name) => /^step-(\d+)\.jsonl$/.exec(name)?.[1] ?? [])
      .map(Number)
      .sort((a, b) => a - b);
  }

  async readStep(step: number): Promise<EpisodeRecord[]> {
    return (await readJsonLines(this.#fileOf(step))) as EpisodeRecord[];
  }

  /** The newest record with this id; undefined where there is none. */
  async find(episodeId: string): Promise<EpisodeRecord | undefined> {
    const wanted = `${lineStart}${JSON.stringify(episodeId)},`;
    for (const step of (await this.steps()).reverse()) {
      const file = this.#fileOf(step);
      for await (const line of readLineBeginnings(file, Buffer.byteLength(wanted))) {
        if (line.beginning === wanted) return (await readJsonLineAt(file, line)) as EpisodeRecord;
      }
    }
    return undefined;
  }

  /** Ids that begin like this, each once, in the order in which they were written. */
  async findIds(prefix: string): Promise<string[]> {
    const ids = new Set<string>();
    for (const step of await this.steps()) {
      for await (const { beginning } of readLineBeginnings(this.#fileOf(step), maxIdBytes)) {
        const written = /^\{"episode_id":("(?:[^"\\]|\\.)*")/.exec(beginning)?.[1];
        const id = written === undefined ? undefined : (JSON.parse(written) as string);
        if (id?.startsWith(prefix)) ids.add(id);
      }
    }
    return [...ids];
  }

  /** Removes the files of later steps. */
  async rewind(lastStep: number): Promise<void> {
    const later = (await this.steps()).filter((step) => step > lastStep);
    await Promise.all(later.map((step) => rm(this.#fileOf(step))));
  }

  #fileOf(step: number): string {
    return path.join(this.dir, `step-${String(step).padStart(6, '0')}.jsonl`);
  }
}
