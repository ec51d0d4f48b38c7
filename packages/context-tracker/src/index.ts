export type { AgentIdentity, CommittedTurn, ContextTracker, HistoryPolicy, TrackerStats, Turn, TurnDescription, TurnOptions, TurnPart } from './contract.js';
export { type ContextTrackerOptions, createContextTracker } from './context-tracker.js';
