import type { BoxNetwork, Box } from '@agentjet/sandbox/boxes';
import { dialFromBox, NoLanguage } from '@agentjet/sandbox/boxes';
import { EnvironmentError } from '@agentjet/core';
import type { Dial } from '../mcp/fetch-over.js';
import { createAllowProxy } from './allow-proxy.js';
import type { HarborNetwork } from './read-machine.js';
import { isLoopback } from './read-tool-servers.js';

/** The network of one phase of a task. */
export type PhaseNetwork = {
  /** The variables that programs need to use it. */
  readonly env: Readonly<Record<string, string>>;
  /** Rejects with SandboxError if the way to the allowed hosts breaks. */
  readonly broken: Promise<never>;
  /** Rejects with SandboxError if that way does not work, because programs then failed without a fault. */
  readonly check: () => Promise<void>;
  /** Connects as a program of the box could. */
  readonly dial: Dial;
  readonly close: () => void;
};

/** A box with a list of hosts has no network. Its only way out is a proxy. */
export const boxNetworkOf = (network: HarborNetwork): BoxNetwork => (network === 'public' ? 'public' : 'none');

/** A box, and the names of all boxes on its own network. */
type NamedBox = { readonly box: Box; readonly names: readonly string[] };

/** Gives a box the network of a phase, and those that share its network, too. */
export async function enterNetwork(
  { box, names }: NamedBox,
  network: HarborNetwork,
  taskName: string,
): Promise<PhaseNetwork> {
  await box.setNetwork(boxNetworkOf(network));
  const dialInside: Dial = (host, port) => dialFromBox(box, host, port);
  const check = async (): Promise<void> => undefined;
  if (typeof network === 'string')
    return { env: {}, broken: new Promise(() => undefined), check, dial: dialInside, close: () => undefined };
  const proxy = createAllowProxy(network);
  const port = await box.forward(proxy.accept).catch((error: unknown) => {
    throw error instanceof NoLanguage ? notEnforced(taskName, error) : error;
  });
  let isClosed = false;
  const broken = port.broken.catch((error: unknown) => {
    if (!isClosed) throw error;
    return new Promise<never>(() => undefined);
  });
  broken.catch(() => undefined);
  const close = (): void => {
    isClosed = true;
    port.close();
    proxy.close();
  };
  const dial: Dial = (host, to) =>
    isLoopback(host) || names.includes(host) ? dialInside(host, to) : proxy.dial(host, to);
  const env = proxyVariables(`http://127.0.0.1:${port.port}`, names);
  return { env, broken, check: port.check, dial, close };
}

/** Programs read these names in small or in capital letters. Node reads them only with NODE_USE_ENV_PROXY. */
function proxyVariables(proxy: string, names: readonly string[]): Readonly<Record<string, string>> {
  const direct = ['127.0.0.1', 'localhost', ...names].join(',');
  const variables = { http_proxy: proxy, https_proxy: proxy, all_proxy: proxy, no_proxy: direct };
  const capitals = Object.entries(variables).map(([name, value]) => [name.toUpperCase(), value] as const);
  return { ...variables, ...Object.fromEntries(capitals), NODE_USE_ENV_PROXY: '1' };
}

const notEnforced = (task: string, cause: unknown): EnvironmentError =>
  new EnvironmentError(
    'not_opened',
    `The network of task ${task} is an allowlist, which needs a proxy in its machine: the image has none of python3, node and perl. Add one of them to the image.`,
    { cause },
  );
