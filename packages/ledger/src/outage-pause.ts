/**
 * Decides when no more episodes should start because an outside service is down, and when they may start again. It has
 * no timer: it gets the result of each attempt and returns whether another may start. During a pause, one attempt at a
 * time may start as a probe, after growing gaps. The first attempt that is kept ends the pause.
 */
export class OutagePause {
  readonly #options: OutagePauseOptions;
  #recent: boolean[] = [];
  #host: string | undefined;
  #inARow = 0;
  #pause: Pause | undefined;
  #pausedMs = 0;

  constructor(options: Partial<OutagePauseOptions> = {}) {
    this.#options = { ...defaultOptions, ...options };
  }

  /** Call this if there was no outage, whether the agent succeeded or failed. */
  kept(now: number): void {
    this.#note(false);
    this.#inARow = 0;
    if (this.#pause === undefined) return;
    this.#pausedMs += now - this.#pause.sinceMs;
    this.#pause = undefined;
    this.#recent = [];
  }

  /** Call this if an attempt was lost to an outage. `host`: the service that could not be reached, if known. */
  lost(now: number, { host, reason }: { readonly host?: string | undefined; readonly reason: string }): void {
    this.#note(true);
    this.#inARow = host !== undefined && host === this.#host ? this.#inARow + 1 : 1;
    this.#host = host;
    if (this.#pause === undefined) this.#pauseIfDue(now, reason);
    else if (this.#pause.isProbing) this.#wait(now, { ...this.#pause, reason }, this.#pause.gapMs * 2);
  }

  /**
   * Lets an attempt start, or returns how long to wait. During a pause a start is a probe, and only one runs at a time.
   */
  start(now: number): { readonly mayStart: boolean; readonly waitMs: number } {
    const pause = this.#pause;
    if (pause === undefined) return { mayStart: true, waitMs: 0 };
    const dueMs = pause.isProbing ? pause.retryAtMs + pause.gapMs : pause.retryAtMs;
    if (now < dueMs) return { mayStart: false, waitMs: dueMs - now };
    this.#pause = { ...pause, isProbing: true, retryAtMs: now };
    return { mayStart: true, waitMs: 0 };
  }

  /** Returns `over` if the outage is longer than `maxOutageMs`. The run should then end. */
  status(now: number): OutageStatus {
    const pause = this.#pause;
    if (pause === undefined) return { kind: 'running' };
    const pausedMs = now - pause.sinceMs;
    const { maxOutageMs } = this.#options;
    const kind = maxOutageMs !== null && pausedMs >= maxOutageMs ? 'over' : 'paused';
    return { kind, pausedMs, reason: pause.reason, host: pause.host, cause: pause.cause };
  }

  /** Returns the total length of all pauses, including the present one. */
  pausedMs(now: number): number {
    return this.#pausedMs + (this.#pause === undefined ? 0 : now - this.#pause.sinceMs);
  }

  #note(isLost: boolean): void {
    this.#recent = [...this.#recent, isLost].slice(-this.#options.window);
  }

  #pauseIfDue(now: number, reason: string): void {
    const { window, lostShare, inARow, firstGapMs } = this.#options;
    const isHostDown = this.#host !== undefined && this.#inARow >= inARow;
    const isHalfLost = this.#recent.filter((isLost) => isLost).length >= window * lostShare;
    if (!isHostDown && !isHalfLost) return;
    const cause = isHostDown ? 'in_a_row' : 'lost_share';
    const host = isHostDown ? this.#host : undefined;
    this.#wait(now, { sinceMs: now, reason, cause, host, isProbing: false, retryAtMs: now, gapMs: 0 }, firstGapMs);
  }

  /**
   * Sets the time of the next probe. Waits grow up to a limit and vary by up to a quarter, so that the clients of a
   * service do not all return at the same moment.
   */
  #wait(now: number, pause: Pause, gapMs: number): void {
    const limited = Math.min(gapMs, this.#options.maxGapMs);
    const retryAtMs = now + limited * (1 + this.#options.random() / 4);
    this.#pause = { ...pause, gapMs: limited, isProbing: false, retryAtMs };
  }
}

export type OutagePauseOptions = {
  /** The number of attempts that are considered. */
  readonly window: number;
  /** The run pauses if at least this share of the attempts in the window was lost. */
  readonly lostShare: number;
  /** The run pauses if at least this number of attempts in a row was lost to one host. */
  readonly inARow: number;
  readonly firstGapMs: number;
  readonly maxGapMs: number;
  /** Null means no limit. */
  readonly maxOutageMs: number | null;
  /** Returns a uniform number in [0, 1). */
  readonly random: () => number;
};

export type OutageStatus =
  | { readonly kind: 'running' }
  | {
      readonly kind: 'paused' | 'over';
      readonly pausedMs: number;
      /** The message of the newest loss. */
      readonly reason: string;
      readonly host: string | undefined;
      readonly cause: PauseCause;
    };

/** `lost_share`: half of the last attempts were lost. `in_a_row`: several in a row were lost to one host. */
export type PauseCause = 'lost_share' | 'in_a_row';

type Pause = {
  readonly sinceMs: number;
  readonly reason: string;
  readonly cause: PauseCause;
  readonly host: string | undefined;
  readonly gapMs: number;
  readonly retryAtMs: number;
  readonly isProbing: boolean;
};

const defaultOptions: OutagePauseOptions = {
  window: 16,
  lostShare: 0.5,
  inARow: 5,
  firstGapMs: 1000,
  maxGapMs: 60_000,
  maxOutageMs: 30 * 60_000,
  random: () => 0,
};
