import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { z } from 'agentjet';
import type { LakeServer } from './agentjet-server.js';
import { walkOn, type LakeWalk } from './lake-world.js';

/** The lake as a server of the Model Context Protocol: `begin` gets the task, `walk` is the agent's tool, `score` is the verdict. */
function createLakeServer(): McpServer {
  const server = new McpServer({ name: 'lake', version: '1' });
  let walk: LakeWalk | undefined;
  const say = (text: string, structuredContent?: Record<string, unknown>) => ({
    content: [{ type: 'text' as const, text }],
    ...(structuredContent !== undefined && { structuredContent }),
  });
  const task = { task_id: z.string(), metadata: z.record(z.string(), z.unknown()) };
  server.registerTool('begin', { description: 'Puts the walker on a lake.', inputSchema: task }, ({ metadata }) => {
    walk = walkOn({ metadata });
    return say(walk.text);
  });
  const direction = { direction: z.string() };
  server.registerTool('walk', { description: 'Walks one cell.', inputSchema: direction }, ({ direction: words }) => {
    walk?.step(words);
    return say(walk?.text ?? 'begin first', { isDone: walk?.isDone ?? true });
  });
  server.registerTool('score', { description: '1 at the goal, else 0.' }, () => say(String(walk?.reward ?? 0)));
  return server;
}

/** Serves the lake over Streamable HTTP. One process serves all sessions. */
export async function startMcpServer(): Promise<LakeServer> {
  const sessions = new Map<string, StreamableHTTPServerTransport>();
  const serve = async (incoming: IncomingMessage, response: ServerResponse): Promise<void> => {
    const id = incoming.headers['mcp-session-id'];
    const known = typeof id === 'string' ? sessions.get(id) : undefined;
    if (known !== undefined) return known.handleRequest(incoming, response);
    if (id !== undefined) return void response.writeHead(404).end();
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      enableJsonResponse: true,
      onsessioninitialized: (session) => void sessions.set(session, transport),
      onsessionclosed: (session) => void sessions.delete(session),
    });
    await createLakeServer().connect(transport as Parameters<McpServer['connect']>[0]);
    return transport.handleRequest(incoming, response);
  };
  const server = createServer((incoming, response) => void serve(incoming, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/mcp`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
