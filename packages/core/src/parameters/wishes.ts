/**
 * What clients can ask for, and what becomes of it: one row for each wish, with its name in every API. A wish is treated
 * alike wherever it is made, so the treatment belongs to the wish and not to an API. The endpoint and the adapters read
 * this table, and PARAMETERS.md of this package is printed from it.
 */

export const protocolNames = {
  chat: 'Chat Completions',
  completions: 'Completions',
  responses: 'Responses',
  messages: 'Anthropic Messages',
  langgraph: 'LangChain call options',
  aiSdk: 'AI SDK',
  agents: 'OpenAI Agents SDK',
} as const;
export type Protocol = keyof typeof protocolNames;

/**
 * `honoured`: it has its effect, or is a label that asks nothing of the model. `reported`: accepted without effect, and
 * said once. `refused`: an error that names it, since the answer would not be what was asked for, and answers are trained.
 */
export type Treatment = 'honoured' | 'reported' | 'refused';

/**
 * `names` are top-level names, or paths: `text.verbosity`, `tools[].strict`, and `tools[].type=mcp|web_search` for entries
 * whose type begins with one of these. `neutral`: values of a refused parameter that change nothing, and are accepted.
 */
export type Wish = {
  readonly wish: string;
  readonly treatment: Treatment;
  readonly note?: string;
  readonly neutral?: readonly unknown[];
  /** Asks nothing of the model, so that any value is accepted. */
  readonly isLabel?: true;
  /** What it asks of the chat template: to think as much, not to think, or certain variables. */
  readonly asks?: 'thinking' | 'no_thinking' | 'variables';
  readonly names: Readonly<Partial<Record<Protocol, readonly string[]>>>;
};

