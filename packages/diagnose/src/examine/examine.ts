import type { Cause, Need } from './cause.js';
import { causes as allCauses } from './causes.js';
import type { ExaminedRun } from './examined-run.js';
import type { Examination, Finding } from './finding.js';
import { isGood } from './outcome.js';

/** More findings than these are noise for a person. */
const mostFindings = 5;
const mostEpisodes = 3;
/** A run that has learned its tasks needs no change because of a cause that takes less of the signal. */
const mostTaken = 0.5;

/** Looks for each cause in the records of a run. */
export function examine(run: ExaminedRun, causes: readonly Cause[] = allCauses): Examination {
  // The reward of a run may have no parts. Then there is nothing to look at.
  const isMissed = (need: Need): boolean => need !== 'parts' || run.source !== 'run folder';
  const looked = causes.map((cause) => ({ cause, lacks: cause.needs.filter((need) => !has(run, need)) }));
  const findings = looked.flatMap(({ cause, lacks }) => (lacks.length === 0 ? toFinding(cause, run) : []));
  return {
    source: run.source,
    steps: run.steps,
    ...(run.episodesOf !== undefined && { episodesOf: run.episodesOf }),
    findings: inOrder(findings, causes).slice(0, mostFindings),
    unseen: looked.flatMap(({ cause, lacks }) => (lacks.some(isMissed) ? [{ cause: cause.name, needs: lacks }] : [])),
  };
}

function has(run: ExaminedRun, need: Need): boolean {
  if (need === 'evaluations') return run.evaluations.length > 0;
  if (need === 'parts') return run.parts.size > 0;
  if (need === 'episodes') return run.episodes !== undefined && run.episodes.length > 0;
  return (run.figures[need]?.values.length ?? 0) > 0;
}

function toFinding(cause: Cause, run: ExaminedRun): readonly Finding[] {
  const seen = cause.look(run);
  if (seen === undefined) return [];
  const { asks = seen.taken < mostTaken && isGood(run) ? 'nothing' : 'change', episodes = [], taken, ...rest } = seen;
  return [
    {
      cause: cause.name,
      asks,
      ...rest,
      threshold: cause.threshold,
      episodes: episodes.slice(0, mostEpisodes),
      taken: Math.min(1, Math.max(0, taken)),
    },
  ];
}

/**
 * A cause that another finding explains ranks after it. Among the others, a finding that asks for a change ranks first,
 * then the one that takes more of the signal.
 */
function inOrder(findings: readonly Finding[], causes: readonly Cause[]): readonly Finding[] {
  const found = new Set(findings.map(({ cause }) => cause));
  const explains = new Map(causes.map(({ name, explains: names }) => [name, names.filter((each) => found.has(each))]));
  const depths = new Map<string, number>();
  const descend = (name: string, depth: number, path: readonly string[]): void => {
    if (path.includes(name)) return;
    depths.set(name, Math.max(depth, depths.get(name) ?? 0));
    for (const next of explains.get(name) ?? []) descend(next, depth + 1, [...path, name]);
  };
  for (const name of found) descend(name, 0, []);
  const depthOf = ({ cause }: Finding): number => depths.get(cause) ?? 0;
  const isNote = ({ asks }: Finding): number => (asks === 'change' ? 0 : 1);
  return findings.toSorted(
    (left, right) => isNote(left) - isNote(right) || depthOf(left) - depthOf(right) || right.taken - left.taken,
  );
}
