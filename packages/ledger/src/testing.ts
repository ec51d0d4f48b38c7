export { MemoryDisk, MemoryStore, type DiskFaults, type DiskOperation } from './testing/memory-store.js';
export { storeCases, type StorePlace } from './testing/store-cases.js';
export { drawDamage, readWhole } from './testing/damage.js';
export { putMeta } from './testing/put-meta.js';
export { readFormat, writeRawFile, type RawEntry } from './testing/raw-file.js';
export { readBootId } from '@agentjet/core/processes';
export { decodeRecord, encodeRecord } from './store/entry.js';
