import { memoryCases } from './memory-cases.js';

/** The peak of one case, next to its estimate. */
export type CasePeak = {
  readonly case: string;
  readonly predicted_bytes: number;
  readonly measured_bytes: number;
  readonly ratio: number;
  /** The commit at which an earlier run measured the case. */
  readonly commit?: string;
};

export type Outcome = { readonly measured: readonly CasePeak[]; readonly leftOut: readonly string[] };

/**
 * Adds the cases that were not measured now from the kept result, each with its commit. Cases that no longer exist are
 * dropped. A case that was left out now keeps its earlier figures.
 */
export function joinMeasured(kept: string | undefined, now: Outcome): Outcome {
  const { commit, measured, left_out_cases: leftOut } = parseKept(kept);
  const names = memoryCases.map(({ name }) => name);
  const rows = new Map([
    ...measured.map((row) => [row.case, { commit, ...row }] as const),
    ...now.measured.map((row) => [row.case, row] as const),
  ]);
  const missing = new Set([...leftOut, ...now.leftOut]);
  return {
    measured: names.flatMap((name) => rows.get(name) ?? []),
    leftOut: names.filter((name) => missing.has(name) && !rows.has(name)),
  };
}

type Kept = {
  readonly commit: string;
  readonly measured: readonly CasePeak[];
  readonly left_out_cases: readonly string[];
};

function parseKept(text: string | undefined): Kept {
  const found = JSON.parse(text ?? '{}') as Partial<Kept>;
  return { commit: 'unknown', measured: [], left_out_cases: [], ...found };
}
