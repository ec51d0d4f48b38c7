import { MemoryDisk, MemoryStore } from './memory-store.js';
import { storeCases } from './store-cases.js';

storeCases('a store in memory', async () => {
  const disk = new MemoryDisk();
  return { open: async () => new MemoryStore(disk), remove: async () => {} };
});
