/**
 * Is a reward ever given without a verdict? A judging model, which a server imitates, scores candidates that attack the
 * judge. In 60% of the calls the server answers 429, 401, 500, nonsense, the candidate's own text, or nothing. The
 * program that judges is killed once and started again.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { attacks } from '@agentjet/judges/testing';
import { numberOption, type BenchOptions, type BenchResult, type OptionTexts } from '../bench.js';
import { startFaultyJudge, type FaultyJudge } from './faulty-judge.js';

export const optionTexts: OptionTexts = { '--candidates <n>': 'answers to judge; default 5000' };

export async function run({ report, args }: BenchOptions): Promise<BenchResult> {
  const candidates = numberOption(args, '--candidates', 5000);
  const { summary, details } = await benchJudges(candidates, report);
  return { summary, details };
}

type Rewards = Map<number, number>;

export async function benchJudges(candidates: number, report: (line: string) => void): Promise<BenchResult> {
  const server = await startFaultyJudge({ seed: 7, faultShare: 0.6 });
  try {
    const cache = path.join(mkdtempSync(path.join(tmpdir(), 'bench-judges-')), 'answers.jsonl');
    const judged = await judgeAll(server, cache, { candidates, killAfter: Math.floor(candidates / 3) });
    report(`killed after ${judged.size} of ${candidates} candidates`);
    const askedBefore = new Map(server.seen.asked);
    const rewards = await judgeAll(server, cache, { candidates, killAfter: null });
    const repeated = [...judged.keys()].filter((at) => server.seen.asked.get(at) !== askedBefore.get(at));
    const changed = [...judged].filter(([at, reward]) => rewards.get(at) !== reward);
    return count(server, { candidates, rewards, repeated: repeated.length, changed: changed.length });
  } finally {
    await server.close();
  }
}

function count(
  { seen }: FaultyJudge,
  {
    candidates,
    rewards,
    repeated,
    changed,
  }: { candidates: number; rewards: Rewards; repeated: number; changed: number },
): BenchResult {
  const unfounded = [...rewards].filter(([at, reward]) => seen.scores.get(at)?.has(Math.round(reward * 10)) !== true);
  return {
    summary: {
      calls: seen.requests,
      rewards_without_verdict: unfounded.length,
      attacks: attacks.length,
      candidate_text_outside_json: seen.outside,
      verdicts_taken_from_candidate: [...rewards.values()].filter((reward) => reward === 1).length,
      repeated_after_resume: repeated,
    },
    details: { candidates, rewarded: rewards.size, left_out: candidates - rewards.size, changed_after_resume: changed },
  };
}

/**
 * Returns the rewards that the child process printed. With `killAfter`, the child is killed after that many rewards.
 */
async function judgeAll(
  server: FaultyJudge,
  cache: string,
  { candidates, killAfter }: { readonly candidates: number; readonly killAfter: number | null },
): Promise<Rewards> {
  const rewards: Rewards = new Map();
  const tsconfig = path.resolve(import.meta.dirname, '../../../tsconfig.check.json');
  const child = spawn(
    process.execPath,
    ['--import', 'tsx', path.join(import.meta.dirname, 'ask-all.ts'), server.url, cache, `${candidates}`],
    {
      env: { ...process.env, BENCH_KEYS: 'one|two|three', TSX_TSCONFIG_PATH: tsconfig },
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  );
  for await (const line of createInterface({ input: child.stdout })) {
    const { at, reward } = JSON.parse(line) as { at: number; reward: number | null };
    if (reward !== null) rewards.set(at, reward);
    if (killAfter !== null && rewards.size >= killAfter) {
      child.kill('SIGKILL');
      break;
    }
  }
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  if (killAfter === null && child.exitCode !== 0) throw new Error(`the judging process ended with ${child.exitCode}`);
  return rewards;
}
