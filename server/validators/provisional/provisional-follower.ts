// Keeps the provisional epochs of one network up to date, in the memory of the process that ingests it. They are lost
// at a restart and computed again. A failure does not stop ingest: finalized epochs are served without them.
import type { Network } from '#api/wire/validators.ts'
import { hasWatchList } from '#runtime/settings/validators.ts'
import type { ValidatorsContext } from '../context.ts'
import { coveredEpochs } from '../duties/coverage.ts'
import { readScores } from '../duties/score-history.ts'
import type { HeadProcessor } from './head-processor.ts'

/** Without a watch list, larger networks have no provisional epochs: their figures would take too much memory. */
export const unwatchedValidatorsMax = 20_000

type FollowerContext = Pick<ValidatorsContext, 'state' | 'duties' | 'settings' | 'log' | 'validators'>

export class ProvisionalFollower {
  readonly #context: FollowerContext
  readonly #network: Network
  readonly #processor: HeadProcessor
  /** What was logged last, so that it is logged once. */
  #problem: string | undefined

  constructor(context: FollowerContext, network: Network, processor: HeadProcessor) {
    this.#context = context
    this.#network = network
    this.#processor = processor
  }

  /** Call this after finalized epochs have been stored. */
  async update(signal: AbortSignal): Promise<void> {
    const { duties, settings, validators } = this.#context
    if (!settings.validators.networks[this.#network].showProvisional) return
    const next = (await coveredEpochs(duties, this.#network)).at(-1)?.until
    if (next === undefined) return
    if (await this.#isTooLarge()) {
      const limit = `the network has more than ${unwatchedValidatorsMax} validators`
      return this.#fail(`${limit}; set validators.networks.${this.#network}.watch`)
    }
    try {
      const scores = await readScores(duties, this.#network)
      validators.provisional.set(this.#network, await this.#processor.process({ next, scores }, signal))
      this.#problem = undefined
    } catch (error) {
      signal.throwIfAborted()
      this.#fail(error instanceof Error ? error.message : String(error))
    }
  }

  clear(): void {
    this.#context.validators.provisional.delete(this.#network)
  }

  #fail(reason: string): void {
    this.clear()
    if (reason !== this.#problem)
      this.#context.log.warn({ network: this.#network, reason }, 'epochs that are not final cannot be shown')
    this.#problem = reason
  }

  async #isTooLarge(): Promise<boolean> {
    const { state, settings } = this.#context
    if (hasWatchList(settings.validators.networks[this.#network])) return false
    const sql = 'select max(validator_index) as last from validators where network = ?'
    const row = await state.get<{ last: number | null }>(sql, this.#network)
    return (row?.last ?? 0) >= unwatchedValidatorsMax
  }
}
