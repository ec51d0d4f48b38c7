import { ConfigError, isJsonObject, type JsonObject } from '@agentjet/core';

/** A function that scores an answer. It returns a number, or an object with `score`, or a promise of either. */
export type ScoreFunction = (args: never) => unknown;

/** A scorer of autoevals, evalite or vitest-evals. An object has the function as `scorer` (evalite) or `assess` (vitest-evals). */
export type Scorer =
  | ScoreFunction
  | { readonly name?: string; readonly scorer: ScoreFunction }
  | { readonly name?: string; readonly assess: ScoreFunction; readonly judgeHarness?: unknown };

export type Scoring = {
  readonly name: string;
  readonly score: (args: JsonObject) => Promise<unknown>;
};

/** Reads a scorer. Throws ConfigError `bad_judge`; `where` names the scorer in its message. */
export function toScoring(scorer: unknown, where = 'The scorer'): Scoring {
  if (typeof scorer === 'function') return { name: scorer.name || 'function', score: async (args) => scorer(args) };
  if (isJsonObject(scorer)) {
    const name = typeof scorer['name'] === 'string' ? scorer['name'] : 'object';
    const { scorer: score, assess } = scorer;
    if (typeof score === 'function') return { name, score: async (args) => score(args) };
    if (typeof assess === 'function')
      return { name, score: async (args) => assess({ ...args, ...contextOf(args, scorer['judgeHarness']) }) };
  }
  throw new ConfigError(
    'bad_judge',
    `${where} is ${scorer === null ? 'null' : `of type ${typeof scorer}`}. Name a function of { input, output, expected }, an object with a function scorer, or a judge of vitest-evals.`,
  );
}

/** What judges of vitest-evals find in their context in addition to the arguments of a scorer. */
function contextOf({ output, session, signal }: JsonObject, judgeHarness: unknown): JsonObject {
  return {
    run: { output, session, usage: {}, errors: [] },
    harness: undefined,
    ...(isHarness(judgeHarness) && { runJudge: (input: unknown) => ask(judgeHarness, input, signal) }),
  };
}

type Harness = { readonly run: (input: unknown, context: object) => Promise<{ readonly output?: unknown }> };

function isHarness(value: unknown): value is Harness {
  return isJsonObject(value) && typeof value['run'] === 'function';
}

async function ask(harness: Harness, input: unknown, signal: unknown): Promise<unknown> {
  const { output } = await harness.run(input, { signal, artifacts: {}, setArtifact: () => undefined });
  return output;
}
