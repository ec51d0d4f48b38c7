import type { Cause, CauseNeed } from './cause.js';
import { causes as allCauses } from './causes.js';
import type { ExaminedRun } from './examined-run.js';
import type { Examination, Finding } from './finding.js';
import { hasGained, isGood, outcomeOf } from './outcome.js';

/** Nobody reads more findings than this. */
const mostFindings = 5;
const mostEpisodes = 3;
/** A run that learns in spite of a cause needs no change, unless the cause takes nearly all of the signal. */
const mostTaken = 0.8;

/** Looks for each cause in the records of a run. */
export function examine(run: ExaminedRun, causes: readonly Cause[] = allCauses): Examination {
  // The reward of a run may have no parts. Then there is nothing to look at.
  const isMissed = (need: CauseNeed): boolean => need !== 'parts' || run.source !== 'run folder';
  const looked = causes.map((cause) => ({ cause, lacks: cause.needs.filter((need) => !has(run, need)) }));
  const seen = looked.flatMap(({ cause, lacks }) => (lacks.length === 0 ? toSeen(cause, run) : []));
  return {
    source: run.source,
    steps: run.steps,
    ...(run.episodesOf !== undefined && { episodesOf: run.episodesOf }),
    findings: inOrder(seen).slice(0, mostFindings),
    unseen: looked.flatMap(({ cause, lacks }) => (lacks.some(isMissed) ? [{ cause: cause.name, needs: lacks }] : [])),
  };
}

function has(run: ExaminedRun, need: CauseNeed): boolean {
  if (need === 'evaluations') return run.evaluations.length > 0;
  if (need === 'any success') return outcomeOf(run) !== undefined;
  if (need === 'parts') return run.parts.size > 0;
  if (need === 'episodes') return run.episodes !== undefined && run.episodes.length > 0;
  return (run.figures[need]?.values.length ?? 0) > 0;
}

/** A finding, the causes that follow from it, and whether they need no change either. */
type Seen = { readonly finding: Finding; readonly explains: readonly string[]; readonly settles: boolean };

function toSeen(cause: Cause, run: ExaminedRun): readonly Seen[] {
  const seen = cause.look(run);
  if (seen === undefined) return [];
  const isInOrder = seen.taken < mostTaken && (isGood(run) || hasGained(run));
  const { episodes = [], explains = cause.explains, settles = false, taken, ...rest } = seen;
  const { asks = isInOrder ? 'nothing' : 'change' } = rest;
  const finding: Finding = {
    cause: cause.name,
    ...rest,
    asks,
    threshold: cause.threshold,
    episodes: episodes.slice(0, mostEpisodes),
    taken: Math.min(1, Math.max(0, taken)),
  };
  return [{ finding, explains: taken < (cause.explainsFrom ?? 0) ? [] : explains, settles }];
}

/**
 * A cause that another finding explains ranks after it. Among the others, a finding that asks for a change ranks first,
 * then the one that takes more of the signal. If a finding asks for a change, its cause asks for it too. What follows from
 * a cause that settles it asks for nothing.
 */
function inOrder(seen: readonly Seen[]): readonly Finding[] {
  const findings = seen.map(({ finding }) => finding);
  const found = new Set(findings.map(({ cause }) => cause));
  const explained = new Map(
    seen.map(({ finding, explains }) => [finding.cause, explains.filter((each) => found.has(each))]),
  );
  const depths = new Map<string, number>();
  const settled = new Set(seen.flatMap(({ explains, settles }) => (settles ? explains : [])));
  const asking = new Set(
    findings.filter(({ cause, asks }) => asks === 'change' && !settled.has(cause)).map(({ cause }) => cause),
  );
  const descend = (name: string, path: readonly string[]): void => {
    if (path.includes(name)) return;
    depths.set(name, Math.max(path.length, depths.get(name) ?? 0));
    if (asking.has(name)) for (const each of path) asking.add(each);
    for (const next of explained.get(name) ?? []) descend(next, [...path, name]);
  };
  for (const name of found) descend(name, []);
  const depthOf = ({ cause }: Finding): number => depths.get(cause) ?? 0;
  return findings
    .map((finding) => ({ ...finding, asks: asking.has(finding.cause) ? ('change' as const) : ('nothing' as const) }))
    .toSorted(
      (left, right) =>
        Number(right.asks === 'change') - Number(left.asks === 'change') ||
        depthOf(left) - depthOf(right) ||
        right.taken - left.taken,
    );
}
