import type { ChatMessage } from '@agentjet/core';
import { describe, expect, it } from 'vitest';
import { createChatTokenizer, fittingToolCalls } from '../index.js';
import { createChatTokenizerFiles, type TemplateFamily } from '../testing.js';

type Options = Omit<Parameters<typeof createChatTokenizer>[0], 'tokenizerJson' | 'tokenizerConfig'>;

function open(family: TemplateFamily, options: Options = {}) {
  const notices: string[] = [];
  const onNotice = (message: string): void => void notices.push(message);
  return { ...createChatTokenizer({ ...createChatTokenizerFiles(family), onNotice, ...options }), notices };
}

const question: ChatMessage = { role: 'user', content: 'Rain?' };
const system: ChatMessage = { role: 'system', content: 'Be brief.' };
const call: ChatMessage = {
  role: 'assistant',
  content: '',
  toolCalls: [{ id: 'call00001', name: 'get_weather', arguments: '{"city":  "Paris"}' }],
};
const result: ChatMessage = { role: 'tool', content: 'Yes.', toolCallId: 'call00001' };
const tools = [{ name: 'get_weather', parameters: { type: 'object', properties: { city: { type: 'string' } } } }];
const asked = { tools, addGenerationPrompt: true };
const written = '<tool_call>\n{"name": "get_weather", "arguments": {"city":  "Paris"}}\n</tool_call>';

/**
 * Templates that do not support all messages: one without a system role, as in Gemma 2, one that drops system messages,
 * one that prints tools but not calls, and that of Mistral.
 */
const others = {
  refusing: `{%- if messages[0].role == 'system' %}{{ raise_exception('no system role') }}{%- endif %}{%- for message in messages %}{%- if (message.role == 'user') != (loop.index0 % 2 == 0) %}{{ raise_exception('roles must alternate') }}{%- endif %}{{ '<|im_start|>' + message.role + '\\n' + message.content | trim + '<|im_end|>\\n' }}{%- endfor %}{%- if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{%- endif %}`,
  dropping: `{%- for message in messages if message.role != 'system' %}{{ '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>\\n' }}{%- endfor %}{%- if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{%- endif %}`,
  printingTools: `{%- for tool in tools or [] %}{{ tool | tojson }}{%- endfor %}{%- for message in messages %}{{ '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>\\n' }}{%- endfor %}{%- if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{%- endif %}`,
  mistral: `{%- for message in messages %}{%- if message.tool_calls %}{{ '[TOOL_CALLS] [' }}{%- for call in message.tool_calls %}{{ '{"name": "' + call.function.name + '", "arguments": ' + (call.function.arguments | tojson) + '}' }}{%- endfor %}{{ ']<|im_end|>' }}{%- elif message.role == 'user' %}{%- if tools %}{{ '[AVAILABLE_TOOLS]' + (tools | tojson) + '[/AVAILABLE_TOOLS]' }}{%- endif %}{{ '[INST]' + message.content + '[/INST]' }}{%- else %}{{ message.content }}{%- endif %}{%- endfor %}`,
};

