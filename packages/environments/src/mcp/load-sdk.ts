import type { Client } from '@modelcontextprotocol/sdk/client/index.js';
import type { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import type { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { ConfigError } from '@agentjet/core';

/** The parts of the SDK that a client needs. The SDK is an optional package of 29 MB, so it is loaded when the first session opens. */
export type McpSdk = {
  readonly Client: typeof Client;
  readonly StdioClientTransport: typeof StdioClientTransport;
  readonly StreamableHTTPClientTransport: typeof StreamableHTTPClientTransport;
};

/** Loads the SDK. Throws ConfigError `missing_package` if it is not installed. */
export async function loadSdk(): Promise<McpSdk> {
  try {
    const [client, stdio, http] = await Promise.all([
      import('@modelcontextprotocol/sdk/client/index.js'),
      import('@modelcontextprotocol/sdk/client/stdio.js'),
      import('@modelcontextprotocol/sdk/client/streamableHttp.js'),
    ]);
    return {
      Client: client.Client,
      StdioClientTransport: stdio.StdioClientTransport,
      StreamableHTTPClientTransport: http.StreamableHTTPClientTransport,
    };
  } catch (error) {
    throw new ConfigError(
      'missing_package',
      'Environments of the protocol mcp need the package @modelcontextprotocol/sdk, which is not installed. Run: npm install @modelcontextprotocol/sdk',
      { cause: error },
    );
  }
}
