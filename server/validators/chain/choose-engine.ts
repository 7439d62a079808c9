// Chooses the library that computes the states of a network.
import type { BeaconConfig } from '@lodestar/config'
import { ACTIVE_PRESET, PresetName } from '@lodestar/params'
import type { Engine } from './engine.ts'
import type { ChainStart } from './messages.ts'
import { openNativeEngine } from './native-engine.ts'
import { openTypescriptEngine } from './typescript-engine.ts'

/** Smaller networks are fast enough in TypeScript, which takes 0.4 GB less when it is loaded. */
const nativeValidatorsMin = 20_000
/** The newest fork that the native library knows. */
const nativeForkMax = 'fulu'

/** `slot` and `validators`: of the state that is loaded. */
export async function openEngine(
  choice: ChainStart['engine'],
  config: BeaconConfig,
  { slot, validators }: { readonly slot: number; readonly validators: number },
): Promise<Engine> {
  if (choice === 'typescript') return openTypescriptEngine(config)
  const isSuitable = canBeNative(config, slot) && validators >= nativeValidatorsMin
  if (choice === 'auto' && !isSuitable) return openTypescriptEngine(config)
  try {
    return await openNativeEngine(config)
  } catch (error) {
    if (choice === 'native') throw error
    return openTypescriptEngine(config)
  }
}

/** Whether the native library has the rules for a slot. */
export const canBeNative = (config: BeaconConfig, slot: number): boolean =>
  ACTIVE_PRESET === PresetName.mainnet && config.getForkSeq(slot) <= config.forks[nativeForkMax].seq