describe('a template without a place for tools', () => {
  it('gets them in the system prompt, after its own text', () => {
    const { template } = open('plain');
    const prompt = template.render([question], asked);
    expect(prompt).toMatch(/^<\|im_start\|>system\nYou are a small model\.\n\n# Tools\n/);
    expect(prompt).toContain('"name": "get_weather"');
    expect(template.render([system, question], asked)).toMatch(/^<\|im_start\|>system\nBe brief\.\n\n# Tools\n/);
  });

  it('shows calls and results of the history, and results that follow each other as one message', () => {
    const prompt = open('plain').template.render([question, call, result, result], asked);
    expect(prompt).toContain(`<|im_start|>assistant\n${written}<|im_end|>\n`);
    const response = '<tool_response>\nYes.\n</tool_response>';
    expect(prompt).toContain(`<|im_start|>user\n${response}\n${response}<|im_end|>\n`);
  });

  it('shows calls and results in a request without tools too', () => {
    const prompt = open('plain').template.render([question, call, result], { addGenerationPrompt: true });
    expect(prompt).toContain(written);
    expect(prompt).not.toContain('# Tools');
  });

  it('prints what it printed before if there are no tools and no calls', () => {
    const messages = [system, question, { role: 'assistant', content: 'No.' }, question] as const;
    const before = open('plain', { tools: 'refuse' }).template;
    for (const conversation of [messages, messages.slice(1)])
      expect(open('plain').template.render(conversation, { addGenerationPrompt: true })).toBe(
        before.render(conversation, { addGenerationPrompt: true }),
      );
  });

  it('reads the calls of the model, and lets them be forced', () => {
    const { template } = open('plain');
    expect(template.parse(written, { tools }).toolCalls).toEqual([
      { name: 'get_weather', arguments: '{"city":  "Paris"}' },
    ]);
    expect(template.callOpening?.('get_weather')).toBe('<tool_call>\n{"name": "get_weather", "arguments":');
  });

  it('says so once, with the first request that has tools', () => {
    const { template, notices, withVariables } = open('plain');
    template.render([question], { addGenerationPrompt: true });
    expect(notices).toEqual([]);
    template.render([question], asked);
    template.render([question], asked);
    withVariables?.({ x: 1 }).template.render([question], asked);
    expect(notices).toEqual([expect.stringMatching(/does not support tools.*system prompt.*model\.tools=refuse/)]);
  });

  it('says nothing if the configuration chose it', () => {
    const { template, notices, changedTemplate } = open('plain', { tools: 'system' });
    template.render([question], asked);
    expect(notices).toEqual([]);
    expect(changedTemplate).toBe(open('plain').changedTemplate);
  });

  it('opens the template that it gave away as it was trained', () => {
    const first = open('plain');
    const again = open('plain', { chatTemplate: first.changedTemplate ?? '' });
    expect(again.template.render([question, call, result], asked)).toBe(
      first.template.render([question, call, result], asked),
    );
    expect(again.changedTemplate).toBeUndefined();
    expect(again.template.parse(written, { tools }).toolCalls).toHaveLength(1);
    expect(
      open('plain', { chatTemplate: first.changedTemplate ?? '', tools: 'system' }).changedTemplate,
    ).toBeUndefined();
    expect(again.notices).toEqual([]);
  });

  it('refuses tools, calls and results if the configuration says so, and nothing else', () => {
    const { template } = open('plain', { tools: 'refuse' });
    expect(() => template.render([question], asked)).toThrow(/does not support tools.*model\.tools=system/);
    expect(() => template.render([question, call], { addGenerationPrompt: true })).toThrow(
      /"model\.tools" is "refuse"/,
    );
    expect(template.render([question], { addGenerationPrompt: true })).toContain('Rain?');
    expect(template.callOpening?.('get_weather')).toBeUndefined();
  });

  it.each(['refusing', 'dropping'] as const)(
    'gets them before the first question if it is %s system messages',
    (kind) => {
      const { template, notices } = open('plain', { chatTemplate: others[kind] });
      const prompt = template.render([question, call, result], asked);
      expect(prompt).toMatch(/^<\|im_start\|>user\n# Tools\n[^]*<\/tool_call>\n\nRain\?<\|im_end\|>\n/);
      expect(prompt.match(/# Tools/g)).toHaveLength(1);
      expect(notices).toEqual([expect.stringContaining('first message of the user')]);
    },
  );

  it('counts as one if it prints the tools and leaves out the calls', () => {
    const { template, notices } = open('plain', { chatTemplate: others.printingTools });
    expect(template.render([question, call, result], asked)).toContain(written);
    expect(notices).toEqual([expect.stringContaining('does not support tool calls')]);
  });

  it('is left alone, and the notice says what is lost, if the configuration names another family', () => {
    const { template, notices, changedTemplate } = open('plain', { replyFormat: { toolCalls: 'llama3' } });
    template.render([question], asked);
    expect(changedTemplate).toBeUndefined();
    expect(notices).toEqual([expect.stringMatching(/"llama3", so the model does not see them/)]);
  });
});

describe('a template with a place for tools', () => {
  it.each(['chatml', 'qwen3', 'qwen3_coder', 'llama3'] as const)('is left as it is: %s', (family) => {
    for (const setting of ['auto', 'refuse'] as const) {
      const { template, notices, changedTemplate } = open(family, { tools: setting });
      expect(template.render([question], asked)).toContain('get_weather');
      expect([notices, changedTemplate]).toEqual([[], undefined]);
    }
  });

  it.each(['chatml', 'qwen3', 'qwen3_coder', 'llama3'] as const)(
    'has them in the system prompt all the same if the configuration says so: %s',
    (family) => {
      const { template } = open(family, { tools: 'system' });
      expect(template.render([question, call, result], asked)).toContain(written);
      expect(template.render([question, call, result], asked).match(/"name": "get_weather"/g)).toHaveLength(2);
      expect(template.parse(written, { tools }).toolCalls).toHaveLength(1);
      expect(template.callOpening?.()).toContain('<tool_call>\n{"name":');
    },
  );

  it('and a family that does not read the calls of the system prompt is a contradiction', () => {
    expect(() => open('chatml', { tools: 'system', replyFormat: { toolCalls: 'llama3' } })).toThrow(
      /"model\.tools" is "system".*"llama3"\. Remove one of the two/,
    );
  });
});

describe('calls in a form that no family reads', () => {
  const { template, notices } = open('plain', { chatTemplate: others.mistral });

  it('are counted', () => {
    const reply = template.parse('[TOOL_CALLS][{"name": "get_weather", "arguments": {}}]', { tools });
    expect(reply).toMatchObject({ toolCalls: [], malformedToolCalls: 1 });
    expect(template.parse('It rains.', { tools }).malformedToolCalls).toBe(0);
  });

  it('are reported once', () => {
    template.render([question], asked);
    template.render([question], asked);
    expect(notices).toEqual([
      expect.stringMatching(/no registered template family can parse \(\[TOOL_CALLS\].*model\.tools=system/),
    ]);
  });
});

describe('calls without their tags', () => {
  const bare = '{"name": "get_weather", "arguments": {}}';
  const sampled = { tools, isSampled: true };

  it('are reported once if there are no others, and the notice names the setting', () => {
    const { template, notices, countCallForms } = open('chatml');
    for (let at = 0; at < 5; at++) template.parse(bare, sampled);
    expect(notices).toEqual([expect.stringMatching(/bare JSON.*model\.tool_calls=lenient/)]);
    expect(countCallForms?.()).toEqual({ tagged: 0, untagged: 5 });
  });

  it('are not reported if some have tags, if they are read, or if nothing was sampled', () => {
    const mixed = open('chatml');
    for (const text of [written, bare, bare, bare]) mixed.template.parse(text, sampled);
    const lenient = open('chatml', { toolCalls: 'lenient' });
    for (const text of [bare, bare, bare]) lenient.template.parse(text, sampled);
    const compared = open('chatml');
    for (const text of [bare, bare, bare]) compared.template.parse(text, { tools });
    expect([mixed, lenient, compared].map(({ notices }) => notices)).toEqual([[], [], []]);
    expect(lenient.countCallForms?.()).toEqual({ tagged: 0, untagged: 3 });
  });

  it('make lenient reading the one that fits, if most calls are so', () => {
    expect(fittingToolCalls({ tagged: 6, untagged: 18 })).toBe('lenient');
    expect(fittingToolCalls({ tagged: 18, untagged: 6 })).toBe('strict');
    expect(fittingToolCalls({ tagged: 0, untagged: 0 })).toBe('strict');
  });
});
