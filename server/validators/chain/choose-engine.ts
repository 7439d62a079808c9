// Chooses the library that computes the states of a network.
import { totalmem } from 'node:os'
import type { BeaconConfig } from '@lodestar/config'
import type { Engine } from './engine.ts'
import type { ChainStart, EngineName } from './messages.ts'
import { canBeNative, openNativeEngine } from './native-engine.ts'
import { nativeValidatorsMin, typescriptMemoryMb } from './native-library.ts'
import { openTypescriptEngine } from './typescript-engine.ts'

/** Each engine is opened once, because the decoded keys of validators belong to it. */
export class Engines {
  readonly #config: BeaconConfig
  readonly #choice: ChainStart['engine']
  readonly #opened = new Map<EngineName, Engine>()

  constructor(config: BeaconConfig, choice: ChainStart['engine']) {
    this.#config = config
    this.#choice = choice
  }

  /** `slot` and `validators`: of the state that is loaded. */
  async open(slot: number, validators: number): Promise<Engine> {
    if (this.#choice === 'auto' && validators < nativeValidatorsMin) return this.#typescript()
    if (this.#choice === 'typescript') return this.#typescript()
    if (!canBeNative(this.#config, slot)) {
      if (this.#choice === 'native') throw new Error(`the native library does not know the network at slot ${slot}`)
      throw new Error(refusal(`the native library does not know its rules at slot ${slot}`, validators))
    }
    const opened =
      this.#opened.get('native') ?? (await openNativeEngine(this.#config).catch(describeMissing(validators)))
    this.#opened.set('native', opened)
    return opened
  }

  #typescript(): Engine {
    return this.#opened.getOrInsertComputed('typescript', () => openTypescriptEngine(this.#config))
  }
}

const describeMissing =
  (validators: number) =>
  (error: Error): never => {
    throw new Error(refusal(`the native library cannot be loaded (${error.message})`, validators))
  }

const refusal = (why: string, validators: number): string =>
  `the network has ${validators} validators, and ${why}. In TypeScript, its states take about ` +
  `${typescriptMemoryMb(validators)} MB of memory (this machine has ${Math.round(totalmem() / 2 ** 20)} MB) and five times ` +
  'the time. To compute them in TypeScript all the same, set `engine: typescript` for the network in validators.networks'
