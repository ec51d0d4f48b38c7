/** Predicts from a few episodes how many groups would train. */

export { chooseSettings, groupSizes, type ProbedTemperature, type SignalSettings } from './choose-settings.js';
export { scoreGroups } from './groups-that-train.js';
export { nextRound, sumEpisodes, type ProbePlan, type Round } from './next-round.js';
export type { GroupRules, EpisodeOutcome, ProbedTask } from './outcomes.js';
export { pickIndices } from './pick-indices.js';
