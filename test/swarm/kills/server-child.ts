/** A swarm server as a process that may be killed: `server-child.ts <folder> <port>`. It says "ready" when it listens. */
import { configuration } from 'agentjet';
import { serveSwarm } from '@agentjet/swarm-server';
import { createServedConfig } from './served-config.js';

const [dir = '', port = '0'] = process.argv.slice(2);
await serveSwarm({
  config: createServedConfig(dir),
  composition: configuration,
  port: Number(port),
  app: { needsKey: false },
  takeOver: true,
  onNotice: (message) => console.error(message),
});
console.log('ready');
