import path from 'node:path';
import { sha256 } from '@agentjet/core';
import type { RunList, RunSummary } from '../wire.js';
import { findRuns } from './find-runs.js';
import { describeProblem, StudioRun } from './studio-run.js';

/** The folders are searched again after this time. */
const searchMs = 1000;

/** All runs below a folder. */
export class StudioRuns {
  readonly folder: string;
  readonly #now: () => number;
  #runs = new Map<string, StudioRun>();
  #searchedMs = -Infinity;
  #searching: Promise<void> | undefined;

  constructor(folder: string, now: () => number = Date.now) {
    this.folder = path.resolve(folder);
    this.#now = now;
  }

  async find(id: string): Promise<StudioRun | undefined> {
    if (!this.#runs.has(id)) await this.#search();
    return this.#runs.get(id);
  }

  async list(): Promise<RunList> {
    await this.#search();
    const runs = await Promise.all([...this.#runs.values()].map(summaryOf));
    runs.sort((a, b) => b.updatedMs - a.updatedMs || (a.path < b.path ? -1 : 1));
    return { folder: this.folder, version: versionOf(runs), runs };
  }

  #search(): Promise<void> {
    if (this.#now() - this.#searchedMs < searchMs) return Promise.resolve();
    this.#searching ??= this.#searchNow().finally(() => (this.#searching = undefined));
    return this.#searching;
  }

  async #searchNow(): Promise<void> {
    const found = await findRuns(this.folder);
    this.#runs = new Map(found.map((run) => [run.id, this.#runs.get(run.id) ?? new StudioRun(run)]));
    this.#searchedMs = this.#now();
  }
}

async function summaryOf(run: StudioRun): Promise<RunSummary> {
  try {
    return await run.summary();
  } catch (thrown) {
    const { id, path: shown } = run.found;
    return {
      id,
      path: shown,
      experiment: shown.split('/').at(-2) ?? '',
      name: path.basename(shown),
      state: 'unreadable',
      problem: describeProblem(thrown),
      model: '',
      backbone: '',
      step: 0,
      totalSteps: null,
      reward: null,
      rewardSteps: 0,
      before: null,
      after: null,
      change: null,
      seconds: 0,
      beganAt: null,
      updatedMs: 0,
      spark: [],
    };
  }
}

/** Changes if anything in the list does. */
function versionOf(runs: readonly RunSummary[]): string {
  return sha256(JSON.stringify(runs), 'base64url').slice(0, 16);
}
