import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { LakeWalk } from './lake-world.js';
import { walkOn } from './lake-world.js';

export type LakeServer = { readonly url: string; readonly close: () => Promise<void> };

type Request = {
  readonly instance_id: string;
  readonly messages: { readonly content?: string };
};

/** Serves the lake over the Python AgentJet's protocol. A task is identified by its id. */
export async function startAgentjetServer(mapOf: (taskId: string) => unknown): Promise<LakeServer> {
  const walks = new Map<string, LakeWalk>();
  const answers: Readonly<Record<string, (request: Request & { readonly task_id: string }) => unknown>> = {
    '/create': ({ instance_id: id, task_id: taskId }) => {
      const walk = walkOn({ metadata: { map: mapOf(taskId) } });
      walks.set(id, walk);
      return show(walk);
    },
    '/step': ({ instance_id: id, messages }) => {
      const walk = find(walks, id);
      walk.step(messages.content ?? '');
      return show(walk);
    },
    '/evaluate': ({ instance_id: id }) => find(walks, id).reward,
    '/release': ({ instance_id: id }) => walks.delete(id),
  };
  const serve = async (incoming: IncomingMessage, response: ServerResponse): Promise<void> => {
    const parts: Buffer[] = [];
    for await (const part of incoming) parts.push(part as Buffer);
    const answer = answers[incoming.url ?? ''];
    try {
      const data = answer?.(JSON.parse(Buffer.concat(parts).toString('utf8')));
      response.writeHead(answer === undefined ? 404 : 200, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ success: true, data }));
    } catch (error) {
      response.writeHead(400, { 'content-type': 'application/json' }).end(JSON.stringify({ detail: String(error) }));
    }
  };
  const server = createServer((incoming, response) => void serve(incoming, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function find(walks: ReadonlyMap<string, LakeWalk>, id: string): LakeWalk {
  const walk = walks.get(id);
  if (walk === undefined) throw new Error(`Instance ${id} not found!`);
  return walk;
}

function show({ text, reward, isDone }: LakeWalk): object {
  return { state: [{ role: 'user', content: text }], reward, is_terminated: isDone, info: {} };
}
