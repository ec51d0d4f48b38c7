import type { ManifestEpisode, PolicyLine } from '@agentjet/ledger';
import type { WeightsState } from '@agentjet/run/loop';

/** The newest step of a policy, as operators see it. */
export type NewestStep = {
  readonly step: number;
  readonly episodes: number;
  /** The mean reward of its episodes. */
  readonly reward: number;
  /** The share of its episodes that succeeded. Undefined if no episode reports success or failure. */
  readonly success: number | undefined;
  /** The duration of the step. Undefined if another process made the step. */
  readonly seconds: number | undefined;
  /** The time at which the weights of the step first answered calls. Undefined if another process made the step. */
  readonly madeMs: number | undefined;
};

type Wait = { readonly key: string; readonly sinceMs: number };

/** Tracks when a policy made its newest step, and how long it has waited for the same thing. */
export class PolicyProgress {
  readonly #now: () => number;
  readonly #line: PolicyLine;
  #phase: WeightsState['phase'] = 'recovering';
  #enteredMs: number;
  #newest: NewestStep | undefined;
  #wait: Wait;

  constructor(now: () => number, line: PolicyLine) {
    this.#now = now;
    this.#line = line;
    this.#enteredMs = now();
    this.#wait = { key: '', sinceMs: this.#enteredMs };
  }

  get newest(): NewestStep | undefined {
    return this.#newest;
  }

  /** Notes the state of the weights. Returns the newest step if this change completes it. */
  note({ phase, version }: WeightsState): NewestStep | undefined {
    const now = this.#now();
    const [before, enteredMs] = [this.#phase, this.#enteredMs];
    if (phase === before) return undefined;
    this.#phase = phase;
    this.#enteredMs = now;
    if (phase !== 'waiting' || version <= (this.#newest?.step ?? 0)) return undefined;
    const isMade = before === 'updating';
    this.#newest = this.#read(version, isMade ? { seconds: (now - enteredMs) / 1000, madeMs: now } : undefined);
    return isMade ? this.#newest : undefined;
  }

  /** Returns how many seconds the policy has waited for `key`. */
  secondsOf(key: string): number {
    const now = this.#now();
    if (this.#wait.key !== key) this.#wait = { key, sinceMs: now };
    return (now - this.#wait.sinceMs) / 1000;
  }

  #read(step: number, made: { readonly seconds: number; readonly madeMs: number } | undefined): NewestStep | undefined {
    const manifest = this.#line.manifests.get(step);
    if (manifest === undefined) return undefined;
    const episodes = manifest.groups.flatMap((group) => group.episodes);
    const known = episodes.flatMap(({ isSuccess }) => isSuccess ?? []);
    return {
      step,
      episodes: episodes.length,
      reward: meanOf(episodes, ({ reward }) => reward),
      success: known.length === 0 ? undefined : known.filter(Boolean).length / known.length,
      seconds: made?.seconds,
      madeMs: made?.madeMs,
    };
  }
}

const meanOf = (episodes: readonly ManifestEpisode[], of: (episode: ManifestEpisode) => number): number =>
  episodes.length === 0 ? 0 : episodes.reduce((sum, episode) => sum + of(episode), 0) / episodes.length;
