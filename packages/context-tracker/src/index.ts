export type {
  AgentIdentity,
  AgentTranscript,
  CallTimes,
  CommittedTurn,
  ContextTracker,
  Counts,
  CountsByAgent,
  ForeignCause,
  HistoryPolicy,
  SpecialTokensInText,
  SpliceCause,
  TrackerStats,
  Turn,
  TurnDescription,
} from './contract.js';
export { createContextTracker } from './context-tracker.js';
export type { Branch, EpisodeTree, TokenSpan, SpanAuthor } from './inspection/episode-tree.js';
export { forkReasons } from './history/fork-cause.js';
export { layOutEpisode } from './inspection/lay-out-episode.js';
export { packTurns, unpackTurns, type PackedTurns } from './inspection/packed-turn.js';
export { readTurnRecords, toTurnRecord } from './inspection/turn-record.js';
export type { SampledRow, SampledSpan } from './tokens/sampled-rows.js';
