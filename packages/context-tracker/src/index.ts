export type { AgentIdentity, CommittedTurn, ContextTracker, HistoryPolicy, TrackerStats, Turn } from './contract.js';