const honoured: readonly Omit<Wish, 'treatment'>[] = [
  {
    wish: 'the model',
    note: 'any name is answered; `rollout.untrained_models` is matched against it',
    names: { chat: ['model'], completions: ['model'], responses: ['model'], messages: ['model'] },
  },
  {
    wish: 'the conversation',
    names: {
      chat: ['messages'],
      completions: ['prompt'],
      responses: ['input'],
      messages: ['messages'],
      aiSdk: ['prompt'],
      agents: ['input'],
    },
  },
  {
    wish: 'a system prompt',
    names: { responses: ['instructions'], messages: ['system'], agents: ['systemInstructions'] },
  },
  {
    wish: 'an earlier answer by its id',
    note: 'within one episode',
    names: { responses: ['previous_response_id', 'input[].item_reference'] },
  },
  {
    wish: 'tools that the agent runs',
    note: 'over HTTP also custom tools, which take text: to the model they are functions with one argument',
    names: {
      chat: ['tools'],
      responses: ['tools', 'input[].additional_tools'],
      messages: ['tools'],
      langgraph: ['tools'],
      aiSdk: ['tools'],
      agents: ['tools', 'handoffs'],
    },
  },
  {
    wish: 'a choice of tools',
    note: 'a forced call begins with its opening, as part of the prompt',
    names: {
      chat: ['tool_choice'],
      responses: ['tool_choice'],
      messages: ['tool_choice'],
      langgraph: ['tool_choice'],
      aiSdk: ['toolChoice'],
      agents: ['modelSettings.toolChoice'],
    },
  },
  {
    wish: 'one call at a time',
    names: {
      chat: ['parallel_tool_calls'],
      responses: ['parallel_tool_calls'],
      messages: ['tool_choice.disable_parallel_tool_use'],
      langgraph: ['parallel_tool_calls'],
      aiSdk: ['providerOptions.agentjet.parallelToolCalls'],
      agents: ['modelSettings.parallelToolCalls'],
    },
  },
  {
    wish: 'an answer in JSON',
    note: 'said in the system message; sampling is not constrained',
    names: {
      chat: ['response_format'],
      responses: ['text.format'],
      messages: ['output_config.format'],
      langgraph: ['response_format'],
      aiSdk: ['responseFormat'],
      agents: ['outputType'],
    },
  },
  {
    wish: 'a token limit',
    names: {
      chat: ['max_completion_tokens', 'max_tokens'],
      completions: ['max_tokens'],
      responses: ['max_output_tokens'],
      messages: ['max_tokens'],
      langgraph: ['maxTokens', 'max_tokens', 'maxCompletionTokens', 'max_completion_tokens', 'maxOutputTokens'],
      aiSdk: ['maxOutputTokens'],
      agents: ['modelSettings.maxTokens'],
    },
  },
  {
    wish: 'temperature, top_p, top_k and seed',
    names: {
      chat: ['temperature', 'top_p', 'top_k', 'seed'],
      completions: ['temperature', 'top_p', 'top_k', 'seed'],
      responses: ['temperature', 'top_p'],
      messages: ['temperature', 'top_p', 'top_k'],
      langgraph: ['temperature', 'topP', 'top_p', 'topK', 'top_k', 'seed'],
      aiSdk: ['temperature', 'topP', 'topK', 'seed'],
      agents: [
        'modelSettings.temperature',
        'modelSettings.topP',
        'modelSettings.providerData.topK',
        'modelSettings.providerData.seed',
      ],
    },
  },
  {
    wish: 'stop texts',
    names: {
      chat: ['stop'],
      completions: ['stop'],
      messages: ['stop_sequences'],
      langgraph: ['stop'],
      aiSdk: ['stopSequences'],
      agents: ['modelSettings.providerData.stop'],
    },
  },
  { wish: 'several answers', names: { chat: ['n'], langgraph: ['n'] } },
  {
    wish: 'the logprob of each token',
    note: 'native adapters give them always',
    names: { chat: ['logprobs'], responses: ['include=message.output_text.logprobs'], langgraph: ['logprobs'] },
  },
  {
    wish: 'a stream',
    names: {
      chat: ['stream', 'stream_options'],
      completions: ['stream', 'stream_options'],
      responses: ['stream', 'stream_options'],
      messages: ['stream'],
      aiSdk: ['includeRawChunks'],
    },
  },
  {
    wish: 'not to be trained',
    note: 'over HTTP the header `x-ajet-train: false`',
    names: {
      langgraph: ['train'],
      aiSdk: ['providerOptions.agentjet.train'],
      agents: ['modelSettings.providerData.train'],
    },
  },
  {
    wish: 'a retry to be recognised',
    note: 'over HTTP the header `idempotency-key`',
    names: {
      langgraph: ['requestId'],
      aiSdk: ['providerOptions.agentjet.requestId'],
      agents: ['modelSettings.providerData.requestId'],
    },
  },
  {
    wish: 'not to think',
    asks: 'no_thinking',
    note: 'by the switch of the chat template, such as `enable_thinking`; a template without one counts it, and the model thinks as it has learned to',
    names: {
      chat: ['reasoning_effort=none', 'reasoning.effort=none', 'thinking.type=disabled'],
      responses: ['reasoning.effort=none'],
      messages: ['thinking.type=disabled'],
      langgraph: ['reasoningEffort=none', 'reasoning_effort=none', 'reasoning.effort=none', 'thinking.type=disabled'],
      aiSdk: ['reasoning=none'],
      agents: ['modelSettings.reasoning.effort=none'],
    },
  },
  {
    wish: 'variables of the chat template',
    asks: 'variables',
    note: 'such as `enable_thinking`; they go before `model.chat_template_kwargs`, and one that the template does not read is counted',
    names: {
      chat: ['chat_template_kwargs'],
      responses: ['chat_template_kwargs'],
      messages: ['chat_template_kwargs'],
      langgraph: ['chat_template_kwargs'],
      aiSdk: ['providerOptions.agentjet.chatTemplateKwargs'],
      agents: ['modelSettings.providerData.chatTemplateKwargs'],
    },
  },
  {
    wish: 'labels and caching',
    isLabel: true,
    note: 'nothing that the model could see',
    names: {
      chat: [
        'user',
        'metadata',
        'store',
        'service_tier',
        'safety_identifier',
        'prompt_cache_key',
        'prompt_cache_retention',
        'prompt_cache_options',
      ],
      completions: ['user'],
      responses: [
        'user',
        'metadata',
        'client_metadata',
        'store',
        'service_tier',
        'safety_identifier',
        'prompt_cache_key',
        'prompt_cache_retention',
        'prompt_cache_options',
        'include',
      ],
      messages: ['metadata', 'service_tier', 'inference_geo', 'cache_control'],
      langgraph: ['user', 'store', 'service_tier', 'promptCacheKey', 'prompt_cache_key', 'cache_control'],
      agents: ['modelSettings.store', 'modelSettings.promptCacheRetention', 'modelSettings.promptCacheOptions'],
    },
  },
];

