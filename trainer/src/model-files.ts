export { bfloat16ToFloat32, float16ToFloat32, float32ToFloat16 } from './model-files/half-precision.js';
export { copyCompanions, readModelFolder, type ModelFolder } from './model-files/model-folder.js';
export {
  badFile,
  overwriteTensor,
  readTensorInto,
  readTensorPieces,
  writeTensorsInPieces,
  type PlannedTensor,
  type TensorDtype,
  type TensorEntry,
} from './model-files/safetensors.js';
