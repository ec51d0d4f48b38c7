import { existsSync } from 'node:fs';
import { appendFile, readFile, truncate } from 'node:fs/promises';
import { parseJsonObject } from '@agentjet/core';
import type { TaskScore } from '@agentjet/core/success';
import { toCollectedLines } from './collected-lines.js';
import type { EpisodeTranscript } from '@agentjet/records';

/** The file of collected transcripts. It grows while the job runs. */
export class KeptTranscripts {
  episodes = 0;
  successes = 0;
  failed = 0;
  readonly #file: string;
  readonly #done = new Set<string>();
  readonly #scores = new Map<string, TaskScore>();
  #writing: Promise<void> = Promise.resolve();

  constructor(file: string) {
    this.#file = file;
  }

  /** Reads what an earlier process has written. An unfinished last line is removed. */
  async read(): Promise<void> {
    if (!existsSync(this.#file)) return;
    const text = await readFile(this.#file, 'utf8');
    const whole = text.slice(0, text.lastIndexOf('\n') + 1);
    if (whole.length < text.length) await truncate(this.#file, Buffer.byteLength(whole));
    const counted = new Set<unknown>();
    for (const line of whole.split('\n')) {
      const known = parseJsonObject(line);
      if (known === undefined || counted.has(known['episode_id'])) continue;
      counted.add(known['episode_id']);
      const taskId = parseJsonObject(JSON.stringify(known['task'] ?? {}))?.['task_id'];
      this.#note(
        { pass: Number(known['pass'] ?? 0), taskId: String(taskId) },
        known['status'] === 'failed',
        known['is_success'] === true,
      );
    }
  }

  /** Whether the task has an episode in this pass over the tasks. */
  has(pass: number, taskId: string): boolean {
    return this.#done.has(`${pass} ${taskId}`);
  }

  /** Appends the episode, unless it was lost to an outage. */
  add(pass: number, transcript: EpisodeTranscript): void {
    const { episode } = transcript;
    if (episode.status === 'failed' && (episode.error.outage !== undefined || episode.error.code === 'aborted')) return;
    this.#note(
      { pass, taskId: episode.task.taskId },
      episode.status === 'failed',
      episode.status === 'completed' && episode.isSuccess,
    );
    const text = toCollectedLines(transcript)
      .map((line) => `${JSON.stringify({ ...line, pass })}\n`)
      .join('');
    this.#writing = this.#writing.then(() => appendFile(this.#file, text));
    this.#writing.catch(() => undefined); // `written` reports the error
  }

  /** Rejects if something could not be written. */
  written(): Promise<void> {
    return this.#writing;
  }

  /** The kept episodes of each task. */
  get scores(): readonly TaskScore[] {
    return [...this.#scores.values()];
  }

  #note({ pass, taskId }: { pass: number; taskId: string }, hasFailed: boolean, isSuccess: boolean): void {
    this.#done.add(`${pass} ${taskId}`);
    const { successes = 0, trials = 0 } = this.#scores.get(taskId) ?? {};
    this.#scores.set(taskId, { successes: successes + (isSuccess ? 1 : 0), trials: trials + 1 });
    this.episodes++;
    if (hasFailed) this.failed++;
    if (isSuccess) this.successes++;
  }
}
