export type { AgentIdentity, CommittedTurn, ContextTracker, HistoryPolicy, TrackerStats, Turn } from './contract.js';
export { type ContextTrackerOptions, createContextTracker } from './context-tracker.js';
