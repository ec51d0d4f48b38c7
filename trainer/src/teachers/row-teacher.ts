import { BackboneError, type Teacher, type TreePack } from '@agentjet/core';

/** Returns, shape [T], the logprob of each token given those before it, at temperature 1. Entry 0 has no meaning. */
export type ScoreRow = (ids: Int32Array) => Promise<ArrayLike<number>>;

export type RowTeacherOptions = {
  /** The teacher's name in error messages. */
  readonly name: string;
  readonly scoreRow: ScoreRow;
  readonly close: () => Promise<void>;
  /** The number of rows that are scored at the same time. Default: 32. */
  readonly maxInFlight?: number;
};

/** Servers that compute in half precision may give a logprob that is slightly above 0. */
const mostRounding = 0.05;

/** Makes a teacher of a server that scores single rows. */
export function createRowTeacher({ name, scoreRow, close, maxInFlight = 32 }: RowTeacherOptions): Teacher {
  return {
    takes: 'rows',
    async termLogprobs(packs, temperature) {
      const found: Float32Array[] = packs.map(() => new Float32Array());
      const waiting = packs.entries();
      const work = async (): Promise<void> => {
        for (const [index, pack] of waiting) {
          requirePlainTemperature(name, pack, temperature);
          found[index] = toTerms(name, pack, await scoreRow(pack.ids));
        }
      };
      await Promise.all(Array.from({ length: Math.min(maxInFlight, packs.length) }, work));
      return found;
    },
    close,
  };
}

/** Throws for other temperatures than 1, at which servers score. Greedy tokens (0) are scored at 1 as well. */
function requirePlainTemperature(name: string, { terms }: TreePack, temperature: number): void {
  const of = terms.temperatures ?? [temperature];
  const other = of.find((value) => value !== 0 && value !== 1);
  if (other === undefined) return;
  throw new BackboneError(
    'unsupported_teacher',
    `A token was sampled at temperature ${other}, and the teacher ${name} gives logprobs at temperature 1. Set rollout.temperature to 1.`,
  );
}

function toTerms(name: string, { ids, predictors, terms }: TreePack, logprobs: ArrayLike<number>): Float32Array {
  if (logprobs.length !== ids.length)
    throw new BackboneError(
      'bad_teacher_answer',
      `The teacher ${name} gave ${logprobs.length} logprobs for a row of ${ids.length} tokens.`,
    );
  return Float32Array.from(terms.pair, (pair) => {
    const at = (predictors[pair] ?? 0) + 1;
    const value = logprobs[at] ?? Number.NaN;
    if (Number.isFinite(value) && value <= mostRounding) return Math.min(value, 0);
    const why = value > 0 ? 'A logprob is never above 0' : 'Check that the server gives the logprobs of prompts';
    throw new BackboneError(
      'bad_teacher_answer',
      `The teacher ${name} gave ${value} as the logprob of token ${ids[at]} at position ${at} of a row of ${ids.length} tokens. ${why}.`,
    );
  });
}
