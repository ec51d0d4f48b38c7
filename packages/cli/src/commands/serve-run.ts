import { AgentJetError, ConfigError, parseJsonObject, quoteForShell } from '@agentjet/core';
import { serveTunedModel, type ServedModel, type ServeModelOptions, serveWithVllm } from '@agentjet/models';
import { runInterruptibly, untilAborted } from '../interrupt.js';
import { createOutput } from '../output.js';
import type { ServeFlags } from '../program.js';
import { toChoice, toFlag, toWhole } from './read-flags.js';

/** `ajet serve` answers requests until a signal arrives. Returns the exit code. */
export async function serveRun(dir: string, flags: ServeFlags): Promise<number> {
  const output = createOutput(flags);
  return runInterruptibly(
    () => output.writeLine('Stopping.'),
    async (signal) => {
      const options = { ...toOptions(flags), onNotice: output.writeLine, signal };
      const served = await (isVllm(flags) ? serveWithVllm : serveTunedModel)(dir, options);
      for (const line of describe(dir, served)) output.writeLine(line);
      output.writeJson({ base_url: served.baseUrl, api_key: served.apiKey, model: served.model });
      const reason = await Promise.race([untilAborted(signal), served.ended]);
      await served.close();
      if (reason === undefined || signal.aborted) return 0;
      throw new AgentJetError('engine_lost', reason);
    },
  );
}

const isVllm = ({ engine = 'embedded' }: ServeFlags): boolean =>
  toChoice(engine, '--engine', ['embedded', 'vllm']) === 'vllm';

function toOptions(flags: ServeFlags): ServeModelOptions {
  const count = (name: 'port' | 'maxModelLen' | 'maxTokens' | 'seed', least: number, most: number): Counts => {
    const text = flags[name];
    return text === undefined ? {} : { [name]: toWhole(text, toFlag(name), { least, most }) };
  };
  const { maxModelLen: mostTokens = isVllm(flags) ? 2 ** 20 : 8192 } = count('maxModelLen', 2, 2 ** 20);
  const given = process.env['AJET_SERVE_KEY'];
  return {
    ...(flags.host === undefined ? {} : { host: flags.host }),
    ...(flags.name === undefined ? {} : { name: flags.name }),
    ...(flags.conversations === undefined ? {} : { conversations: flags.conversations }),
    ...toTemplateKwargs(flags),
    ...choose('tools', flags.tools, ['auto', 'system', 'refuse']),
    ...choose('memoryCheck', flags.memoryCheck, ['refuse', 'warn']),
    ...choose('frozenWeights', flags.frozenWeights, ['float32', 'float16', 'int8']),
    ...choose('toolCalls', flags.toolCalls, ['strict', 'lenient']),
    ...count('port', 0, 65_535),
    ...count('maxModelLen', 2, 2 ** 20),
    ...count('maxTokens', 1, mostTokens - 1),
    ...count('seed', 0, 2 ** 31 - 1),
    ...(flags.key === false ? { apiKey: null } : given === undefined || given === '' ? {} : { apiKey: given }),
  };
}

function toTemplateKwargs({ chatTemplateKwargs: text }: ServeFlags): Pick<ServeModelOptions, 'chatTemplateKwargs'> {
  if (text === undefined) return {};
  const chatTemplateKwargs = parseJsonObject(text);
  if (chatTemplateKwargs !== undefined) return { chatTemplateKwargs };
  throw new ConfigError(
    'wrong_type',
    `--chat-template-kwargs is ${JSON.stringify(text)}, not a JSON object such as {"enable_thinking": false}.`,
  );
}

function choose<Name extends string, const Value extends string>(
  name: Name,
  given: string | undefined,
  values: readonly Value[],
): Partial<Record<Name, Value>> {
  return given === undefined ? {} : ({ [name]: toChoice(given, toFlag(name), values) } as Record<Name, Value>);
}

type Counts = Partial<Record<'port' | 'maxModelLen' | 'maxTokens' | 'seed', number>>;

function describe(dir: string, { baseUrl, apiKey, model }: ServedModel): readonly string[] {
  const header = apiKey === null ? '' : ` -H ${quoteForShell(`authorization: Bearer ${apiKey}`)}`;
  const body = JSON.stringify({ model, max_tokens: 64, messages: [{ role: 'user', content: 'Hello' }] });
  return [
    `Serving ${dir} as ${JSON.stringify(model)}: ${baseUrl}`,
    apiKey === null ? 'no key: the server answers any client on this machine' : `key: ${apiKey}`,
    `curl ${baseUrl}/chat/completions${header} -H ${quoteForShell('content-type: application/json')} -d ${quoteForShell(body)}`,
    'Ctrl-C ends it.',
  ];
}
