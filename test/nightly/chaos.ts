import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { causeChaos, isSound } from '../chaos/cause-chaos.js';
import type { NightlyOutcome } from './nightly-job.js';

/** Each night has another seed, which is kept with its result. CHAOS_MINUTES and CHAOS_SEED replay a night. */
const minutes = Number(process.env['CHAOS_MINUTES'] ?? 25);
const seed = Number(process.env['CHAOS_SEED'] ?? Math.floor(Date.now() / 86_400_000));

/** Tries kills, full disks, broken files and hostile requests, drawn from the seed of the night. */
export async function run(): Promise<NightlyOutcome> {
  const folder = mkdtempSync(path.join(tmpdir(), 'agentjet-chaos-'));
  try {
    const report = await causeChaos({ folder, minutes, seed });
    const summary = Object.entries(report)
      .map(([name, value]) => `${value} ${name}`)
      .join(', ');
    return { passed: isSound(report), summary, details: { minutes, seed, ...report } };
  } finally {
    rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
  }
}
