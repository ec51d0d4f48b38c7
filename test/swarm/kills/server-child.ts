/** A swarm server as a process that may be killed: `server-child.ts <folder> <port>`. It says "ready" when it listens. */
import path from 'node:path';
import { LmdbStore } from '@agentjet/ledger';
import { SwarmServer } from '@agentjet/swarm-server';
import { testSettings } from '@agentjet/swarm-server/testing';
import { createFileTrainer } from './file-trainer.js';

const [dir = '', port = '0'] = process.argv.slice(2);
await SwarmServer.start({
  openStore: () => LmdbStore.open(path.join(dir, 'ledger'), { takeOver: true }),
  openTrainer: async () => createFileTrainer(path.join(dir, 'weights')),
  settings: { ...testSettings, aliveMs: 300, saveFreq: 3, totalEpochs: 1, maxFileEntries: 60 },
  port: Number(port),
  app: { needsKey: false },
  onNotice: (message) => console.error(message),
});
console.log('ready');
