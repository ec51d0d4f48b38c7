import { formatSeconds } from '@agentjet/core';
import type { JobEvent } from '@agentjet/records';

/** Phases whose episodes end one by one. */
const names: Readonly<Record<string, string>> = { evaluate: 'evaluating', sample: 'sampling' };

/** A shorter phase is not reported. */
const everyMs = 15_000;

type Phase = {
  readonly name: string;
  readonly episodes: number;
  readonly startedAt: number;
  readonly timer: NodeJS.Timeout;
  /** Episodes that ended. Attempts that were lost to outages are not included. */
  finished: number;
  /** Attempts that were lost to outages. Most of them are repeated. */
  lost: number;
  rewardSum: number;
};

/** Reports the progress of an evaluation, or of the sampling of a step, in logs without a progress bar. */
export class ProgressLines {
  readonly #write: (line: string) => void;
  readonly #clock: () => number;
  readonly #phases = new Map<string, Phase>();
  #isPaused = false;

  constructor(write: (line: string) => void, clock: () => number = () => performance.now()) {
    this.#write = write;
    this.#clock = clock;
  }

  watch(event: JobEvent): void {
    if (event.type === 'phase_started') this.#start(event.phase, event.step, event.episodes);
    if (event.type === 'phase_finished') this.#end(`${event.phase} ${event.step}`);
    if (event.type === 'pause') this.#isPaused = event.isHeld;
    if (event.type === 'run_finished') for (const key of this.#phases.keys()) this.#end(key);
    if (event.type !== 'episode_finished') return;
    const phase = this.#phases.get(`${event.phase} ${event.step}`);
    if (phase === undefined) return;
    const { episode } = event;
    if (episode.status === 'completed') phase.rewardSum += episode.reward;
    if (episode.status === 'failed' && episode.error.outage !== undefined) phase.lost++;
    else phase.finished++;
  }

  #start(phase: string, step: number, episodes: number): void {
    const [key, name] = [`${phase} ${step}`, names[phase]];
    this.#end(key);
    if (name === undefined) return;
    const timer = setInterval(() => this.#report(key), everyMs);
    timer.unref();
    const label = step === 0 ? name : `step ${step} ${name}`;
    this.#phases.set(key, {
      name: label,
      episodes,
      startedAt: this.#clock(),
      timer,
      finished: 0,
      lost: 0,
      rewardSum: 0,
    });
  }

  #end(key: string): void {
    clearInterval(this.#phases.get(key)?.timer);
    this.#phases.delete(key);
  }

  #report(key: string): void {
    const phase = this.#phases.get(key);
    if (phase === undefined) return;
    const { name, episodes, startedAt, finished, lost, rewardSum } = phase;
    const seconds = (this.#clock() - startedAt) / 1000;
    const left = formatSeconds((seconds / finished) * (episodes - finished));
    const parts = [
      `${name}: ${finished}/${episodes} episodes after ${formatSeconds(seconds)}`,
      ...(finished === 0 ? [] : [`reward ${(rewardSum / finished).toFixed(3)}`]),
      ...(lost === 0 ? [] : [`${lost} attempts lost to outages`]),
      ...(this.#isPaused ? ['paused'] : finished === 0 ? [] : [`${left} left`]),
    ];
    this.#write(parts.join(', '));
  }
}
