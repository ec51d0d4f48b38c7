import { mkdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { parseJsonObject, replaceFile, toErrorMessage } from '@agentjet/core';
import { trackers as known } from './registrations.js';
import { beginning, readRows, type Bookmark, type ReadRows } from './run-lines.js';
import type { TrackedRun, Tracker, TrackerRegistration } from './tracker.js';

/**
 * Sends a run to trackers. Each tracker reads the run's files from its own bookmark. The run waits for its trackers
 * only at its end.
 */

export type FollowOptions = TrackedRun & {
  /** Called once for each tracker that fails. */
  readonly onNotice: (message: string) => void;
  /** Default: the trackers of this package. */
  readonly registrations?: readonly TrackerRegistration[];
};

export interface FollowedRun {
  /** Call this when a line was written. It returns at once. */
  wake(): void;
  /** Sends the rest. It never rejects. */
  close(): Promise<void>;
  /** Stops sending, because another process follows the run from now on. It never rejects. */
  leave(): Promise<void>;
}

/** Follows a run with the named trackers. Names without a tracker are skipped, such as `console`. */
export function followRun(names: readonly string[], options: FollowOptions): FollowedRun {
  const { registrations = known } = options;
  const followers = registrations
    .filter(({ name }) => names.includes(name))
    .map((registration) => new Follower(registration, options));
  for (const follower of followers) follower.wake();
  return {
    wake: () => {
      for (const follower of followers) follower.wake();
    },
    close: async () => {
      await Promise.all(followers.map((follower) => follower.close()));
    },
    leave: async () => {
      await Promise.all(followers.map((follower) => follower.leave()));
    },
  };
}

const sources = [
  ['metrics.jsonl', 'train'],
  ['evaluations.jsonl', 'eval'],
] as const;

/** The lines of a file after its bookmark. */
type News = ReadRows & { readonly file: string };

class Follower {
  readonly #registration: TrackerRegistration;
  readonly #options: FollowOptions;
  #tracker: Tracker | undefined;
  #bookmarks: Map<string, Bookmark> | undefined;
  #hasFailed = false;
  #hasLeft = false;
  #isAwake = false;
  #work: Promise<void> = Promise.resolve();

  constructor(registration: TrackerRegistration, options: FollowOptions) {
    this.#registration = registration;
    this.#options = options;
  }

  wake(): void {
    if (this.#isAwake || this.#hasFailed) return;
    this.#isAwake = true;
    this.#work = this.#work.then(async () => {
      this.#isAwake = false;
      await this.#guard(() => this.#send());
    });
  }

  async close(): Promise<void> {
    this.wake();
    await this.#work;
    await this.#end();
  }

  async leave(): Promise<void> {
    this.#hasLeft = true;
    await this.#work;
    await this.#end();
  }

  async #end(): Promise<void> {
    const tracker = this.#tracker;
    const say = (reason: string): string =>
      `The tracker ${this.#registration.name} failed at the end of the run, and may lack the last metrics: ${reason} They are in metrics.jsonl.`;
    if (tracker !== undefined) await this.#guard(() => tracker.close(), say);
  }

  async #guard(work: () => Promise<void>, say = this.#sayFailed): Promise<void> {
    try {
      await work();
    } catch (error) {
      if (this.#hasFailed) return;
      this.#hasFailed = true;
      this.#options.onNotice(say(toErrorMessage(error)));
    }
  }

  readonly #sayFailed = (reason: string): string =>
    `The tracker ${this.#registration.name} has failed and gets no more metrics: ${reason} The run continues; the missing metrics are in metrics.jsonl.`;

  async #send(): Promise<void> {
    if (this.#hasFailed || this.#hasLeft) return;
    this.#tracker ??= await this.#registration.open(this.#options);
    this.#bookmarks ??= await this.#readBookmarks();
    const news = await this.#readNews(this.#bookmarks);
    if (news.length === 0) return;
    // The cut is reported before the rows are sent, because wandb ignores a step below the last one that it received.
    if (news.some(({ isCut }) => isCut === true)) this.#noticeCut();
    const rows = news.flatMap((read) => read.rows).sort((one, other) => one.step - other.step);
    if (rows.length > 0) await this.#tracker.write(rows);
    for (const { file, bookmark } of news) this.#bookmarks.set(file, bookmark);
    await this.#writeBookmarks(this.#bookmarks);
  }

  #noticeCut(): void {
    const { name, keepsFirst = false } = this.#registration;
    if (!keepsFirst) return;
    this.#options.onNotice(
      `The run went back to an earlier step. ${name} ignores steps that it already has, so its curves keep the metrics of the steps that were given up. ` +
        'The present metrics are in metrics.jsonl. Use another experiment_name for a curve without them.',
    );
  }

  async #readNews(bookmarks: ReadonlyMap<string, Bookmark>): Promise<readonly News[]> {
    const news: News[] = [];
    for (const [file, prefix] of sources) {
      const before = bookmarks.get(file) ?? beginning;
      const read = await readRows(path.join(this.#options.runDir, file), prefix, before);
      if (read.bookmark !== before) news.push({ file, ...read });
    }
    return news;
  }

  get #file(): string {
    return path.join(this.#options.runDir, 'trackers', `${this.#registration.name}.json`);
  }

  /**
   * Reads the bookmarks. If a bookmark is missing or damaged, its file is read from the beginning, because it is better
   * to send a step twice than to miss one.
   */
  async #readBookmarks(): Promise<Map<string, Bookmark>> {
    const kept = parseJsonObject(await readFile(this.#file, 'utf8').catch(() => '{}')) ?? {};
    return new Map(sources.flatMap(([file]) => (isBookmark(kept[file]) ? [[file, kept[file]] as const] : [])));
  }

  async #writeBookmarks(bookmarks: ReadonlyMap<string, Bookmark>): Promise<void> {
    await mkdir(path.dirname(this.#file), { recursive: true });
    await replaceFile(this.#file, `${JSON.stringify(Object.fromEntries(bookmarks))}\n`);
  }
}

function isBookmark(value: unknown): value is Bookmark {
  if (typeof value !== 'object' || value === null || !('offset' in value) || !('lastLine' in value)) return false;
  return Number.isSafeInteger(value.offset) && Number(value.offset) >= 0 && typeof value.lastLine === 'string';
}
