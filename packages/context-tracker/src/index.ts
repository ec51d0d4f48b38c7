export type { AgentIdentity, CommittedTurn, ContextTracker, HistoryPolicy, TrackerStats, Turn, TurnOptions } from './contract.js';
export { type ContextTrackerOptions, createContextTracker } from './context-tracker.js';
