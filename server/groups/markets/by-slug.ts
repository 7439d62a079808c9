// Spec 4.8. The answer was written when its records came in; here it is found and handed over. Only a question about the
// past (`asOf`, decision 0047) has to be put together.
import { contract } from '#api/contract.ts'
import { encodingFor } from '#core/accept-encoding.ts'
import { isUnchanged } from '#core/etag.ts'
import { invalid } from '#core/fault.ts'
import { readMoment } from '#core/moment.ts'
import { answer, type Outcome, type Visit } from '#serve/answer.ts'
import type { MarketsContext } from './context.ts'
import { type Coverage, nothingIn, readSoFar } from './coverage.ts'
import { withoutTags } from './documents.ts'
import { marketAsOf } from './past.ts'
import { readyMarket } from './ready.ts'
import { isRejected } from './rejects.ts'
import { shape } from './shape.ts'
import { logHead } from './versions.ts'

/** A past answer stays what it is; how long it is kept here is the operator's choice, so not for ever. */
const pastAgeSeconds = 3600

export const bySlug = answer(
  contract['markets.bySlug'],
  shape,
  async ({ slug, include_tag, asOf }, context: MarketsContext, visit) => {
    const read = await readSoFar(context)
    if (asOf !== undefined) return inThePast(context, visit, read, slug, include_tag, momentOf(asOf))
    const ready = await readyMarket(context, slug, include_tag, takesGzip(context, visit.headers['accept-encoding']))
    if (!ready) return nothingIn(context.state, read, slug)
    const { bytes, etag, modifiedMs } = ready
    const headers: Record<string, string> = { ...ready.headers, 'x-tetrad-coverage': read.coverage }
    // What the feed shows of a rejected market is not in the answer, so the answer keeps the time of its own last change.
    const isKept = ready.vanished || (await isRejected(context.state, ready.slug, read.incomplete))
    if (read.asOf !== undefined && !isKept) headers['x-tetrad-as-of'] = read.asOf
    if (isUnchanged(visit.headers, etag, modifiedMs)) return { is: 'unchanged', headers }
    return { is: 'bytes', bytes, headers }
  },
)

async function inThePast(
  context: MarketsContext,
  visit: Visit,
  read: Coverage,
  slug: string,
  tags: boolean,
  asOfMs: number,
): Promise<Outcome<never>> {
  const { atMs: settledMs } = await logHead(context.state)
  refuseFuture(asOfMs, context.clock.now(), settledMs)
  const past = await marketAsOf(context.state, slug, asOfMs)
  if (!past) return nothingIn(context.state, read, slug)
  const etag = tags || past.tagsAt < 0 ? past.etag : `${past.etag.slice(0, -1)}-t"`
  // A page that is being written is stamped with a time before its end: only what is older than the newest entry stays as it is.
  const maxAge = asOfMs < settledMs ? pastAgeSeconds : context.settings.markets.maxAgeSeconds
  const headers = { etag, 'cache-control': `public, max-age=${maxAge}` }
  if (isUnchanged(visit.headers, etag)) return { is: 'unchanged', headers }
  const bytes = tags ? past.body : withoutTags(past.body, past.tagsAt)
  return { is: 'bytes', bytes, headers, confidence: { asOf: new Date(asOfMs).toISOString() } }
}

/** What will be is not known yet. The log may be ahead of a clock that was set back. */
function refuseFuture(asOfMs: number, nowMs: number, newestMs: number): void {
  if (asOfMs <= Math.max(nowMs, newestMs)) return
  throw invalid(['query', 'asOf'], `must not be in the future; here it is ${new Date(nowMs).toISOString()}`)
}

/** A time without a zone is UTC. */
function momentOf(text: string): number {
  const ms = readMoment(text, { zone: 'utc' })
  if (ms === undefined) throw invalid(['query', 'asOf'], 'must be a valid date-time', text)
  return ms
}

/** Where fields are renamed on the way out, the bytes must stay text. */
function takesGzip(context: MarketsContext, header: string | undefined): boolean {
  for (const _ in context.settings.aliases.responseFields) return false
  return encodingFor(header, packings) !== undefined
}
const packings = ['gzip'] as const
