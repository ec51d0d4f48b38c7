/** Scripted models that solve nothing, and the rules that say whether a reward pays them. */

export type { ScriptedCall, Line, PlayNeed, Scene, Script, Strategy, StrategyRole, Way } from './contract.js';
export { strategies } from './registrations.js';
export { createScriptedModel } from './scripted-model.js';
export { hasSpelling, planPlays, planSpellings, readNeeds, type Play } from './plan-plays.js';
export { hasScore, readScale, type Estimate, type PlayOutcome, type Played, type RewardScale } from './outcomes.js';
export type { Alarm, AlarmRule, Standards } from './find-alarms.js';
export {
  reportAudit,
  suspectAlarms,
  type AlarmReport,
  type AuditReport,
  type PlayReport,
  type StrategyReport,
} from './audit-report.js';
