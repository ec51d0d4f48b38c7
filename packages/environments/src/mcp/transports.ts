import type { StdioServerParameters } from '@modelcontextprotocol/sdk/client/stdio.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import type { BoxTalk } from '@agentjet/sandbox/boxes';
import { checkedTransport, mostLineBytes } from './checked-transport.js';
import type { McpSdk } from './load-sdk.js';
import { talkTransport } from './talk-transport.js';

/** A program on this machine, a program that somebody else starts, or an address. `name` is for messages. */
export type McpServer =
  | {
      readonly name?: undefined;
      readonly command: string;
      readonly args: readonly string[];
      readonly env: Readonly<Record<string, string>>;
      readonly cwd: string | null;
    }
  | { readonly name: string; readonly start: () => BoxTalk }
  | {
      readonly name?: string;
      readonly url: string;
      readonly headers: Readonly<Record<string, string>>;
      /** Default: the process's `fetch`. */
      readonly fetch?: typeof fetch;
      /** True: HTTP with server-sent events, the transport before Streamable HTTP. */
      readonly isSse?: boolean;
    };

export function createTransport(
  sdk: McpSdk,
  server: McpServer,
  { fetch, onRefused }: { readonly fetch: typeof globalThis.fetch; readonly onRefused: (error: unknown) => void },
): Transport {
  if ('start' in server) return checkedTransport(talkTransport(sdk, server.start, onRefused), onRefused);
  if (!('url' in server)) return checkedTransport(new sdk.StdioClientTransport(startOf(server)), onRefused);
  const options = { requestInit: { headers: { ...server.headers } }, fetch };
  const Http = server.isSse === true ? sdk.SSEClientTransport : sdk.StreamableHTTPClientTransport;
  return new Http(new URL(server.url), options) as Transport; // its types conflict with exactOptionalPropertyTypes
}

const startOf = ({ command, args, env, cwd }: Extract<McpServer, { command: string }>): StdioServerParameters => ({
  command,
  args: [...args],
  env: { ...env },
  stderr: 'ignore',
  maxBufferSize: mostLineBytes,
  ...(cwd !== null && { cwd }),
});
