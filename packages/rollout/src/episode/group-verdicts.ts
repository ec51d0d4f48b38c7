import { JudgeError, rejectOnAbort, type Task, type Verdict, type WorkflowOutput } from '@agentjet/core';
import type { GroupJudge, Judge, JudgeContext } from '../judge.js';
import { copyPlain } from './copy-plain.js';
import { lateJudge } from './late-verdict.js';

/**
 * Turns a group judge into one judge for each place of a group. An episode that asks the judge waits until all other
 * episodes of its group have asked or ended. Then the judge is asked once for the whole group. If the judge fails, all
 * of these requests fail. Episodes that repeat their request are judged together again.
 */

type Waiting = {
  readonly output: WorkflowOutput;
  readonly context: JudgeContext;
  readonly resolve: (verdict: Verdict) => void;
  readonly reject: (error: unknown) => void;
};

export type GroupVerdictsOptions = {
  readonly judge: GroupJudge;
  readonly task: Task;
  readonly groupId: string;
  readonly numPlaces: number;
  readonly seed: number;
  /** The judge's time limit for the whole group. */
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
};

export class GroupVerdicts {
  readonly #options: GroupVerdictsOptions;
  readonly #waiting = new Map<number, Waiting>();
  readonly #ended = new Set<number>();

  constructor(options: GroupVerdictsOptions) {
    this.#options = options;
  }

  judgeOf(place: number): Judge {
    const { needsEnvironment } = this.#options.judge;
    return {
      ...(needsEnvironment !== undefined && { needsEnvironment }),
      judge: (_task, output, context) => this.#ask(place, output, context),
    };
  }

  /** Records that the episode of this place has ended and will not ask the judge. */
  end(place: number): void {
    this.#waiting.delete(place);
    this.#ended.add(place);
    this.#judgeIfComplete();
  }

  async #ask(place: number, output: WorkflowOutput, context: JudgeContext): Promise<Verdict> {
    const verdict = new Promise<Verdict>((resolve, reject) => {
      this.#waiting.set(place, { output, context, resolve, reject });
    });
    this.#judgeIfComplete();
    return rejectOnAbort(verdict, context.signal);
  }

  #judgeIfComplete(): void {
    if (this.#waiting.size === 0 || this.#waiting.size + this.#ended.size < this.#options.numPlaces) return;
    const asked = [...this.#waiting].toSorted(([left], [right]) => left - right).map(([, waiting]) => waiting);
    this.#waiting.clear();
    void this.#judge(asked).then(
      (verdicts) => asked.forEach(({ resolve }, at) => resolve(verdicts[at] as Verdict)),
      (error: unknown) => asked.forEach(({ reject }) => reject(error)),
    );
  }

  async #judge(asked: readonly Waiting[]): Promise<readonly Verdict[]> {
    const { judge, task, groupId, seed, timeoutMs, signal: stopped } = this.#options;
    const inTime = AbortSignal.timeout(timeoutMs);
    const signal = AbortSignal.any([stopped, inTime]);
    const outputs = asked.map(({ output }) => output);
    const context = { groupId, signal, seed, episodes: asked.map((each) => each.context) };
    const judging = (async () => judge.judgeGroup(copyPlain(task), outputs, context))();
    const verdicts: unknown = await rejectOnAbort(judging, signal).catch((error: unknown) => {
      throw inTime.aborted && !stopped.aborted ? lateJudge(timeoutMs) : error;
    });
    if (Array.isArray(verdicts) && verdicts.length === asked.length) return verdicts as readonly Verdict[];
    const seen = Array.isArray(verdicts) ? `${verdicts.length} verdicts` : String(verdicts);
    throw new JudgeError(
      'bad_verdict',
      `The judge returned ${seen} for ${asked.length} episodes of task "${task.taskId}". Return a verdict for each, in the same order.`,
    );
  }
}
