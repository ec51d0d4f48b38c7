import { appendFile, mkdir, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { BackboneError, tellOlderFormat } from '@agentjet/core';
import type { LinePlace } from './episode-index/episode-row.js';
import { placeOf } from './episode-index/hash-tokens.js';
import type { EpisodePhase, EpisodeRecord, RecordedEpisode } from './episode-record.js';
import { readFolder, reading } from './file-error.js';
import { sizeOf } from './size-of.js';
import { filterJsonLines, readJsonLineAt, readJsonLines, readLineBeginnings } from './json-lines.js';

/** The beginning of every line. */
const lineStart = '{"episode_id":';
/** The number of bytes at the beginning of a line that must contain the id. */
const maxIdBytes = 4096;

export const episodeFileName = (step: number): string => `step-${String(step).padStart(6, '0')}.jsonl`;
/** The step of a file with such a name. Undefined if it has another name. */
export const stepOfName = (name: string): number | undefined => {
  const digits = /^step-(\d{6,15})\.jsonl$/.exec(name)?.[1];
  return digits === undefined ? undefined : Number(digits);
};
export const episodeFileOf = (dir: string, step: number): string => path.join(dir, episodeFileName(step));

/**
 * `episodes/step-000012.jsonl`: the episodes of one step, one per line, `episode_id` first. Lines are only ever
 * appended.
 */
export class EpisodeFiles {
  readonly dir: string;

  constructor(dir: string) {
    this.dir = dir;
  }

  /** Returns where the lines of the records are. */
  async append(
    { step, phase }: Pick<RecordedEpisode, 'step' | 'phase'>,
    records: readonly EpisodeRecord[],
  ): Promise<readonly LinePlace[]> {
    if (records.length === 0) return [];
    await mkdir(this.dir, { recursive: true });
    const lines = records.map(({ episode_id: id, ...rest }) =>
      Buffer.from(`${JSON.stringify({ episode_id: id, step, phase, ...rest })}\n`),
    );
    const file = episodeFileOf(this.dir, step);
    let offset = await sizeOf(file);
    await appendFile(file, Buffer.concat(lines));
    return lines.map((line) => {
      const place = placeOf(line, { offset, length: line.length - 1 });
      offset += place.length + 1;
      return place;
    });
  }

  /** Returns the steps that have episodes, ascending. */
  async steps(): Promise<number[]> {
    return (await readFolder(this.dir)).flatMap((name) => stepOfName(name) ?? []).sort((a, b) => a - b);
  }

  async readStep(step: number): Promise<RecordedEpisode[]> {
    const file = episodeFileOf(this.dir, step);
    return (await readJsonLines(file)).map((line, index) => toRecord(line, `${file}:${index + 1}`));
  }

  /** Returns the newest record with this id, or undefined if there is none. */
  async find(episodeId: string): Promise<RecordedEpisode | undefined> {
    const wanted = `${lineStart}${JSON.stringify(episodeId)},`;
    for (const step of (await this.steps()).reverse()) {
      const file = episodeFileOf(this.dir, step);
      const found = await reading(file, () => findLine(file, wanted));
      if (found !== undefined) return found;
    }
    return undefined;
  }

  /** Returns ids with this prefix, each once, in the order in which they were written. */
  async findIds(prefix: string): Promise<string[]> {
    const ids = new Set<string>();
    for (const step of await this.steps()) {
      const file = episodeFileOf(this.dir, step);
      for (const id of await reading(file, () => readIds(file))) if (id.startsWith(prefix)) ids.add(id);
    }
    return [...ids];
  }

  /**
   * Removes the files of later steps, and removes incomplete records from the other files. It also removes the episodes
   * of evaluations that are not in `evaluatedSteps`, because such an evaluation did not finish and is repeated.
   * Resolves to descriptions of what was wrong.
   */
  async rewind(lastStep: number, evaluatedSteps: ReadonlySet<number>): Promise<readonly string[]> {
    const repairs: string[] = [];
    for (const step of await this.steps()) {
      const file = episodeFileOf(this.dir, step);
      if (step > lastStep) await rm(file);
      else if (step === lastStep || (await isSpoiled(file))) repairs.push(...(await cut(file, step, evaluatedSteps)));
    }
    return repairs;
  }
}

/**
 * Throws BackboneError `run_folder` for a line that no run has written, and `older_format` for a line of an older
 * version.
 */
function toRecord(line: Readonly<Record<string, unknown>>, place: string): RecordedEpisode {
  const { episode_id: id, step, phase, samples } = line;
  if (typeof id !== 'string' || !Array.isArray(samples))
    throw new BackboneError(
      'run_folder',
      `${place} is not an episode: it has ${typeof id === 'string' ? 'no list of samples' : 'no episode_id'}. Remove that line.`,
    );
  if (typeof step === 'number' && isPhase(phase)) return { ...line, episode_id: id, step, phase, samples };
  throw new BackboneError('older_format', tellOlderFormat(place));
}

const isPhase = (value: unknown): value is EpisodePhase => value === 'train' || value === 'evaluation';

async function findLine(file: string, beginning: string): Promise<RecordedEpisode | undefined> {
  for await (const line of readLineBeginnings(file, Buffer.byteLength(beginning)))
    if (line.beginning === beginning) return toRecord(await readJsonLineAt(file, line), file);
  return undefined;
}

async function readIds(file: string): Promise<readonly string[]> {
  const ids: string[] = [];
  for await (const { beginning } of readLineBeginnings(file, maxIdBytes)) {
    const written = /^\{"episode_id":("(?:[^"\\]|\\.)*")/.exec(beginning)?.[1];
    if (written !== undefined) ids.push(JSON.parse(written) as string);
  }
  return ids;
}

/** Returns true if the last line has no end, or a line does not begin as every episode does. */
async function isSpoiled(file: string): Promise<boolean> {
  return reading(file, async () => {
    let end = 0;
    for await (const line of readLineBeginnings(file, lineStart.length)) {
      if (line.beginning !== lineStart) return true;
      end = line.end + 1;
    }
    return end !== (await stat(file)).size;
  });
}

async function cut(file: string, step: number, evaluatedSteps: ReadonlySet<number>): Promise<readonly string[]> {
  const isEvaluated = evaluatedSteps.has(step);
  const { broken } = await filterJsonLines(file, ({ phase }) => isEvaluated || phase !== 'evaluation');
  return broken === 0 ? [] : [`${broken} lines of ${file} were not whole records; they are removed.`];
}
