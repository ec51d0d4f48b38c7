export type { InferenceSession, Tensor } from 'onnxruntime-node';
export { openSession, toTensor, type OnnxSessionOptions } from './session.js';
