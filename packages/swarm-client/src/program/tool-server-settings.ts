import type { ToolServer } from '@agentjet/rollout/inputs';

/** How coding agents learn of the tool servers of their environment. */
export type ToolServerSettings = {
  /** The values of headers, so that no file has them, and all servers as JSON for any other program. */
  readonly variables: Readonly<Record<string, string>>;
  /** The whole `.claude.json` of Claude Code. */
  readonly claude: string;
  /** Tables for the `config.toml` of Codex. */
  readonly codex: string;
  /** The part `mcp` of the configuration of OpenCode, which is a variable and may have values of headers. */
  readonly openCode: Readonly<Record<string, object>>;
};

/** Returns undefined if there are no servers. */
export function toolServerSettings(servers: readonly ToolServer[]): ToolServerSettings | undefined {
  if (servers.length === 0) return undefined;
  const named = servers.map((server, index) => ({ server, headers: headerVariables(server, index) }));
  const claude = named.map(({ server, headers }) => [server.name, claudeServer(server, headers)] as const);
  return {
    variables: {
      AJET_TOOL_SERVERS: JSON.stringify(servers),
      // Claude Code would begin before its servers have answered, and let the model search for tools.
      MCP_CONNECTION_NONBLOCKING: '0',
      ENABLE_TOOL_SEARCH: 'false',
      ...Object.fromEntries(named.flatMap(({ headers }) => headers.map(({ variable, value }) => [variable, value]))),
    },
    claude: JSON.stringify({ mcpServers: Object.fromEntries(claude) }),
    codex: named.map(({ server, headers }) => codexServer(server, headers)).join(''),
    openCode: Object.fromEntries(servers.map((server) => [server.name, openCodeServer(server)])),
  };
}

type HeaderVariable = { readonly header: string; readonly variable: string; readonly value: string };

function headerVariables(server: ToolServer, index: number): readonly HeaderVariable[] {
  if (server.transport === 'stdio') return [];
  return Object.entries(server.headers).map(([header, value], at) => ({
    header,
    variable: `AJET_TOOL_SERVER_${index}_HEADER_${at}`,
    value,
  }));
}

function claudeServer(server: ToolServer, headers: readonly HeaderVariable[]): object {
  if (server.transport === 'stdio') return { type: 'stdio', command: server.command, args: server.args };
  const type = server.transport === 'sse' ? 'sse' : 'http';
  const named = Object.fromEntries(headers.map(({ header, variable }) => [header, `\${${variable}}`]));
  return { type, url: server.url, ...(headers.length > 0 && { headers: named }) };
}

/** JSON strings are TOML strings, too. */
const toml = (value: unknown): string => JSON.stringify(value);

function codexServer(server: ToolServer, headers: readonly HeaderVariable[]): string {
  const lines = [`[mcp_servers.${toml(server.name)}]`];
  if (server.transport === 'stdio') lines.push(`command = ${toml(server.command)}`, `args = ${toml(server.args)}`);
  else lines.push(`url = ${toml(server.url)}`);
  const named = headers.map(({ header, variable }) => `${toml(header)} = ${toml(variable)}`);
  if (named.length > 0) lines.push(`env_http_headers = { ${named.join(', ')} }`);
  return `${lines.join('\n')}\n`;
}

function openCodeServer(server: ToolServer): object {
  if (server.transport === 'stdio') return { type: 'local', command: [server.command, ...server.args] };
  return { type: 'remote', url: server.url, oauth: false, headers: server.headers };
}
