import type { Client } from '@modelcontextprotocol/sdk/client/index.js';
import type { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js';
import type { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import type { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { ReadBuffer, serializeMessage } from '@modelcontextprotocol/sdk/shared/stdio.js';
import { ConfigError } from '@agentjet/core';

/** The parts of the SDK that a client needs. The SDK is an optional package of 29 MB, so it is loaded when the first session opens. */
export type McpSdk = {
  readonly Client: typeof Client;
  readonly StdioClientTransport: typeof StdioClientTransport;
  readonly StreamableHTTPClientTransport: typeof StreamableHTTPClientTransport;
  readonly SSEClientTransport: typeof SSEClientTransport;
  readonly ReadBuffer: typeof ReadBuffer;
  readonly serializeMessage: typeof serializeMessage;
};

/** Loads the SDK. Throws ConfigError `missing_package` if it is not installed. */
export async function loadSdk(): Promise<McpSdk> {
  try {
    const [client, stdio, http, sse, lines] = await Promise.all([
      import('@modelcontextprotocol/sdk/client/index.js'),
      import('@modelcontextprotocol/sdk/client/stdio.js'),
      import('@modelcontextprotocol/sdk/client/streamableHttp.js'),
      import('@modelcontextprotocol/sdk/client/sse.js'),
      import('@modelcontextprotocol/sdk/shared/stdio.js'),
    ]);
    return {
      Client: client.Client,
      StdioClientTransport: stdio.StdioClientTransport,
      StreamableHTTPClientTransport: http.StreamableHTTPClientTransport,
      SSEClientTransport: sse.SSEClientTransport,
      ReadBuffer: lines.ReadBuffer,
      serializeMessage: lines.serializeMessage,
    };
  } catch (error) {
    throw new ConfigError(
      'missing_package',
      'Servers of the Model Context Protocol need the package @modelcontextprotocol/sdk, which is not installed. Run: npm install @modelcontextprotocol/sdk',
      { cause: error },
    );
  }
}
