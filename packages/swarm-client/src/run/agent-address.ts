import type { AgentIdentity } from '@agentjet/context-tracker';

/**
 * Returns the address of an agent's model. The server sets the episode's path. The host is the one at which the client
 * itself reaches the server, which may be the near end of a tunnel. The address includes the agent, and its target if
 * that has another name.
 */
export function agentAddress(
  { url, baseUrl }: { readonly url: string; readonly baseUrl: string },
  { agentName, targetTag }: AgentIdentity,
): string {
  const path = new URL(baseUrl, url).pathname.replace(/\/+$/, '');
  const target = targetTag === agentName ? '' : `~${encode(targetTag)}`;
  return `${url.replace(/\/+$/, '')}${path}/${encode(agentName)}${target}/v1`;
}

/**
 * Encodes a name for a path. `~` is encoded too, because it separates agent and target. So is a name of dots, which
 * would be read as a folder.
 */
function encode(name: string): string {
  const encoded = encodeURIComponent(name).replaceAll('~', '%7E');
  return /^\.+$/.test(encoded) ? encoded.replaceAll('.', '%2E') : encoded;
}
