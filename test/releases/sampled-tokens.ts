import { readFile } from 'node:fs/promises';
import path from 'node:path';

/** Compares how many tokens two ways of training sample until they reach the same success on held-out tasks. */

/** The success of an evaluation, and the number of tokens that training sampled before it. */
export type CurvePoint = { readonly tokens: number; readonly success: number };

export type SampledTokens = {
  /** A success rate on the held-out tasks: start + 0.9 x (teacher - start). */
  readonly target: number;
  /** The sampled tokens before the first evaluation with this success. Null if the run never reached it. */
  readonly from_teacher: number | null;
  /** The same number for the run with rewards alone, or all its sampled tokens if it never reached this success. */
  readonly from_rewards: number;
};

/** The evaluations of the run with the teacher and of a run with rewards alone. */
export type TwoWays = Rewarded & { readonly fromTeacher: readonly CurvePoint[] };

/** A run of the student with rewards alone, and the success of the teacher. */
export type Rewarded = { readonly fromRewards: readonly CurvePoint[]; readonly teacher: number };

const shareOfGain = 0.9;

type Line = Readonly<Record<string, number>>;

async function readLines(file: string): Promise<readonly Line[]> {
  const text = await readFile(file, 'utf8');
  return text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Line);
}

/** Reads the evaluations of a run, in order. */
export async function readCurve(runDir: string): Promise<readonly CurvePoint[]> {
  const steps = await readLines(path.join(runDir, 'metrics.jsonl'));
  const evaluations = await readLines(path.join(runDir, 'evaluations.jsonl'));
  return evaluations.map(({ step: at = 0, success_rate: success = 0 }) => ({
    tokens: steps.reduce((sum, { step = 0, generated_tokens: tokens = 0 }) => (step <= at ? sum + tokens : sum), 0),
    success,
  }));
}

/** Both runs begin with the same model. `teacher` is the success of the teacher on the same tasks. */
export function compareTokens({ fromTeacher, fromRewards, teacher }: TwoWays): SampledTokens | undefined {
  const [start, last] = [fromTeacher[0], fromRewards.at(-1)];
  if (start === undefined || last === undefined) return undefined;
  const target = start.success + shareOfGain * (teacher - start.success);
  const tokensTo = (curve: readonly CurvePoint[]): number | undefined =>
    curve.find(({ success }) => success >= target)?.tokens;
  return {
    target,
    from_teacher: tokensTo(fromTeacher) ?? null,
    from_rewards: tokensTo(fromRewards) ?? last.tokens,
  };
}
