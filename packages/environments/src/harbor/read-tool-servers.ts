import type { ToolServer } from '@agentjet/rollout/inputs';
import { createHostFilter } from './allowed-hosts.js';
import type { HarborNetwork } from './read-machine.js';
import type { Refuse } from './refuse.js';
import type { HarborStep } from './read-steps.js';
import type { ToolServerToml } from './task-schema.js';
import { hasBadTemplate, listEmbedded, missingEmbedded, resolveEmbedded } from './variables.js';

/**
 * The servers of the Model Context Protocol that a task gives its agent. Values of headers may name variables of this
 * process, and are filled in when a session opens.
 */

/** Checks the servers. A later one replaces an earlier one of the same name. */
export function readToolServers(servers: readonly ToolServerToml[], refuse: Refuse): readonly ToolServer[] {
  const byName = new Map(servers.map((server) => [server.name, readServer(server, refuse)]));
  return [...byName.values()];
}

function readServer({ name, transport, url, command, args, headers }: ToolServerToml, refuse: Refuse): ToolServer {
  const wrong = (what: string): never => refuse(`mcp_servers ${JSON.stringify(name)} ${what}`);
  if (transport === 'stdio') {
    if (!command) return wrong('has the transport "stdio" and no command.');
    if (Object.keys(headers).length > 0) return wrong('has headers, which only servers with a url have.');
    return { name, transport, command, args };
  }
  const parsed = url ? URL.parse(url) : null;
  if (url === null || url === undefined || parsed === null || !/^https?:$/.test(parsed.protocol))
    return wrong(`has the transport "${transport}" and the url ${JSON.stringify(url ?? null)}. Give an http address.`);
  for (const [header, value] of Object.entries(headers)) checkHeader(header, value, wrong);
  return { name, transport, url, headers };
}

function checkHeader(header: string, value: string, wrong: Refuse): void {
  if (!/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(header)) wrong(`has the header ${JSON.stringify(header)}.`);
  if (/[\r\n]/.test(value)) wrong(`has the header ${header} with more than one line.`);
  if (hasBadTemplate(value))
    wrong(`has the header ${header} with a variable that is no ` + '${NAME} or ${NAME:-instead}.');
  if (isLiteral(header, value))
    wrong(`has the header ${header} with a credential. Name a variable instead, such as "Bearer ` + '${TOKEN}".');
  for (const missing of missingEmbedded(value))
    wrong(`needs the environment variable ${missing} for the header ${header}, which is not set.`);
}

const secretName = /KEY|SECRET|TOKEN(?!S)|PASSWORD|CREDENTIAL|AUTH/i;
const secretHeader = (name: string): boolean => secretName.test(name) || /^(set-)?cookie$/i.test(name);

/** A credential is a variable, perhaps after a scheme such as `Bearer`, or several with separators. */
const onlyVariables = /^\s*(?:[A-Za-z]+\s+)?(?:\$\{\w+(?::-)?\}[\s:-]*)+$/;

/** Returns whether a header has a credential itself, which files of tasks must not. */
function isLiteral(header: string, value: string): boolean {
  const isSecret = secretHeader(header);
  if (listEmbedded(value).some(({ name, instead }) => instead !== '' && (isSecret || secretName.test(name))))
    return true;
  return isSecret && value.trim() !== '' && !onlyVariables.test(value);
}

/** Fills in the variables of headers. */
export function resolveToolServer(server: ToolServer): ToolServer {
  if (server.transport === 'stdio') return server;
  const headers = Object.entries(server.headers).map(([name, value]) => [name, resolveEmbedded(value)]);
  return { ...server, headers: Object.fromEntries(headers) };
}

/** Returns whether an address is that of the machine of the task. */
export const isLoopback = (host: string): boolean => /^(localhost|127\.\d+\.\d+\.\d+|\[?::1\]?)$/i.test(host);

type ReachPlace = {
  readonly steps: readonly Pick<HarborStep, 'agent'>[];
  /** The names of the machines of the task. */
  readonly names: readonly string[];
  readonly refuse: Refuse;
};

/** Refuses servers that the agent cannot reach, because its network leads elsewhere. */
export function checkReachable(servers: readonly ToolServer[], { steps, names, refuse }: ReachPlace): void {
  for (const server of servers) {
    if (server.transport === 'stdio') continue;
    const host = new URL(server.url).hostname;
    if (names.includes(host)) continue;
    if (steps.every(({ agent }) => isReachable(host, agent.network))) continue;
    refuse(
      `mcp_servers ${JSON.stringify(server.name)} listens at ${host}, which the agent's network does not reach. Add it to agent.allowed_hosts.`,
    );
  }
}

function isReachable(host: string, network: HarborNetwork): boolean {
  if (isLoopback(host) || network === 'public') return true;
  return network !== 'none' && createHostFilter(network)(host);
}
