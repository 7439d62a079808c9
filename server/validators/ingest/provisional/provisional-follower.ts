// Keeps the provisional epochs of one network up to date, in the memory of the process that ingests it. They are lost
// at a restart and computed again. A failure does not stop ingest: finalized epochs are served without them.
import type { Network } from '#api/contract/wire/validators.ts'
import { errorMessage } from '#core/error-message.ts'
import { hasWatchList, networkSettings } from '#runtime/settings/validators.ts'
import type { ValidatorsContext } from '../../context.ts'
import { coveredEpochs } from '../../duties/coverage.ts'
import type { HeadProcessor } from './head-processor.ts'

/** Without a watch list, larger networks have no provisional epochs: their figures would take too much memory. */
export const unwatchedValidatorsMax = 20_000

type FollowerContext = Pick<ValidatorsContext, 'ingest' | 'duties' | 'settings' | 'log' | 'validators'>

export function createProvisionalFollower(context: FollowerContext, network: Network, processor: HeadProcessor) {
  const { ingest, duties, settings, log, validators } = context
  const ownSettings = networkSettings(settings, network)
  /** What was logged last, so that it is logged once. */
  let problem: string | undefined

  const clear = () => void validators.provisional.delete(network)

  function fail(reason: string): void {
    clear()
    if (reason !== problem) log.warn({ network, reason }, 'epochs that are not final cannot be shown')
    problem = reason
  }

  async function isTooLarge(): Promise<boolean> {
    if (hasWatchList(ownSettings)) return false
    const sql = 'select max(validator_index) as last from validators where network = ?'
    const row = await ingest.get<{ last: number | null }>(sql, network)
    return (row?.last ?? 0) >= unwatchedValidatorsMax
  }

  return {
    /** Call this after finalized epochs have been stored. */
    async update(signal: AbortSignal): Promise<void> {
      if (!ownSettings.showProvisional) return
      const next = (await coveredEpochs(duties, network)).at(-1)?.until
      if (next === undefined) return
      if (await isTooLarge()) {
        const limit = `the network has more than ${unwatchedValidatorsMax} validators`
        return fail(`${limit}; set validators.networks.${network}.watch`)
      }
      try {
        validators.provisional.set(network, await processor.process({ next }, signal))
        problem = undefined
      } catch (error) {
        signal.throwIfAborted()
        fail(errorMessage(error))
      }
    },
    clear,
  }
}
