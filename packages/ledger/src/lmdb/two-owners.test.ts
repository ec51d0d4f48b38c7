import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, it, vi } from 'vitest';
import { checkpoint } from '../testing/store-cases.js';
import { LmdbStore } from './lmdb-store.js';

it('permanently replaces an owner that has sealed a file but has not begun the next one', async () => {
  const dir = await mkdtemp(path.join(tmpdir(), 'ledger-'));
  const program = `import { LmdbStore } from ${JSON.stringify(path.join(import.meta.dirname, 'lmdb-store.ts'))};
    const store = await LmdbStore.open(${JSON.stringify(dir)}, { takeOver: true });
    await store.takeOver();`;
  const store = await LmdbStore.open(dir);
  await store.takeOver();
  const real = fs.openSync;
  const opening = vi.spyOn(fs, 'openSync').mockImplementationOnce((...call) => {
    execFileSync(process.execPath, ['--import', 'tsx', '--input-type=module', '-e', program]);
    return real(...call);
  });
  syncBuiltinESMExports();
  try {
    await expect(store.roll()).rejects.toMatchObject({ code: 'not_owner' });
    await expect(store.commit([checkpoint(1)])).rejects.toMatchObject({ code: 'not_owner' });
    expect([...store.read(1, 'events')]).toEqual([]);
  } finally {
    opening.mockRestore();
    syncBuiltinESMExports();
    await store.close();
    await rm(dir, { recursive: true, force: true });
  }
});
