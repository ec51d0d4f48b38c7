import { randomInt } from 'node:crypto';
import path from 'node:path';
import { ConfigError, toErrorMessage, type JsonObject, type ChatModel } from '@agentjet/core';
import { toListenError } from '@agentjet/core/servers';
import { serveModel } from '@agentjet/endpoint';
import { openTunedModel } from './answering-models.js';
import { openConversationLog } from './conversation-log.js';
import type { ToolSettings } from './template-kwargs.js';

export type ServeModelOptions = ToolSettings & {
  /** Default: 127.0.0.1. */
  readonly host?: string;
  /** Default: 8000. With 0, a free port is chosen. */
  readonly port?: number;
  /**
   * The key that requests must send. Default: a new random key. With null, requests need no key. This is allowed only
   * on the loopback address.
   */
  readonly apiKey?: string | null;
  /** The name of the model in the server's API. Default: the name of the folder. */
  readonly name?: string;
  /** The most tokens of prompt and answer together, at most what the model allows. Default: 8192. */
  readonly maxModelLen?: number;
  /** `warn` serves a model that needs more memory than is available. */
  readonly memoryCheck?: 'refuse' | 'warn';
  /** How the weights are stored: float32 (the default), float16 or int8, which an adapter (LoRA) does not allow. */
  readonly frozenWeights?: 'float32' | 'float16' | 'int8';
  /** The most tokens of an answer if its request sets no limit. Default: the rest of the context. */
  readonly maxTokens?: number;
  /** The seed for requests without a seed. Default: random. */
  readonly seed?: number;
  /** A folder that keeps the conversations and the feedback of users. Default: none are kept. */
  readonly conversations?: string;
  /** Variables of the chat template. Default: those of the run. */
  readonly chatTemplateKwargs?: JsonObject;
  /** Called with a line about each long operation, such as the download of the model. */
  readonly onNotice?: (message: string) => void;
  /** Aborting ends the download, or the wait for vLLM. */
  readonly signal?: AbortSignal;
};

export type ServedModel = {
  /** Ends in `/v1`. */
  readonly baseUrl: string;
  readonly apiKey: string | null;
  readonly model: string;
  /** Stops the server. Running calls fail. */
  close(): Promise<void>;
  /** Resolves with the reason if the model ends without `close`. No call is answered from then on. */
  readonly ended: Promise<string>;
};

/**
 * Starts an OpenAI- and Anthropic-compatible server of a trained model on the embedded engine. It records
 * calls only if `conversations` names a folder.
 * @param dir as for `openTunedModel`
 * @throws what `openTunedModel` throws; ConfigError `needs_key` without a key beyond the loopback, and `unwritable_folder`; AgentJetError
 * `cannot_listen`
 */
export async function serveTunedModel(dir: string, options: ServeModelOptions = {}): Promise<ServedModel> {
  const { host = '127.0.0.1', port = 8000, maxModelLen = 8192, seed = randomInt(2 ** 31), apiKey } = options;
  const { onNotice, signal, chatTemplateKwargs, tools, toolCalls, memoryCheck, frozenWeights } = options;
  refuseOpenHost(host, apiKey);
  const { conversations: folder } = options;
  const conversations = folder === undefined ? undefined : await openConversationLog(folder, { onNotice });
  const maxTokens = options.maxTokens ?? maxModelLen - 1;
  const tuned = await openTunedModel(dir, {
    maxModelLen,
    maxModelLenName: '--max-model-len',
    memoryCheckName: '--memory-check warn',
    ...(memoryCheck !== undefined && { memoryCheck }),
    ...(frozenWeights !== undefined && { frozenWeights }),
    maxTokens,
    seed,
    signal,
    ...(chatTemplateKwargs !== undefined && { chatTemplateKwargs }),
    ...(tools !== undefined && { tools }),
    ...(toolCalls !== undefined && { toolCalls }),
    ...(onNotice && { onNotice }),
  });
  const name = options.name ?? path.basename(path.resolve(dir));
  const model = tuned.selectModel<ChatModel>({ agentName: name }, (found) => ({ ...found, name }));
  try {
    const key = apiKey === undefined ? {} : { apiKey };
    const server = await serveModel(model, { hostname: host, port, conversations, ...key });
    const close = async (): Promise<void> => {
      await server.close();
      await tuned.close();
    };
    return { baseUrl: server.baseUrl, apiKey: server.apiKey, model: name, close, ended: untilGone(tuned.gone) };
  } catch (cause) {
    await tuned.close();
    throw toListenError(cause, `${host}:${port}`);
  }
}

/** Resolves with the reason of the signal. */
function untilGone(gone: AbortSignal | undefined): Promise<string> {
  return new Promise((resolve) => {
    const tell = (): void => resolve(toErrorMessage(gone?.reason));
    if (gone?.aborted === true) tell();
    else gone?.addEventListener('abort', tell, { once: true });
  });
}

/** Throws ConfigError `needs_key` if other machines can reach the address and there is no key. */
export function refuseOpenHost(host: string, apiKey: string | null | undefined): void {
  if (apiKey !== null || /^(127\.\d+\.\d+\.\d+|localhost|::1)$/.test(host)) return;
  throw new ConfigError(
    'needs_key',
    `A server at ${host} is open to other machines, so it needs a key. Leave out --no-key, or serve at 127.0.0.1.`,
  );
}
