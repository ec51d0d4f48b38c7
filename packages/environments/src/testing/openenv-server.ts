import { WebSocketServer, type RawData, type WebSocket } from 'ws';
import { isJsonObject } from '@agentjet/core';
import { openOpenenv } from '../openenv/openenv-environment.js';
import { attackSocket } from './attacks.js';
import type { CounterWorld } from './counter-world.js';
import { delay, type FaultPlan, type RequestKind } from './faults.js';
import { startFaultyHttp } from './faulty-http.js';
import type { StartWorld } from './world-server.js';

/** Starts a server that answers as `openenv.core.env_server` does: a socket is a session, and both end together. */
export const startOpenenvWorld: StartWorld = async (world, plan) => {
  const http = await startFaultyHttp({
    kindOf: () => 'tasks',
    handle: () => ({ status: 200, body: { tasks: [{ id: 'a' }, { id: 'b' }, { id: 'c' }] } }),
    plan,
  });
  const sockets = new WebSocketServer({ server: http.server, path: '/ws' });
  let numSockets = 0;
  sockets.on('connection', (socket) => serve(socket, { world, plan, id: `socket-${numSockets++}` }));
  return {
    environment: openOpenenv({
      url: http.url,
      envType: 'counter',
      actionField: 'message',
      textField: 'text',
      verdict: 'sum',
      tools: false,
    }),
    close: async () => {
      for (const socket of sockets.clients) socket.terminate();
      sockets.close();
      await http.close();
    },
  };
};

type Served = { readonly world: CounterWorld; readonly plan: FaultPlan; readonly id: string };

const kinds: Readonly<Record<string, RequestKind>> = { reset: 'open', step: 'act', close: 'close' };

function serve(socket: WebSocket, served: Served): void {
  const { world, plan, id } = served;
  socket.on('close', () => world.end(id));
  socket.on('error', () => undefined);
  socket.on('message', (data) => {
    const message: unknown = JSON.parse(toText(data));
    if (!isJsonObject(message)) return;
    const type = String(message['type']);
    const fault = plan(kinds[type] ?? 'evaluate');
    if (fault === 'drop') return socket.terminate();
    if (type === 'close') return socket.close();
    if (fault === 'error') return socket.send(error('SESSION_ERROR', 'out of order'));
    const text = answer(served, type, isJsonObject(message['data']) ? message['data'] : {});
    if (fault === 'lose') return socket.terminate();
    if (fault === 'nonsense') return socket.send('<html>Welcome</html>');
    if (fault === 'cut') return socket.send(text.slice(0, text.length / 2));
    if (fault === 'flood' || fault === 'nest' || fault === 'drip') return attackSocket(socket, fault);
    if (fault === 'foreign') socket.send(observation({ observation: { text: 'another' }, reward: 1, done: true }));
    if (fault === 'delay') return void delay().then(() => socket.send(text));
    socket.send(text);
    if (fault === 'repeat') socket.send(text);
  });
}

const toText = (data: RawData): string =>
  Buffer.concat(Array.isArray(data) ? data : [Buffer.from(data as Buffer)]).toString('utf8');

function answer({ world, id }: Served, type: string, data: Readonly<Record<string, unknown>>): string {
  if (type === 'reset') {
    const { id: given } = data;
    const taskId = typeof given === 'string' ? given : 'a';
    if (taskId === 'unknown') return error('EXECUTION_ERROR', 'There is no task "unknown".');
    const text = world.begin(id, { taskId, seed: Number(data['seed']) });
    return observation({ observation: { text, metadata: {} }, reward: null, done: false });
  }
  const result = world.apply(id, String(data['message']));
  if (result === undefined) return error('EXECUTION_ERROR', 'reset first');
  if (result.count < 0) return error('VALIDATION_ERROR', 'Invalid message');
  return observation({ observation: { text: result.text, metadata: {} }, reward: 0.2, done: result.isDone });
}

const observation = (data: object): string => JSON.stringify({ type: 'observation', data });
const error = (code: string, message: string): string => JSON.stringify({ type: 'error', data: { code, message } });