const reported: readonly Omit<Wish, 'treatment'>[] = [
  {
    wish: 'how much the model thinks',
    asks: 'thinking',
    note: 'a trained model thinks as it has learned to',
    names: {
      chat: ['reasoning_effort', 'reasoning', 'thinking'],
      responses: ['reasoning'],
      messages: ['thinking', 'output_config.effort'],
      langgraph: ['reasoning', 'reasoningEffort', 'reasoning_effort', 'thinking'],
      aiSdk: ['reasoning'],
      agents: ['modelSettings.reasoning'],
    },
  },
  {
    wish: 'how much the model writes',
    names: {
      chat: ['verbosity'],
      responses: ['text.verbosity'],
      langgraph: ['verbosity'],
      agents: ['modelSettings.text.verbosity'],
    },
  },
  {
    wish: 'constrained sampling of a schema or a grammar',
    note: 'what does not match a schema is counted as malformed',
    names: {
      chat: ['tools[].function.strict', 'response_format.json_schema.strict', 'tools[].custom.format.type=grammar'],
      responses: ['tools[].strict', 'text.format.strict', 'tools[].format.type=grammar'],
      messages: ['tools[].strict'],
      langgraph: ['strict', 'response_format.json_schema.strict', 'tools[].function.strict'],
      aiSdk: ['tools[].strict'],
      agents: ['tools[].strict', 'handoffs[].strictJsonSchema', 'outputType.strict'],
    },
  },
  {
    wish: 'tools that a server would run',
    note: 'they are left out, so the model does not know them',
    names: {
      chat: ['web_search_options'],
      responses: [
        'tools[].type=web_search|web_search_preview|file_search|code_interpreter|image_generation|mcp|tool_search',
      ],
      messages: ['tools[].type=web_search_|web_fetch_|code_execution_|tool_search_', 'mcp_servers', 'container'],
      langgraph: [
        'web_search_options',
        'tools[].type=web_search|web_fetch_|file_search|code_interpreter|code_execution_|image_generation|mcp|tool_search',
      ],
      aiSdk: ['tools[].type=provider'],
      agents: ['tools[].type=hosted_tool'],
    },
  },
  {
    wish: 'a context that the server edits',
    note: 'the agent sends the conversation that it wants to be seen',
    names: {
      responses: ['context_management'],
      messages: ['context_management'],
      agents: ['modelSettings.contextManagement'],
    },
  },
  {
    wish: 'citations',
    note: 'documents and search results are text to the model',
    names: { messages: ['messages[].content[].citations.enabled'] },
  },
  {
    wish: 'retries',
    note: 'a repeated call would be a second sample',
    names: { langgraph: ['maxRetries'] },
  },
  {
    wish: 'speed',
    names: { chat: ['prediction'], messages: ['speed'] },
  },
];

const refused: readonly Omit<Wish, 'treatment'>[] = [
  {
    wish: 'penalties',
    note: 'they change the distribution that is trained',
    neutral: [0],
    names: {
      chat: ['frequency_penalty', 'presence_penalty', 'min_p'],
      completions: ['frequency_penalty', 'presence_penalty', 'min_p'],
      langgraph: ['frequencyPenalty', 'frequency_penalty', 'presencePenalty', 'presence_penalty', 'minP', 'min_p'],
      aiSdk: ['frequencyPenalty', 'presencePenalty'],
      agents: ['modelSettings.frequencyPenalty', 'modelSettings.presencePenalty'],
    },
  },
  {
    wish: 'a repetition penalty',
    note: 'it changes the distribution that is trained',
    neutral: [1],
    names: {
      chat: ['repetition_penalty'],
      completions: ['repetition_penalty'],
      langgraph: ['repetitionPenalty', 'repetition_penalty'],
    },
  },
  {
    wish: 'biased tokens',
    note: 'they change the distribution that is trained',
    neutral: [{}],
    names: { chat: ['logit_bias'], completions: ['logit_bias'], langgraph: ['logitBias', 'logit_bias'] },
  },
  {
    wish: 'the likeliest other tokens',
    neutral: [0],
    names: {
      chat: ['top_logprobs'],
      completions: ['logprobs'],
      responses: ['top_logprobs'],
      langgraph: ['topLogprobs', 'top_logprobs'],
    },
  },
  {
    wish: 'several answers where there is one',
    neutral: [1],
    names: { completions: ['n', 'best_of'] },
  },
  {
    wish: 'text around the answer',
    neutral: ['', false],
    names: { completions: ['suffix', 'echo'] },
  },
  {
    wish: 'images and sound',
    neutral: [['text']],
    names: { chat: ['modalities', 'audio'], langgraph: ['modalities', 'audio'] },
  },
  {
    wish: 'a shortened conversation',
    note: 'shorten it in the agent',
    neutral: ['disabled'],
    names: { responses: ['truncation'], agents: ['modelSettings.truncation'] },
  },
  {
    wish: 'an answer that is fetched later',
    neutral: [false],
    names: { responses: ['background'] },
  },
  {
    wish: 'a conversation or a prompt that is kept on the server',
    note: 'send it with the request',
    names: {
      responses: ['conversation', 'prompt'],
      messages: ['thread'],
      agents: ['previousResponseId', 'conversationId', 'prompt'],
    },
  },
  {
    wish: 'a limit of calls',
    names: { responses: ['max_tool_calls'] },
  },
  {
    wish: 'functions in the form of 2023',
    note: 'use tools',
    names: { chat: ['functions', 'function_call'], langgraph: ['functions', 'function_call'] },
  },
  {
    wish: 'another chat template',
    note: 'the prompt would not be the one that is trained',
    names: {
      chat: ['chat_template'],
      langgraph: ['chat_template'],
    },
  },
];

export const wishes: readonly Wish[] = [
  ...honoured.map((row) => ({ ...row, treatment: 'honoured' as const })),
  ...reported.map((row) => ({ ...row, treatment: 'reported' as const })),
  ...refused.map((row) => ({ ...row, treatment: 'refused' as const })),
];
