// A server of the Model Context Protocol over stdio, made with the SDK. Its world is a counter that ends with the process.
import { appendFileSync } from 'node:fs';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { z } from 'zod';

const log = process.env.COUNTER_LOG;
const note = (line) => log !== undefined && appendFileSync(log, `${line}\n`);
const say = (text) => ({ content: [{ type: 'text', text }] });
let count = 0;

const server = new McpServer({ name: 'counter', version: '1' });
const task = {
  task_id: z.string(),
  question: z.string(),
  seed: z.number(),
  metadata: z.record(z.string(), z.unknown()),
};
server.registerTool('begin', { description: 'opens', inputSchema: task }, ({ task_id }) => say(`${task_id} at 0`));
server.registerTool('act', { description: 'counts', inputSchema: { words: z.string() } }, ({ words }) => {
  note(words);
  if (words === 'die') process.exit(1);
  return say(`${words} at ${++count}`);
});
server.registerTool('score', { description: 'scores' }, () =>
  say(JSON.stringify({ reward: count / 5, isSuccess: count >= 2 })),
);
note(`started ${process.pid}`);
process.on('exit', () => note(`ended ${process.pid}`));
await server.connect(new StdioServerTransport());
