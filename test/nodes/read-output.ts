/**
 * Matches a warning of Node or npm: `(node:7) [DEP0205] DeprecationWarning: ...`, `Warning: Detected unsettled ...`,
 * `npm warn ...`.
 */
const warning = /^(?:[\w@/:-]+: )?(?:\(node:\d+\) .*Warning\b|Warning: Detected unsettled|npm (?:warn|WARN)\b)/;

export const findWarnings = (output: string): readonly string[] =>
  output.split('\n').filter((line) => warning.test(line));

type Finished = { readonly code: number | null; readonly output: string };
type Counted = { readonly passed: number; readonly failed: number; readonly lines: readonly string[] };

/** The last line of `npm test`. An output without it has failed. */
export function countTests({ code, output }: Finished): Counted {
  const [, passed, failed] = /^(\d+) passed, (\d+) failed$/m.exec(output) ?? [];
  if (passed === undefined) return { passed: 0, failed: 1, lines: output.split('\n').slice(-20) };
  const lines = output.split('\n').filter((line) => /^FAIL | FAIL /.test(line));
  return { passed: Number(passed), failed: Number(failed) || Number(code !== 0), lines };
}
