/**
 * Does `ajet doctor` name the planted cause first, and is it silent about runs that learn? The runs are kept records of
 * small models (test/doctor), and the scenarios that rldoctor ships, of which only metrics exist. rldoctor reads the same
 * runs.
 */

import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { examineRun, type Finding } from '@agentjet/diagnose';
import { keptNames, readKept, unpack, type KeptRun } from '../../doctor/kept-run.js';
import { measureAudit } from '../audit/measure-audit.js';
import type { BenchOptions, BenchResult } from '../bench.js';
import {
  covers,
  diagnoseWithRldoctor,
  installRldoctor,
  rldoctorVersion,
  toTrlLines,
  writeScenarios,
} from './rldoctor.js';

/** The cause that each scenario of rldoctor plants, in our words. */
const scenarioCauses: Readonly<Record<string, string | null>> = {
  healthy: null,
  entropy_collapse: 'lost_variety',
  saturated_groups: 'always_solved',
  too_hard: 'never_solved',
  reward_hacking: 'hollow_reward',
  length_hacking: 'length_drift',
  truncation: 'cut_answers',
  kl_blowup: 'kl_drift',
  clip_saturation: 'clipped_away',
  grad_spikes: 'gradient_spikes',
  plateau: 'stopped_learning',
  format_domination: 'one_part',
};

/** A record made by someone who has not seen the limits of the causes has this in its name. */
const byOthers = /\.by-others\./;

type Examined = {
  readonly name: string;
  readonly kept: KeptRun;
  readonly findings: readonly Finding[];
  readonly rldoctor: readonly string[] | null;
};

export async function run({ report }: BenchOptions): Promise<BenchResult> {
  const folder = mkdtempSync(path.join(tmpdir(), 'ajet-bench-doctor-'));
  try {
    const problem = installRldoctor(report);
    if (problem !== undefined) report(`rldoctor is not compared: ${problem}`);
    const examined = await examineKept(folder, problem === undefined);
    const scenarios = problem === undefined ? await examineScenarios(folder, report) : null;
    for (const line of describe(examined)) report(line);
    const { summary: audit } = await measureAudit(report);
    return {
      summary: { ...summarize(examined, scenarios), audit },
      details: detailsOf(examined, { scenarios, problem }),
    };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function examineKept(folder: string, hasRldoctor: boolean): Promise<readonly Examined[]> {
  const runs = keptNames().map((name) => ({ name, kept: readKept(name) }));
  const fileOf = (name: string): string => path.join(folder, `${name}.jsonl`);
  for (const { name, kept } of runs) writeFileSync(fileOf(name), toTrlLines(kept));
  const others = hasRldoctor ? diagnoseWithRldoctor(runs.map(({ name }) => fileOf(name))) : undefined;
  const examined: Examined[] = [];
  for (const { name, kept } of runs) {
    const { findings } = await examineRun(unpack(kept, path.join(folder, name)));
    examined.push({ name, kept, findings, rldoctor: others?.[fileOf(name)] ?? null });
  }
  return examined;
}

type Scenarios = {
  readonly tried: number;
  readonly right: number;
  readonly wrong: readonly string[];
  readonly held_back: { readonly tried: number; readonly right: number };
};

/** The limits of the causes were chosen with seeds 0 to 4. Seeds 5 to 9 are counted apart. */
async function examineScenarios(folder: string, report: (line: string) => void): Promise<Scenarios> {
  const dir = path.join(folder, 'scenarios');
  report('examining the scenarios of rldoctor');
  writeScenarios(dir);
  const results: {
    readonly file: string;
    readonly isHeldBack: boolean;
    readonly first: string | null;
    readonly isRight: boolean;
  }[] = [];
  for (const file of readdirSync(dir).toSorted()) {
    const [scenario = '', , seed = ''] = file.split('.');
    const { findings } = await examineRun(path.join(dir, file));
    const first = findings[0]?.cause ?? null;
    results.push({ file, isHeldBack: Number(seed) >= 5, first, isRight: first === scenarioCauses[scenario] });
  }
  const held = results.filter(({ isHeldBack }) => isHeldBack);
  const right = (among: typeof results): number => among.filter(({ isRight }) => isRight).length;
  return {
    tried: results.length,
    right: right(results),
    wrong: results.filter(({ isRight }) => !isRight).map(({ file, first }) => `${file}: ${first}`),
    held_back: { tried: held.length, right: right(held) },
  };
}

const isPlanted = ({ kept }: Examined): boolean => kept.cause !== null;
const isFirst = ({ kept, findings }: Examined): boolean => findings[0]?.cause === kept.cause;
const isAlarm = ({ findings }: Examined): boolean => findings.some(({ asks }) => asks === 'change');

function summarize(examined: readonly Examined[], scenarios: Scenarios | null): BenchResult['summary'] {
  const [others, own] = [
    examined.filter(({ name }) => byOthers.test(name)),
    examined.filter(({ name }) => !byOthers.test(name)),
  ];
  const count = (among: readonly Examined[], counts: (each: Examined) => boolean): number =>
    among.filter(counts).length;
  const ofOthers = (counts: (each: Examined) => boolean): number | null =>
    others.length === 0 ? null : count(others, counts);
  const summary = {
    planted: count(own, isPlanted),
    first: count(own, (each) => isPlanted(each) && isFirst(each)),
    planted_by_others: ofOthers(isPlanted),
    first_by_others: ofOthers((each) => isPlanted(each) && isFirst(each)),
    healthy: count(own, (each) => !isPlanted(each)),
    healthy_by_others: ofOthers((each) => !isPlanted(each)),
    false_alarms: count(examined, (each) => !isPlanted(each) && isAlarm(each)),
    rldoctor: compareRldoctor(examined),
    scenarios: scenarios && { tried: scenarios.tried, right: scenarios.right },
  };
  return { ...summary, missing: Object.entries(summary).flatMap(([name, value]) => (value === null ? [name] : [])) };
}

function compareRldoctor(
  examined: readonly Examined[],
): { readonly first: number; readonly false_alarms: number } | null {
  if (examined.some(({ rldoctor }) => rldoctor === null)) return null;
  return {
    first: examined.filter(({ kept, rldoctor }) => kept.cause !== null && covers(rldoctor?.[0], kept.cause)).length,
    false_alarms: examined.filter(({ kept, rldoctor }) => kept.cause === null && (rldoctor ?? []).length > 0).length,
  };
}

const causesOf = ({ findings }: Examined): readonly string[] =>
  findings.map(({ cause, asks }) => (asks === 'change' ? cause : `${cause} (in order)`));

const describe = (examined: readonly Examined[]): readonly string[] =>
  examined.map((each) => {
    const isRight = isPlanted(each) ? isFirst(each) : !isAlarm(each);
    return `${isRight ? 'right' : 'WRONG'}  ${each.name}  planted: ${each.kept.cause ?? 'nothing'}  found: ${causesOf(each).join(', ') || 'nothing'}  rldoctor: ${each.rldoctor?.join(', ') || 'nothing'}`;
  });

const detailsOf = (
  examined: readonly Examined[],
  { scenarios, problem }: { readonly scenarios: Scenarios | null; readonly problem: string | undefined },
): BenchResult['details'] => ({
  rldoctor_version: rldoctorVersion,
  ...(problem !== undefined && { rldoctor_problem: problem }),
  scenarios_held_back: scenarios?.held_back ?? null,
  scenarios_wrong: scenarios?.wrong ?? null,
  runs: examined.map((each) => ({
    name: each.name,
    planted: each.kept.cause,
    found: causesOf(each),
    rldoctor: each.rldoctor,
  })),
});
