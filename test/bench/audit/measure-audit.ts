import type { AuditReport } from 'agentjet';
import { badRewardsOfOthers } from './bad-rewards-of-others.js';
import { badRewards } from './bad-rewards.js';
import type { Planted } from './planted.js';
import { badRewardsByOthers, soundRewardsByOthers } from './rewards-by-others.js';
import { soundRewards } from './sound-rewards.js';

/** What the audit said about one reward. */
export type Audited = {
  readonly name: string;
  readonly isBad: boolean;
  readonly isByOthers: boolean;
  /** For a bad reward: an alarm names a strategy that it was made to pay. For a sound one: there is no alarm. */
  readonly isRight: boolean;
  readonly alarms: readonly string[];
  readonly episodes: number;
  readonly seconds: number;
};

export type AuditSummary = {
  readonly bad: number;
  readonly named: number;
  readonly sound: number;
  readonly false_alarms: number;
};

export const allRewards: readonly Planted[] = [
  ...badRewards,
  ...badRewardsOfOthers,
  ...badRewardsByOthers,
  ...soundRewards,
  ...soundRewardsByOthers,
];

export async function auditPlanted(planted: Planted): Promise<Audited> {
  const { name, pays, isByOthers = false, options } = planted;
  const report = await planted.createJob().auditReward({ ...options, onEvent: () => undefined });
  const alarms = [...new Set(report.alarms.map(({ strategy }) => strategy))];
  const isBad = pays.length > 0;
  const isRight = isBad ? pays.some((strategy) => alarms.includes(strategy)) : alarms.length === 0 && hasScored(report);
  return { name, isBad, isByOthers, isRight, alarms, episodes: report.episodes, seconds: report.seconds };
}

/** An audit in which nothing was scored clears no reward. */
const hasScored = ({ episodes, failed, lost }: AuditReport): boolean => failed + lost < episodes;

/** Audits all planted rewards. `report` gets a line about each. */
export async function measureAudit(
  report: (line: string) => void,
  planted: readonly Planted[] = allRewards,
): Promise<{ readonly summary: AuditSummary; readonly audited: readonly Audited[] }> {
  const audited: Audited[] = [];
  for (const each of planted) {
    const outcome = await auditPlanted(each);
    const { isRight, isBad, name, alarms } = outcome;
    report(`${isRight ? 'ok   ' : 'WRONG'} ${isBad ? 'bad  ' : 'sound'} ${name}: ${alarms.join(', ') || 'no alarm'}`);
    audited.push(outcome);
  }
  const bad = audited.filter(({ isBad }) => isBad);
  const sound = audited.filter(({ isBad }) => !isBad);
  return {
    summary: {
      bad: bad.length,
      named: bad.filter(({ isRight }) => isRight).length,
      sound: sound.length,
      false_alarms: sound.filter(({ isRight }) => !isRight).length,
    },
    audited,
  };
}
