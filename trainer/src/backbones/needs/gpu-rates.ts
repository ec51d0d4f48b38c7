/** The speed of GPUs in bfloat16. A rough estimate of the time of a training step uses it. */

/**
 * Dense bfloat16 operations a second from the makers' data sheets, by the name that the driver reports. A longer name
 * comes before a name that it contains. https://www.nvidia.com/en-us/data-center/
 */
const publishedPeaks: readonly (readonly [RegExp, number])[] = [
  [/\bB300\b|\bB200\b|\bGB[23]00\b/, 2250e12],
  [/\bH20\b/, 148e12],
  [/\bH100 NVL\b/, 835e12],
  [/\bH100 PCIe\b/, 756e12],
  [/\b(H100|H200|H800|GH200)\b/, 989e12],
  [/\b(A100|A800)\b/, 312e12],
  [/\bL40S\b/, 362e12],
  [/\bL40\b/, 181e12],
  [/\bL4\b/, 121e12],
  [/\bA40\b/, 150e12],
  [/\bA10G\b/, 70e12],
  [/\bA10\b/, 125e12],
  [/\bA6000\b/, 155e12],
  [/\bRTX 5090\b/, 209e12],
  [/\bRTX 4090\b/, 165e12],
  [/\bRTX 3090\b/, 71e12],
];

/** Returns the peak operations a second of one GPU, or undefined if the GPU is not in the table. */
export function publishedPeak(name: string): number | undefined {
  return publishedPeaks.find(([pattern]) => pattern.test(name))?.[1];
}
