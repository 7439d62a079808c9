// The files behind the links of 4.1. Not an endpoint of the contract: whoever holds a good link may download, no key.
import { isUnchanged } from '#core/etag.ts'
import { Fault } from '#core/fault.ts'
import type { Visit } from '#serve/answer.ts'
import type { Departure } from '#serve/render.ts'
import type { Extra } from '#serve/ways.ts'
import type { ExplorerContext } from './context.ts'
import { type ExportForm, exportPath, honoured, type LinkClaim } from './link.ts'
import { finishedList } from './lists.ts'
import { packingFor } from './lists-packed.ts'
import { linkSecret } from './secret.ts'

export interface Download {
  readonly status: 200 | 304
  readonly headers: Record<string, string>
  readonly bytes: Uint8Array
}

const contentTypes: Record<ExportForm, string> = {
  csv: 'text/csv; charset=utf-8; header=present',
  json: 'application/json; charset=utf-8',
}
const empty = new Uint8Array(0)
const pieceBytes = 64 * 1024

/** A link to the chain's list in this form, good for `labels.linkSeconds` from now. */
export async function labelLink(
  context: ExplorerContext,
  visit: Visit,
  chain: string,
  form: ExportForm,
): Promise<string> {
  const expiresUnix = Math.floor(context.clock.now() / 1000) + context.settings.explorer.labels.linkSeconds
  return visit.origin + exportPath(await linkSecret(context), chain, form, expiresUnix)
}

/** The list as it is now, whenever the link was made. Throws `explorer.link` for a link that is not ours or is over. */
export async function labelExport(
  context: ExplorerContext,
  claim: LinkClaim & { readonly ifNoneMatch?: string | undefined; readonly acceptEncoding?: string | undefined },
): Promise<Download> {
  const form = honoured(await linkSecret(context), claim, context.clock.now())
  const { csvForSpreadsheets } = context.settings.explorer.labels
  const list = form && (await finishedList(context, claim.chain, form, csvForSpreadsheets))
  if (!form || !list) throw new Fault('explorer.link')
  const {
    bytes,
    etag,
    headers: packed,
  } = await list.file.as(isRenamed(context, form) ? 'identity' : packingFor(claim.acceptEncoding))
  const headers = { etag, vary: packed.vary, 'cache-control': 'private, no-cache' }
  if (isUnchanged({ 'if-none-match': claim.ifNoneMatch }, etag)) return { status: 304, headers, bytes: empty }
  return {
    status: 200,
    headers: {
      ...packed,
      ...headers,
      'content-type': contentTypes[form],
      'accept-ranges': 'none',
      'content-disposition': `attachment; filename="labelmasterlist_latest.${form}"`,
    },
    bytes,
  }
}

/** Where the links point. A parameter given twice is no signature. */
export const labelExportPath = (context: ExplorerContext): Extra => ({
  path: '/exports/{chain}/labelmasterlist_latest.{format}',
  reply: async ({ params, query, headers }) => {
    const once = (value: string | readonly string[] | undefined) => (typeof value === 'string' ? value : undefined)
    const {
      status,
      headers: sent,
      bytes,
    } = await labelExport(context, {
      chain: params.chain ?? '',
      format: params.format ?? '',
      expires: once(query.expires),
      signature: once(query.signature),
      ifNoneMatch: headers['if-none-match'],
      acceptEncoding: headers['accept-encoding'],
    })
    return isRenamed(context, params.format) ? { status, headers: sent, body: bytes } : inPieces(status, sent, bytes)
  },
})

/** Fields are renamed in the whole text, after this. */
const isRenamed = ({ settings }: ExplorerContext, form: string | undefined): boolean =>
  form === 'json' && Object.keys(settings.aliases.responseFields).length > 0

function inPieces(status: Download['status'], headers: Record<string, string>, bytes: Uint8Array): Departure {
  if (status === 304) return { status, headers, body: '' }
  return { status, headers: { ...headers, 'content-length': String(bytes.length) }, body: '', pieces: slices(bytes) }
}

function* slices(bytes: Uint8Array): Generator<Uint8Array> {
  for (let from = 0; from < bytes.length; from += pieceBytes) yield bytes.subarray(from, from + pieceBytes)
}
