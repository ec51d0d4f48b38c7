export { auditReward } from './audit/audit-reward.js';
export type { AuditReport, AlarmReport, PlayReport } from '@agentjet/audit';
export { evaluateModel } from './evaluate-model.js';
export { probeModel } from './probe/probe-model.js';
export type { ChosenSetting, ProbeReport, Range, StepForecast, TemperatureReport } from './probe/probe-report.js';
export type { LeftOutEpisodes, RescoredEpisode, RescoreReport, EpisodeScore } from './rescore/rescore-report.js';
export { rescoreRun } from './rescore/rescore-run.js';
export { revisionOf, toSwarmRun } from './several/to-swarm-run.js';
export { tune } from './tune.js';
