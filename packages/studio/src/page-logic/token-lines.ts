import type { TokenRun, TreeBranch } from '../wire.js';

/** A line of tokens of one author, or the head of a branch. */
export type TokenLine =
  | { readonly kind: 'branch'; readonly branch: TreeBranch; readonly number: number }
  | {
      readonly kind: 'tokens';
      readonly depth: number;
      readonly run: TokenRun;
      readonly from: number;
      readonly to: number;
      /** The index of the first token of the line among all tokens of the episode. */
      readonly at: number;
      readonly isFirst: boolean;
    };

/** Lines of at most `width` characters, so that only those on the screen need to exist. A line ends after a line break. */
export function toTokenLines(branches: readonly TreeBranch[], width: number): readonly TokenLine[] {
  const lines: TokenLine[] = [];
  let at = 0;
  for (const [number, branch] of branches.entries()) {
    lines.push({ kind: 'branch', branch, number });
    for (const run of branch.runs) {
      for (const { from, to } of cutRun(run, width))
        lines.push({ kind: 'tokens', depth: branch.depth, run, from, to, at: at + from, isFirst: from === 0 });
      at += run.texts.length;
    }
  }
  return lines;
}

function cutRun({ texts }: TokenRun, width: number): readonly { readonly from: number; readonly to: number }[] {
  const pieces: { from: number; to: number }[] = [];
  let from = 0;
  let used = 0;
  for (const [place, text] of texts.entries()) {
    if (used > 0 && used + text.length > width) {
      pieces.push({ from, to: place });
      [from, used] = [place, 0];
    }
    used += Math.max(1, text.length);
    if (!text.includes('\n') || place === texts.length - 1) continue;
    pieces.push({ from, to: place + 1 });
    [from, used] = [place + 1, 0];
  }
  if (from < texts.length) pieces.push({ from, to: texts.length });
  return pieces;
}

/** The line that shows a token. */
export function lineAt(lines: readonly TokenLine[], at: number): number {
  return lines.findIndex((line) => line.kind === 'tokens' && line.at <= at && at < line.at + line.to - line.from);
}

/** How tokens are coloured. */
export const shades = ['author', 'logprob', 'advantage', 'gap'] as const;
export type Shade = (typeof shades)[number];

/**
 * Returns the CSS class of a token. By logprob it is `p0` (unlikely) to `p4` (nearly certain). By advantage it is `n1`
 * to `n3` (negative), `zero`, or `u1` to `u3` (positive). By gap it is `g1` to `g3`, the largest last, or empty for a
 * small gap. Tokens that were not sampled have no class.
 */
export function shadeOf(run: TokenRun, place: number, shade: Shade): string {
  if (run.logprobs === undefined) return '';
  if (shade === 'logprob') return `p${Math.min(4, Math.floor(Math.exp(run.logprobs[place] ?? 0) * 5))}`;
  if (shade === 'advantage') return signedStep(advantageOf(run, place) ?? 0);
  if (shade === 'gap') return gapStep(Math.abs(run.gaps?.[place] ?? 0));
  return '';
}

export function advantageOf({ advantages }: TokenRun, place: number): number | undefined {
  return typeof advantages === 'number' ? advantages : advantages?.[place];
}

function signedStep(value: number): string {
  const size = Math.abs(value);
  if (size < 1e-6) return 'zero';
  return `${value < 0 ? 'n' : 'u'}${size < 0.3 ? 1 : size < 1 ? 2 : 3}`;
}

function gapStep(size: number): string {
  return size < 0.01 ? '' : `g${size < 0.1 ? 1 : size < 0.5 ? 2 : 3}`;
}

/** A sampled token with a lower probability counts as surprising. */
const surprising = 0.2;

/**
 * Returns the next surprising token after `at`, or else the first of the episode. Undefined if the episode has none.
 */
export function nextSurprise(lines: readonly TokenLine[], at: number): number | undefined {
  const found: number[] = [];
  for (const line of lines)
    if (line.kind === 'tokens' && line.run.logprobs !== undefined)
      for (let place = line.from; place < line.to; place++)
        if (Math.exp(line.run.logprobs[place] ?? 0) < surprising) found.push(line.at + place - line.from);
  return found.find((place) => place > at) ?? found[0];
}
