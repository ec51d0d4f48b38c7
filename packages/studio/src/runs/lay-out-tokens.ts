import { forkReasons, type Branch, type EpisodeTree, type TokenSpan } from '@agentjet/context-tracker';
import type { SampleRecord } from '@agentjet/run-folder';
import type { TokenRun, TreeBranch } from '../wire.js';
import type { TokenDecoder } from './token-texts.js';

/** The branches of an episode's token tree, each after its parent. The branch with the most tokens continues its parent. */
export function layOutTokens(
  { branches, turns }: EpisodeTree,
  samples: readonly SampleRecord[],
  texts: TokenDecoder,
): readonly TreeBranch[] {
  const laidOut: TreeBranch[] = [];
  const open: Place[] = branches.map((branch) => ({ branch, parent: null, depth: 0 })).reverse();
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { branch, parent, depth } = next;
    const number = laidOut.length;
    laidOut.push({
      parent,
      depth,
      start: branch.start,
      end: branch.end,
      rows: branch.rows,
      forks: branch.begun.flatMap((index) => {
        const turn = turns[index];
        if (turn === undefined || turn.fork === null) return [];
        return [{ turn: index, agent: turn.agentName, cause: turn.fork, reason: forkReasons[turn.fork] }];
      }),
      runs: toRuns(branch, { turns, samples, texts }),
    });
    open.push(...below(branch, number, depth));
  }
  return laidOut;
}

type Place = { readonly branch: Branch; readonly parent: number | null; readonly depth: number };

/** The places of children on a stack: side branches come first, and the largest child last, without another indent. */
export function below(branch: Branch, parent: number, depth: number): readonly Place[] {
  const ordered = [...branch.children].sort((a, b) => b.size - a.size);
  return ordered.map((child, at) => ({ branch: child, parent, depth: at === 0 ? depth : depth + 1 }));
}

type Sources = {
  readonly turns: EpisodeTree['turns'];
  readonly samples: readonly SampleRecord[];
  readonly texts: TokenDecoder;
};

function toRuns({ start, ids, spans }: Branch, { turns, samples, texts }: Sources): readonly TokenRun[] {
  const all = Array.from(ids);
  const words = texts.each(all);
  return spans.map((span) => ({
    author: span.author,
    ...(span.name !== undefined && { name: span.name }),
    turns: span.turns,
    start: span.start,
    ids: all.slice(span.start - start, span.end - start),
    texts: words.slice(span.start - start, span.end - start),
    ...sampledOf(span, turns, samples),
  }));
}

function sampledOf(
  { start, end, turns: [index = -1] }: TokenSpan,
  turns: EpisodeTree['turns'],
  samples: readonly SampleRecord[],
) {
  const sample = samples[turns[index]?.sample ?? -1];
  if (sample === undefined) return {};
  const advantages = sample.advantages.slice(start, end);
  const isSame = advantages.every((advantage) => advantage === advantages[0]);
  const seen = trainerLogprobsOf(sample);
  const logprobs = sample.logprobs.slice(start, end);
  return {
    logprobs,
    ...(advantages.length > 0 && { advantages: isSame ? (advantages[0] ?? 0) : advantages }),
    ...(seen !== undefined && { gaps: logprobs.map((logprob, at) => (seen[start + at] ?? logprob) - logprob) }),
  };
}

function trainerLogprobsOf(sample: SampleRecord): readonly number[] | undefined {
  const seen: unknown = 'trainer_logprobs' in sample ? sample.trainer_logprobs : undefined;
  return Array.isArray(seen) ? (seen as readonly number[]) : undefined;
}
