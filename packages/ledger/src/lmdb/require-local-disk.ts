import { statfsSync } from 'node:fs';
import { StoreError } from '../store/store-error.js';

/** Network and user-space file systems, by the number that Linux gives them (statfs, f_type). */
const refused: Readonly<Record<number, string>> = {
  0x6969: 'nfs',
  0xff534d42: 'cifs',
  0xfe534d42: 'smb2',
  0x517b: 'smb',
  0x0bd00bd0: 'lustre',
  0x47504653: 'gpfs',
  0x65735546: 'fuse',
  0x00c36400: 'ceph',
  0x5346414f: 'afs',
};

/** Throws StoreError `file_system` unless the folder is on a local disk, where locks and syncs are reliable. */
export function requireLocalDisk(dir: string, fileSystemType: (dir: string) => number = typeOf): void {
  const name = refused[fileSystemType(dir) >>> 0];
  if (name === undefined) return;
  throw new StoreError(
    'file_system',
    `The store must be on a local disk, and ${dir} is on ${name}, which cannot guarantee that synced data is kept. Set swarm.store_dir to a folder on a local disk.`,
  );
}

const typeOf = (dir: string): number => (process.platform === 'linux' ? statfsSync(dir).type : 0);
