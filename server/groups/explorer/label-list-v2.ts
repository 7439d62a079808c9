// Spec 4.1. The array, unless it is long or a file was asked for: then a link that expires (decision 0013).
import { contract } from '#api/contract.ts'
import { isUnchanged } from '#core/etag.ts'
import { answer, type Outcome, type Visit } from '#serve/answer.ts'
import { listedChain } from './chains.ts'
import type { ExplorerContext } from './context.ts'
import { labelLink } from './exports.ts'
import { finishedList, presentHead } from './lists.ts'
import { packingFor } from './lists-packed.ts'
import { shape } from './shape.ts'

export const labelListV2 = answer(
  contract['explorer.labelListV2'],
  shape,
  async ({ chainid, format }, context: ExplorerContext, visit) => {
    const head = await presentHead(context, chainid)
    if (!head || head.entries === 0) return { is: 'nothing' }
    if (format !== undefined || head.entries > context.settings.explorer.labels.inlineMax) {
      const result = await labelLink(context, visit, chainid, format ?? 'json')
      return { is: 'body', body: { status: '1', message: 'OK', result } }
    }
    return inline(context, visit, chainid)
  },
  listedChain,
)

/** The whole list in the envelope, packed as the caller accepts it. */
export async function inline(context: ExplorerContext, visit: Visit, chain: string): Promise<Outcome<never>> {
  const list = await finishedList(context, chain, 'json')
  if (!list?.envelope) return { is: 'nothing' }
  // Fields are renamed in the text, after this.
  const renamed = Object.keys(context.settings.aliases.responseFields).length > 0
  const packing = renamed ? 'identity' : packingFor(visit.headers['accept-encoding'])
  const { bytes, etag, headers } = await list.envelope.as(packing)
  // The caller may keep it, and asks each time whether it is still right.
  const kept = { etag, 'cache-control': 'private, no-cache' }
  if (isUnchanged(visit.headers, etag)) return { is: 'unchanged', headers: { vary: headers.vary, ...kept } }
  return { is: 'bytes', bytes, headers: { ...headers, ...kept } }
}
