import { ConfigError, EnvironmentError } from '@agentjet/core';
import { WaitClock } from '@agentjet/rollout';
import type { EndpointRoute, OpenAIEndpoint } from '@agentjet/rollout/inputs';
import { NoLanguage, type Box, type ForwardedPort } from '@agentjet/sandbox/boxes';

/** The ways from programs in a box to their models. They need no network, and lead to this episode's endpoint only. */
export class ModelRoutes {
  /** Rejects with SandboxError if a way breaks, because a program would then fail without a fault. */
  readonly broken: Promise<never>;
  readonly #box: Box;
  readonly #taskName: string;
  readonly #open: { readonly port: ForwardedPort; readonly route: EndpointRoute }[] = [];
  readonly #clock = new WaitClock();
  #isClosed = false;
  #break: (error: unknown) => void = () => undefined;

  constructor(box: Box, taskName: string) {
    this.#box = box;
    this.#taskName = taskName;
    this.broken = new Promise((_resolve, reject) => (this.#break = reject));
    this.broken.catch(() => undefined);
  }

  /** Returns the endpoint with the address that programs in the box use. */
  async open(endpoint: OpenAIEndpoint): Promise<OpenAIEndpoint> {
    const route = endpoint.openRoute?.(this.#clock);
    if (route === undefined)
      throw new ConfigError(
        'no_endpoint',
        'session.connect() needs an endpoint that tuner.asOpenAIEndpoint() returned. This one has no openRoute.',
      );
    const port = await this.#box
      .forward((stream) => route.accept(stream))
      .catch((error: unknown) => {
        throw error instanceof NoLanguage ? notConnected(this.#taskName, error) : error;
      });
    port.broken.catch((error: unknown) => {
      if (!this.#isClosed) this.#break(error);
    });
    this.#open.push({ port, route });
    if (this.#isClosed) this.close();
    return { ...endpoint, baseUrl: `http://127.0.0.1:${port.port}/v1` };
  }

  /** Rejects with SandboxError if a way does not work. */
  async check(): Promise<void> {
    await Promise.all(this.#open.map(({ port }) => port.check()));
  }

  /** The time in which programs waited for their models. */
  waitedMs(): number {
    return this.#clock.read().waitedMs;
  }

  close(): void {
    this.#isClosed = true;
    for (const { port, route } of this.#open) {
      route.close();
      port.close();
    }
  }
}

const notConnected = (task: string, cause: unknown): EnvironmentError =>
  new EnvironmentError(
    'not_opened',
    `Programs in the image of task ${task} cannot reach their model: the image has none of python3, node and perl. Add one of them to the image.`,
    { cause },
  );
