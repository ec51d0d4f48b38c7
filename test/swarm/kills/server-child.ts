/**
 * Runs a swarm server in a process that may be killed: `server-child.ts <folder> <port> <number of policies> [<port for
 * a torch worker>]`. It prints "ready" when it listens. SIGUSR2 ends the thread of its engine in the middle of its
 * work, and then it prints "worker ended".
 */
import { once } from 'node:events';
import { syncBuiltinESMExports } from 'node:module';
import workerThreads, { BroadcastChannel, type Worker, type WorkerOptions } from 'node:worker_threads';
import { configuration } from 'agentjet';
import { serveSwarm } from '@agentjet/swarm-server';
import { createServedConfig } from './served-config.js';

const engines = new Set<Worker>();
const endThread = new URL('./end-thread.mjs', import.meta.url).href;
const orders = new BroadcastChannel('end-threads');
orders.unref();
workerThreads.Worker = class extends workerThreads.Worker {
  constructor(file: string | URL, options: WorkerOptions = {}) {
    super(file, { ...options, execArgv: [...(options.execArgv ?? process.execArgv), '--import', endThread] });
    engines.add(this);
    this.once('exit', () => engines.delete(this));
  }
};
syncBuiltinESMExports();

process.on('SIGUSR2', () => {
  void Promise.all([...engines].map((engine) => once(engine, 'exit'))).then((ended) => {
    console.log(`worker ended ${ended.length}`);
  });
  orders.postMessage('end');
});

const [dir = '', port = '0', numPolicies = '1', workerPort = '0'] = process.argv.slice(2);
await serveSwarm({
  config: createServedConfig(dir, Number(numPolicies), Number(workerPort)),
  composition: configuration,
  port: Number(port),
  app: { needsKey: false },
  takeOver: true,
  onNotice: (message) => console.error(message),
});
console.log('ready');
