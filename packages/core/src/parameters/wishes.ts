import { honoured } from './honoured-wishes.js';
import type { Wish } from './wish.js';

/**
 * This table lists what clients can ask for and how it is treated. Each row is one wish with its name in every API. A wish is
 * treated the same way in every API, so the treatment belongs to the wish. The endpoint and the adapters read this table, and
 * PARAMETERS.md of this package is printed from it.
 */

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
      gemini: ['generationConfig.thinkingConfig.thinkingBudget', 'generationConfig.thinkingConfig.thinkingLevel'],
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
    wish: 'sampling constrained by a schema or a grammar',
    note: 'output that does not match a schema is counted as malformed',
    names: {
      chat: ['tools[].function.strict', 'response_format.json_schema.strict', 'tools[].custom.format.type=grammar'],
      responses: ['tools[].strict', 'text.format.strict', 'tools[].format.type=grammar'],
      messages: ['tools[].strict'],
      langgraph: ['strict', 'response_format.json_schema.strict', 'tools[].function.strict'],
      aiSdk: ['tools[].strict'],
      agents: ['tools[].strict', 'handoffs[].strictJsonSchema', 'outputType.strict'],
      gemini: ['toolConfig.functionCallingConfig.mode=VALIDATED'],
    },
  },
  {
    wish: 'tools that a server would run',
    note: 'they are left out, so the model does not see them',
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
      gemini: [
        'tools[].googleSearch',
        'tools[].googleSearchRetrieval',
        'tools[].codeExecution',
        'tools[].urlContext',
        'tools[].googleMaps',
        'tools[].fileSearch',
        'tools[].computerUse',
        'tools[].enterpriseWebSearch',
        'tools[].retrieval',
        'tools[].mcpServers',
        'tools[].parallelAiSearch',
        'toolConfig.retrievalConfig',
        'toolConfig.includeServerSideToolInvocations',
      ],
    },
  },
  {
    wish: 'a context that the server edits',
    note: 'the agent sends the conversation that the model should see',
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
    wish: 'examples of the input of a tool',
    note: "write them into the tool's description",
    names: {
      messages: ['tools[].input_examples'],
      langgraph: ['tools[].input_examples'],
      aiSdk: ['tools[].inputExamples'],
    },
  },
  {
    wish: 'what a provider adds to a tool',
    names: {
      langgraph: ['tools[].extras'],
      agents: ['tools[].deferLoading'],
      gemini: [
        'tools[].functionDeclarations[].behavior',
        'tools[].functionDeclarations[].response',
        'tools[].functionDeclarations[].responseJsonSchema',
      ],
    },
  },
  {
    wish: 'retries',
    note: 'a repeated call would be a second sample',
    names: { langgraph: ['maxRetries'] },
  },
  {
    wish: 'filters of a provider',
    note: 'nothing filters the answers of this model',
    names: { messages: ['safeguards'], gemini: ['safetySettings', 'modelArmorConfig'] },
  },
  {
    wish: 'the arguments of a call in pieces, before the call is complete',
    note: 'a call is sent whole',
    names: { gemini: ['toolConfig.functionCallingConfig.streamFunctionCallArguments'] },
  },
  {
    wish: "settings of a provider's own models",
    names: {
      gemini: [
        'generationConfig.mediaResolution',
        'generationConfig.audioTimestamp',
        'generationConfig.enableEnhancedCivicAnswers',
        'generationConfig.enableAffectiveDialog',
        'generationConfig.routingConfig',
        'generationConfig.modelSelectionConfig',
        'generationConfig.translationConfig',
      ],
    },
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
      gemini: ['generationConfig.presencePenalty', 'generationConfig.frequencyPenalty'],
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
      gemini: ['generationConfig.logprobs'],
    },
  },
  {
    wish: 'several answers instead of one',
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
    neutral: [['text'], ['TEXT']],
    names: {
      chat: ['modalities', 'audio'],
      langgraph: ['modalities', 'audio'],
      gemini: ['generationConfig.responseModalities', 'generationConfig.speechConfig', 'generationConfig.imageConfig'],
    },
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
      gemini: ['cachedContent'],
    },
  },
  {
    wish: 'a limit on the number of calls',
    names: { responses: ['max_tool_calls'] },
  },
  {
    wish: 'functions in the format of 2023',
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
