import { BackboneError, textConfigOf, type JsonObject } from '@agentjet/core';

/**
 * The classes of transformers that the worker refuses, from test/bench/results/right-families.json. A token tree with
 * the chunked head does not compute the same as their own forward pass.
 */
export const refusedClasses: readonly string[] = [
  'AXK2ForCausalLM',
  'AriaTextForCausalLM',
  'BambaForCausalLM',
  'BartForCausalLM',
  'BertGenerationDecoder',
  'BertLMHeadModel',
  'BigBirdPegasusForCausalLM',
  'BlenderbotForCausalLM',
  'BlenderbotSmallForCausalLM',
  'BloomForCausalLM',
  'CTRLLMHeadModel',
  'CamembertForCausalLM',
  'CodeGenForCausalLM',
  'Data2VecTextForCausalLM',
  'DeepseekV32ForCausalLM',
  'DeepseekV4ForCausalLM',
  'DogeForCausalLM',
  'ElectraForCausalLM',
  'ErnieForCausalLM',
  'FalconForCausalLM',
  'FalconH1ForCausalLM',
  'FalconMambaForCausalLM',
  'GPT2LMHeadModel',
  'GPTBigCodeForCausalLM',
  'GPTJForCausalLM',
  'GPTNeoXJapaneseForCausalLM',
  'Gemma2ForCausalLM',
  'Gemma3ForConditionalGeneration',
  'Gemma4ForConditionalGeneration',
  'Gemma4UnifiedForConditionalGeneration',
  'GitForCausalLM',
  'GlmMoeDsaForCausalLM',
  'GotOcr2ForConditionalGeneration',
  'GptOssForCausalLM',
  'GraniteMoeHybridForCausalLM',
  'GraniteMoeSWAForCausalLM',
  'GraniteSWAForCausalLM',
  'HYV4ForCausalLM',
  'InklingForCausalLM',
  'JambaForCausalLM',
  'Llama4ForCausalLM',
  'MBartForCausalLM',
  'MambaForCausalLM',
  'MarianForCausalLM',
  'MiMoV2FlashForCausalLM',
  'MiniMaxForCausalLM',
  'MiniMaxM3VLForCausalLM',
  'ModernBertDecoderForCausalLM',
  'MptForCausalLM',
  'MvpForCausalLM',
  'NanoChatForCausalLM',
  'NemotronForCausalLM',
  'NemotronHForCausalLM',
  'OlmoHybridForCausalLM',
  'OlmoeForCausalLM',
  'OpenAIGPTLMHeadModel',
  'PLBartForCausalLM',
  'PegasusForCausalLM',
  'PersimmonForCausalLM',
  'PhiForCausalLM',
  'PhimoeForCausalLM',
  'ProphetNetForCausalLM',
  'Qwen3NextForCausalLM',
  'Qwen3_5ForCausalLM',
  'Qwen3_5MoeForCausalLM',
  'RecurrentGemmaForCausalLM',
  'RobertaForCausalLM',
  'RobertaPreLayerNormForCausalLM',
  'RwkvForCausalLM',
  'StableLmForCausalLM',
  'TrOCRForCausalLM',
  'VaultGemmaForCausalLM',
  'XGLMForCausalLM',
  'XLMRobertaForCausalLM',
  'XLMRobertaXLForCausalLM',
  'xLSTMForCausalLM',
];

const cappedKeys = ['final_logit_softcapping', 'attn_logit_softcapping', 'logits_soft_cap'];
const trainedLayers = ['full_attention', 'sliding_attention'];

/**
 * Throws BackboneError `unsupported_model` if config.json alone shows that the model is refused. The worker also
 * compares forward passes.
 */
export function refuseClass(json: JsonObject): void {
  const config = textConfigOf(json);
  const named = Array.isArray(json['architectures']) ? json['architectures'] : [];
  const refused = named.find((name) => typeof name === 'string' && refusedClasses.includes(name));
  if (refused !== undefined) throw unsupported(`names the class ${String(refused)}`);
  const cap = cappedKeys.find((key) => typeof config[key] === 'number');
  if (cap !== undefined) throw unsupported(`sets ${cap}`);
  const layers = Array.isArray(config['layer_types']) ? config['layer_types'] : [];
  const odd = layers.find((kind) => typeof kind === 'string' && !trainedLayers.includes(kind));
  if (odd !== undefined) throw unsupported(`has layers of type ${String(odd)}`);
}

function unsupported(what: string): BackboneError {
  return new BackboneError(
    'unsupported_model',
    `config.json ${what}, which the worker does not compute as the model's own code does. Choose another family, such as Qwen2, Qwen3, Llama or Mistral.`,
  );
}
