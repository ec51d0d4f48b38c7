export { accountOf, type Account } from './account.js';
export { missingGroups, nextBatch, nextDraw, type FormedBatch, type BatchRules, type NextDraw } from './batches.js';
export { collections, isAgreement, type Collection, type Flying, type Look } from './collection.js';
export { drawableShares } from './draws.js';
export { type DropReason } from './drop-reasons.js';
export { applyRecord, foldRecords } from './fold.js';
export { nextTurn, systemHost, type Host } from './host.js';
export { Ledger } from './ledger.js';
export { toIdleGroup } from './ledger-checks.js';
export { LedgerError } from './ledger-error.js';
export { OutagePause, type OutageStatus } from './outage-pause.js';
export { defaultPolicy, episodePart, groupPart, isOf, lineOf, named } from './policies.js';
export { isClosed, isMember, isSampled, countPlaces, lastAttemptsOf, placeStateOf, untrainedOf } from './places.js';
export type {
  AuditRecord,
  ConfigRecord,
  EndRecord,
  EvaluationRecord,
  LedgerRecord,
  LeftOut,
  ManifestEpisode,
  IdleGroup,
  ManifestGroup,
  ManifestRecord,
  PolicyTurnReward,
  Purpose,
  RunOrder,
  TaskRecord,
  TargetRewards,
} from './records.js';
export type { LedgerOptions, NewEnd, OpenPlace, Outcome } from './requests.js';
export { createRules, type FailedEpisodePolicy, type LedgerRules } from './rules.js';
export {
  defaultShare,
  hasShares,
  nextParts,
  partsAt,
  shareOf,
  sharesKey,
  type GroupsByShare,
  type Parts,
} from './shares.js';
export {
  createState,
  scheduleOf,
  type EpisodeState,
  type LedgerEpisode,
  type LedgerGroup,
  type LedgerState,
  type PolicyLine,
  type Schedule,
} from './state.js';
export { countTasks, currentTable, tableName, taskKey, tasksOf, type TableVersion } from './task-tables.js';
export { LmdbStore } from './lmdb/lmdb-store.js';
export { format as storeFormat } from './lmdb/require-format.js';
export type { LmdbStoreOptions } from './lmdb/lmdb-store-options.js';
export type { StoreEntry } from './store/store-entry.js';
export { foldStore, settleFinished } from './store/fold-store.js';
export { RecordIndex } from './store/record-index.js';
export { recover } from './store/recover.js';
export { FileRetirement } from './store/retention.js';
export type { Store } from './store/store.js';
export { notOwner, StoreError } from './store/store-error.js';
export { StoreWriter } from './store/store-writer.js';
export { verifyStore, type PolicyVerdict, type StoreVerdict } from './store/verify-store.js';
