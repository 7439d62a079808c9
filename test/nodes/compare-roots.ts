// Computes every state of the chain with each engine, from its genesis: the roots must be those that the blocks state, and
// the signatures must hold.
import { systemClock } from '#runtime/clock.ts'
import { openChainProcess } from '#validators/chain/chain-process.ts'
import { isNativeInstalled } from '#validators/chain/native-library.ts'
import { getJson, mapFew } from './calls.ts'
import type { Comparison } from './compare.ts'
import type { ChainTruth } from './duty-truth.ts'

export async function compareRoots(
  comparison: Comparison,
  url: string,
  blocks: ChainTruth['blocks'],
  stateFile: string,
): Promise<void> {
  const get = async <T>(path: string) => (await getJson<{ readonly data: T }>(url, path)).data
  const { genesis_validators_root: genesisValidatorsRoot } = await get<{ genesis_validators_root: `0x${string}` }>(
    '/eth/v1/beacon/genesis',
  )
  const spec = await get<Readonly<Record<string, unknown>>>('/eth/v1/config/spec')
  const bytes = await mapFew(blocks.slice(1), async ({ slot }) => {
    const headers = { accept: 'application/octet-stream' }
    const reply = await fetch(`${url}/eth/v2/beacon/blocks/${slot}`, { headers, signal: AbortSignal.timeout(60_000) })
    return { slot, bytes: new Uint8Array(await reply.arrayBuffer()) }
  })
  for (const engine of ['typescript', ...(isNativeInstalled() ? (['native'] as const) : [])] as const) {
    await using process = openChainProcess({
      start: { spec, genesisValidatorsRoot, engine },
      clock: systemClock,
      restore: async (opened) => {
        await opened.call('loadState', { file: stateFile, stateRoot: undefined })
      },
    })
    for (const { slot, bytes: block } of bytes) {
      const reply = await process.call('processBlock', {
        bytes: block,
        root: undefined,
        newestSlot: slot,
        signatures: 'all',
      })
      comparison.compare(`state roots and signatures, ${engine}`, `slot ${slot}`, reply.is, 'accepted')
    }
  }
}
