// Spec 4.1: the label list, version 2. A long list or a requested file is a link that expires
// (behaviour/explorer.md#label-lists).
import { contract } from '#api/contract/contract.ts'
import { changesResponses } from '#http/aliases.ts'
import { chooseEncoding } from '#http/compressed-bytes.ts'
import { isUnchanged } from '#http/etag.ts'
import { createHandler, type HandlerResult, type RequestInfo } from '#http/handler.ts'
import { requireChainWithOpenList } from '../chains.ts'
import { wrapResult } from '../envelope.ts'
import { createLabelLink } from '../labels/lists/downloads.ts'
import { getFinishedList, getListHead } from '../labels/lists/finished-lists.ts'
import type { LinkContext } from '../labels/lists/link-secret.ts'

export const labelListV2 = createHandler(
  contract['explorer.labelListV2'],
  async ({ chainid, format }, context: LinkContext, request) => {
    const head = await getListHead(context, chainid)
    if (!head || head.entries === 0) return { is: 'nothing' }
    if (format !== undefined || head.entries > context.settings.explorer.labels.inlineMax) {
      const result = await createLabelLink(context, request, chainid, format ?? 'json')
      return wrapResult(result)
    }
    return inlineList(context, request, chainid)
  },
  requireChainWithOpenList,
)

/** The whole list in the envelope of group A, compressed as the caller accepts it. */
export async function inlineList(
  context: LinkContext,
  request: RequestInfo,
  chain: string,
): Promise<HandlerResult<never>> {
  const list = await getFinishedList(context, chain, 'json')
  if (!list?.envelope) return { is: 'nothing' }
  // To rename or hide fields, the plain text is needed.
  const hasChangedFields = changesResponses(context.settings.aliases)
  const encoding = hasChangedFields ? 'identity' : chooseEncoding(request.headers['accept-encoding'])
  const { bytes, etag, headers } = await list.envelope.encodedAs(encoding)
  // The caller may cache the list, but must revalidate it each time.
  const cacheHeaders = { etag, 'cache-control': 'private, no-cache' }
  if (isUnchanged(request.headers, etag)) return { is: 'unchanged', headers: { vary: headers.vary, ...cacheHeaders } }
  return { is: 'bytes', bytes, headers: { ...headers, ...cacheHeaders }, isBodyShared: true }
}
