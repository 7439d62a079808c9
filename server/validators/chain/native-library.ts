// Whether the native library is installed for this machine. npm installs at most the package of its own platform. The
// library itself is not loaded: it takes 0.4 GB.
import { createRequire } from 'node:module'

/** Smaller networks are fast enough in TypeScript, which takes 0.4 GB less when it is loaded. */
export const nativeValidatorsMin = 20_000

/** Measured: 3.8 GB for a million validators, 5.6 GB for 2.2 million. */
export const typescriptMemoryMb = (validators: number): number => Math.round(2_300 + validators * 0.0015)

const platforms = [
  'aarch64-apple-darwin',
  'aarch64-unknown-linux-gnu',
  'aarch64-unknown-linux-musl',
  'x86_64-apple-darwin',
  'x86_64-unknown-linux-gnu',
  'x86_64-unknown-linux-musl',
]

export function isNativeInstalled(): boolean {
  const { resolve } = createRequire(import.meta.url)
  return platforms.some((platform) => {
    try {
      return resolve(`@chainsafe/lodestar-z-${platform}`) !== ''
    } catch {
      return false
    }
  })
}
