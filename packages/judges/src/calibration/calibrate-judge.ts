import { AgentJetError, ConfigError, toErrorMessage, type Verdict } from '@agentjet/core';
import type { Judge, JudgeContext, JudgeUsage } from '@agentjet/rollout';
import { checkVerdict } from '@agentjet/rollout/inputs';
import { copyPlain } from '@agentjet/rollout/loading';
import type { LabelledExample } from './labelled-examples.js';
import { rankCorrelation } from './rank-correlation.js';

/** How well a judge agrees with people. */
export type Calibration = {
  readonly examples: number;
  /** The number of examples without a verdict. No other figure includes them. */
  readonly failed: number;
  readonly firstFailure: string | null;
  /** The share of examples for which judge and label agree about success. */
  readonly agreement: number | null;
  /** The rank correlation of the rewards with the labels' scores. Null if either of them is constant. */
  readonly rankCorrelation: number | null;
  /** The mean difference between the highest and the lowest vote. Null with one vote. */
  readonly voteSpread: number | null;
  readonly usage: JudgeUsage;
  readonly seconds: number;
};

export type CalibrationOptions = {
  /**
   * A score of at least this value is a success, unless the line has `is_success`. Null means half of the highest
   * score; if that is not above 0, no score is a success.
   */
  readonly successFrom: number | null;
  readonly parallel: number;
  /**
   * Agents whose messages the judge reads. The judge is shown the answer as the message of each of them. Default: one
   * agent.
   */
  readonly agents?: readonly string[];
  readonly signal: AbortSignal;
};

type Asked = { readonly example: LabelledExample; readonly verdict: Verdict };

/**
 * Asks the judge about each example. Rejects if the signal aborts. Rejects with ConfigError if the judge needs an
 * environment.
 */
export async function calibrateJudge(
  judge: Judge,
  examples: readonly LabelledExample[],
  { successFrom, parallel, agents = [], signal }: CalibrationOptions,
): Promise<Calibration> {
  if (judge.needsEnvironment === true) throw needsEpisodes();
  const startedAt = performance.now();
  const asked: Asked[] = [];
  const failures: unknown[] = [];
  let next = 0;
  const work = async (): Promise<void> => {
    while (next < examples.length) {
      signal.throwIfAborted();
      const at = next++;
      const example = examples[at];
      if (example === undefined) return;
      try {
        asked.push({ example, verdict: await ask(judge, example, { at, agents, signal }) });
      } catch (error) {
        signal.throwIfAborted();
        failures.push(error);
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(parallel, examples.length) }, work));
  const highest = examples.reduce((most, { score }) => Math.max(most, score), 0);
  const threshold = successFrom ?? (highest > 0 ? highest / 2 : Infinity);
  return {
    examples: examples.length,
    failed: failures.length,
    firstFailure: failures.length === 0 ? null : describe(failures[0]),
    ...measure(asked, threshold),
    usage: judge.usage?.() ?? { calls: 0, promptTokens: 0, completionTokens: 0 },
    seconds: (performance.now() - startedAt) / 1000,
  };
}

/**
 * Asks the judge as a run would: with the answer as the message of an agent, and with the line's output as the result
 * of the workflow.
 */
async function ask(
  judge: Judge,
  example: LabelledExample,
  { at, agents, signal }: { readonly at: number; readonly agents: readonly string[]; readonly signal: AbortSignal },
): Promise<Verdict> {
  const { task, output } = example;
  const { transcripts = toTranscripts(example, agents) } = example;
  const context = { episodeId: `example-${at}`, signal, seed: at, transcripts, environment: null };
  const verdict: unknown = await judge.judge(copyPlain(task), output, context);
  return checkVerdict(verdict, task);
}

function toTranscripts({ task, answer }: LabelledExample, agents: readonly string[]): JudgeContext['transcripts'] {
  const names = agents.length === 0 ? ['agent'] : agents;
  return names.map((agentName) => ({
    agentName,
    messages: [
      { role: 'user', content: task.mainQuery },
      { role: 'assistant', content: answer },
    ],
  }));
}

function needsEpisodes(): ConfigError {
  return new ConfigError(
    'bad_judge',
    'The judge asks the environment of an episode, and labelled examples have none. Calibrate a judge that reads answers, or leave environment out of task_judge.combined.',
  );
}

function measure(
  asked: readonly Asked[],
  threshold: number,
): Pick<Calibration, 'agreement' | 'rankCorrelation' | 'voteSpread'> {
  if (asked.length === 0) return { agreement: null, rankCorrelation: null, voteSpread: null };
  const agrees = ({ example: { score, isSuccess = score >= threshold }, verdict }: Asked): boolean =>
    verdict.isSuccess === isSuccess;
  const spreads = asked.flatMap(({ verdict: { parts = {} } }) =>
    Object.entries(parts).flatMap(([name, spread]) => (/(^|\/)vote_spread$/.test(name) ? [spread] : [])),
  );
  return {
    agreement: asked.filter(agrees).length / asked.length,
    rankCorrelation: rankCorrelation(
      asked.map(({ verdict }) => verdict.reward),
      asked.map(({ example }) => example.score),
    ),
    voteSpread: spreads.length === 0 ? null : spreads.reduce((sum, spread) => sum + spread, 0) / spreads.length,
  };
}

const describe = (error: unknown): string =>
  error instanceof AgentJetError ? `${error.code}: ${error.message}` : toErrorMessage(error);
