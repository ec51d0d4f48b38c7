import type { ChildProcessWithoutNullStreams as Spawned } from 'node:child_process';
import { Readable, Writable } from 'node:stream';
import {
  client,
  type ClientContext,
  methods,
  ndJsonStream,
  PROTOCOL_VERSION,
  type PromptRequest,
  type RequestPermissionRequest,
  type RequestPermissionResponse,
  type SessionUpdate,
} from '@agentclientprotocol/sdk';

/** One turn of an agent that speaks the Agent Client Protocol. */
export type AcpTurn = {
  /** Why the turn ended: `end_turn`, `max_tokens`, `max_turn_requests`, `refusal` or `cancelled`. */
  readonly stopReason: string;
  /** What the agent said after its last tool call. */
  readonly answer: string;
  readonly numToolCalls: number;
};

/**
 * Opens a session in `cwd`, sends the query as its only prompt, and returns the turn. The agent reads and writes files
 * itself. Each of its requests for permission is granted once.
 */
export async function askAcpAgent(
  { stdin, stdout }: Pick<Spawned, 'stdin' | 'stdout'>,
  { cwd, query }: { readonly cwd: string; readonly query: string },
): Promise<AcpTurn> {
  const heard = new Heard();
  const app = client({ name: 'ajet' })
    .onRequest(methods.client.session.requestPermission, ({ params }) => grant(params))
    .onNotification(methods.client.session.update, ({ params }) => heard.add(params.update));
  const stream = ndJsonStream(Writable.toWeb(stdin), Readable.toWeb(stdout) as ReadableStream<Uint8Array>);
  return await app.connectWith(stream, async (agent) => {
    const sessionId = await openSession(agent, cwd);
    const turn: PromptRequest = { sessionId, prompt: [{ type: 'text', text: query }] };
    const { stopReason } = await agent.request(methods.agent.session.prompt, turn);
    return { stopReason, answer: heard.answer, numToolCalls: heard.numToolCalls };
  });
}

async function openSession(agent: ClientContext, cwd: string): Promise<string> {
  const { protocolVersion } = await agent.request(methods.agent.initialize, {
    protocolVersion: PROTOCOL_VERSION,
    clientCapabilities: {},
  });
  if (protocolVersion !== PROTOCOL_VERSION)
    throw new Error(
      `The agent speaks version ${protocolVersion} of the Agent Client Protocol, and this client version ${PROTOCOL_VERSION}. Install another version of the agent.`,
    );
  const { sessionId } = await agent.request(methods.agent.session.new, { cwd, mcpServers: [], _meta: meta });
  return sessionId;
}

/** Claude's agent offers to skip all permissions, and Claude Code then refuses to run as root, as in many containers. */
const meta = { claudeCode: { options: { allowDangerouslySkipPermissions: false } } };

function grant({ options }: RequestPermissionRequest): RequestPermissionResponse {
  const granted = ['allow_once', 'allow_always']
    .map((kind) => options.find((option) => option.kind === kind))
    .find((option) => option !== undefined);
  if (granted === undefined) return { outcome: { outcome: 'cancelled' } };
  return { outcome: { outcome: 'selected', optionId: granted.optionId } };
}

class Heard {
  #pieces: string[] = [];
  numToolCalls = 0;

  add(update: SessionUpdate): void {
    if (update.sessionUpdate === 'agent_message_chunk' && update.content.type === 'text')
      this.#pieces.push(update.content.text);
    if (update.sessionUpdate !== 'tool_call') return;
    this.#pieces = [];
    this.numToolCalls++;
  }

  get answer(): string {
    return this.#pieces.join('');
  }
}
