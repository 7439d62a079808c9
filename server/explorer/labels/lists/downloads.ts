// The files behind the links of 4.1. Not an endpoint of the contract: whoever holds a good link may download, no key.

import { Fault } from '#core/fault.ts'
import type { ExplorerContext } from '#explorer/context.ts'
import { isUnchanged } from '#http/etag.ts'
import type { RequestInfo } from '#http/handler.ts'
import type { ApiResponse } from '#http/render.ts'
import type { ExtraRoute } from '#http/routes.ts'
import { chooseEncoding } from './compressed-bytes.ts'
import { getFinishedList } from './finished-lists.ts'
import { getLinkSecret } from './link-secret.ts'
import { createExportPath, type ExportForm, type LinkParameters, verifyLink } from './signed-link.ts'

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
const chunkBytes = 64 * 1024

/** A link to the chain's list in this form, good for `labels.linkSeconds` from now. */
export async function createLabelLink(
  context: ExplorerContext,
  request: RequestInfo,
  chain: string,
  form: ExportForm,
): Promise<string> {
  const expiresUnix = Math.floor(context.clock.now() / 1000) + context.settings.explorer.labels.linkSeconds
  return request.origin + createExportPath(await getLinkSecret(context), chain, form, expiresUnix)
}

/** The list as it is now, whenever the link was made. Throws `explorer.link` for a link that is not ours or is over. */
export async function readLabelExport(
  context: ExplorerContext,
  link: LinkParameters & { readonly ifNoneMatch?: string | undefined; readonly acceptEncoding?: string | undefined },
): Promise<Download> {
  const form = verifyLink(await getLinkSecret(context), link, context.clock.now())
  const { csvForSpreadsheets } = context.settings.explorer.labels
  const list = form && (await getFinishedList(context, link.chain, form, csvForSpreadsheets))
  if (!form || !list) throw new Fault('explorer.link')
  const {
    bytes,
    etag,
    headers: encodingHeaders,
  } = await list.file.encodedAs(hasRenamedFields(context, form) ? 'identity' : chooseEncoding(link.acceptEncoding))
  const headers = { etag, vary: encodingHeaders.vary, 'cache-control': 'private, no-cache' }
  if (isUnchanged({ 'if-none-match': link.ifNoneMatch }, etag)) return { status: 304, headers, bytes: empty }
  return {
    status: 200,
    headers: {
      ...encodingHeaders,
      ...headers,
      'content-type': contentTypes[form],
      'accept-ranges': 'none',
      'content-disposition': `attachment; filename="labelmasterlist_latest.${form}"`,
    },
    bytes,
  }
}

/** Where the links point. A parameter given twice is no signature. */
export const labelExportRoute = (context: ExplorerContext): ExtraRoute => ({
  path: '/exports/{chain}/labelmasterlist_latest.{format}',
  read: async ({ params, query, headers }) => {
    const once = (value: string | readonly string[] | undefined) => (typeof value === 'string' ? value : undefined)
    const {
      status,
      headers: sent,
      bytes,
    } = await readLabelExport(context, {
      chain: params.chain ?? '',
      format: params.format ?? '',
      expires: once(query.expires),
      signature: once(query.signature),
      ifNoneMatch: headers['if-none-match'],
      acceptEncoding: headers['accept-encoding'],
    })
    return hasRenamedFields(context, params.format)
      ? { status, headers: sent, body: bytes }
      : toChunkedResponse(status, sent, bytes)
  },
})

/** Fields are renamed in the whole text, after this. */
const hasRenamedFields = ({ settings }: ExplorerContext, form: string | undefined): boolean =>
  form === 'json' && Object.keys(settings.aliases.responseFields).length > 0

function toChunkedResponse(
  status: Download['status'],
  headers: Record<string, string>,
  bytes: Uint8Array,
): ApiResponse {
  if (status === 304) return { status, headers, body: '' }
  return {
    status,
    headers: { ...headers, 'content-length': String(bytes.length) },
    body: '',
    bodyParts: splitChunks(bytes),
  }
}

function* splitChunks(bytes: Uint8Array): Generator<Uint8Array> {
  for (let from = 0; from < bytes.length; from += chunkBytes) yield bytes.subarray(from, from + chunkBytes)
}
