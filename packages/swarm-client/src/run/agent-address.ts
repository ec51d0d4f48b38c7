import type { AgentIdentity } from '@agentjet/context-tracker';

/**
 * Where an agent's model is served. The server names the episode's path; the host is the one that the client itself reaches
 * the server at, which may be the near end of a tunnel. The agent is part of the address, and its target if that has
 * another name.
 */
export function agentAddress(
  { url, baseUrl }: { readonly url: string; readonly baseUrl: string },
  { agentName, targetTag }: AgentIdentity,
): string {
  const path = new URL(baseUrl, url).pathname.replace(/\/+$/, '');
  const target = targetTag === agentName ? '' : `~${encode(targetTag)}`;
  return `${url.replace(/\/+$/, '')}${path}/${encode(agentName)}${target}/v1`;
}

/** `~` divides agent and target, and encodeURIComponent leaves it as it is; a name of dots would be taken for a folder. */
function encode(name: string): string {
  const encoded = encodeURIComponent(name).replaceAll('~', '%7E');
  return /^\.+$/.test(encoded) ? encoded.replaceAll('.', '%2E') : encoded;
}
