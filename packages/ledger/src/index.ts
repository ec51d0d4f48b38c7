export { accountOf, type Account } from './account.js';
export { groupsHolding, nextBatch, nextDraw, type Batch, type BatchRules, type NextDraw } from './batches.js';
export { collections, isAgreement, type Collection, type Flying, type Look } from './collection.js';
export { drawableShares } from './draws.js';
export { dropReasons, type DropReason } from './drop-reasons.js';
export { applyRecord, foldRecords } from './fold.js';
export { systemHost, type Host } from './host.js';
export { Ledger } from './ledger.js';
export { toIdleGroup } from './ledger-checks.js';
export { LedgerError } from './ledger-error.js';
export { OutagePause, type OutagePauseOptions, type OutageStatus, type PauseCause } from './outage-pause.js';
export {
  defaultPolicy,
  episodePart,
  groupPart,
  isOf,
  lineOf,
  named,
  policiesOf,
  type EpisodePart,
  type GroupPart,
} from './policies.js';
export {
  canBecomeTrainable,
  countPlaces,
  isClosed,
  isMember,
  isSampled,
  isTrainable,
  lastAttemptsOf,
  placeStateOf,
  untrainedOf,
} from './places.js';
export type {
  AuditRecord,
  CallRecord,
  ConfigRecord,
  EndRecord,
  EndStatus,
  EvaluationRecord,
  FinishedRecord,
  GroupFate,
  LedgerRecord,
  LeftOut,
  ManifestEpisode,
  IdleGroup,
  ManifestGroup,
  ManifestRecord,
  PolicyTurnReward,
  Purpose,
  RecordKind,
  RunOrder,
  KeyRecord,
  TaskRecord,
  Score,
  TargetRewards,
} from './records.js';
export type {
  GroupStatus,
  LedgerOptions,
  NewCall,
  NewClaim,
  NewEnd,
  NewGroup,
  NewScores,
  OpenPlace,
  Outcome,
} from './requests.js';
export { createRules, defaultRules, type FailedEpisodePolicy, type LedgerRules } from './rules.js';
export {
  defaultShare,
  hasShares,
  nextParts,
  partsAt,
  quotasOf,
  shareOf,
  sharesKey,
  type GroupsByShare,
  type Parts,
  type ShareAccount,
} from './shares.js';
export {
  createState,
  scheduleOf,
  taskKey,
  type DrawState,
  type EpisodeState,
  type LedgerEpisode,
  type LedgerGroup,
  type LedgerState,
  type Place,
  type PolicyLine,
  type PlaceState,
  type Schedule,
} from './state.js';
export { LmdbStore, type LmdbStoreOptions } from './lmdb/lmdb-store.js';
export type { StoreEntry } from './store/entry.js';
export { foldStore, settleFinished, type FoldedStore } from './store/fold-store.js';
export { RecordIndex } from './store/record-index.js';
export { recover, type Recovered } from './store/recover.js';
export { forgetSteps, planRetirement, type OldestCheckpoint, type Retirement } from './store/retention.js';
export type { Lane, Store, StoreFile } from './store/store.js';
export { StoreError } from './store/store-error.js';
export { StoreWriter, type StoreWriterOptions } from './store/store-writer.js';
export { verifyStore, type PolicyVerdict, type StoreVerdict } from './store/verify-store.js';
export { type Flight } from './attempt-index.js';
