// Beyond the specification (behaviour/http.md#endpoints-beyond-the-specification): changes as server-sent events, as they are committed by whichever process.
//
// 1. A caller sees every change after its cursor once, in order; the id of an event is the cursor to go on from.
// 2. The first event and every sign of life carry the cursor reached, so that whoever is cut off before a change was told
//    goes on there too. It is an event with data, because not every browser keeps the id of one without (behaviour/markets.md#change-stream).
// 3. At most `markets.streamsMax` streams at a time and `markets.streamsPerCaller` of one caller, each with at most one batch
//    in memory. A slot is taken when sending begins and given back when it ends, however it ends. Of those that catch up,
//    one reads in each turn of the event loop.
import { extensions } from '#api/extensions.ts'
import { stringifyJson } from '#api/json.ts'
import { type Caller, createHandler } from '#http/handler.ts'
import { anonymousId } from '#storage/keys.ts'
import type { MarketsContext } from '../context.ts'
import { marketsErrorFormat } from '../error-format.ts'
import { yieldInOrder } from '../event-loop-yielder.ts'
import { type ChangeFilter, findMarketIds, listChangesAfter, resolveCursor } from '../history/changes.ts'
import { readLogHead } from '../history/versions.ts'
import { slotRetryMs } from './stream-slots.ts'

const batchMax = 100
/** How soon a commit is noticed. */
const pollEveryMs = 250
/** A sign of life, so that proxies keep the line and the other side notices when it breaks. */
const heartbeatMs = 15_000
const retryMs = 2000

/** A key, or where somebody without one comes from. */
const callerName = ({ keyId, network }: Caller): string => (keyId === anonymousId ? `from ${network}` : `key ${keyId}`)

export const changeStream = createHandler(
  extensions['markets.changeStream'],
  marketsErrorFormat,
  async (input, context: MarketsContext, request) => {
    const { state, settings } = context
    const slots = context.markets.streamSlots
    const caller = callerName(request.caller)
    const full = slots.refusal(caller, settings.markets)
    if (full) throw full
    const cursor = input.lastEventId ?? input.after
    const after = cursor === undefined ? (await readLogHead(state)).seq : await resolveCursor(state, cursor)
    const filter: ChangeFilter = {
      kinds: input.kinds,
      marketIds: input.slugs && (await findMarketIds(state, input.slugs)),
    }
    return {
      is: 'stream',
      type: 'text/event-stream; charset=utf-8',
      async *chunks(signal) {
        // Others may have begun in the meantime.
        if (slots.refusal(caller, settings.markets)) return yield `retry: ${slotRetryMs}\n\n`
        slots.take(caller)
        try {
          yield* streamEvents(context, after, filter, signal)
        } finally {
          slots.release(caller)
        }
      },
    }
  },
)

const cursorEvent = (after: number): string => `event: cursor\nid: ${after}\ndata: {"cursor":"${after}"}\n\n`

async function* streamEvents(
  context: MarketsContext,
  start: number,
  filter: ChangeFilter,
  signal: AbortSignal,
): AsyncGenerator<string> {
  const { state, clock } = context
  yield `retry: ${retryMs}\n\n${cursorEvent(start)}`
  let after = start
  let version = Number.NaN
  let lastSentMs = clock.monotonicMs()
  while (!signal.aborted) {
    const now = state.version()
    const page = now === version ? undefined : await listChangesAfter(state, after, batchMax, filter)
    if (page) {
      after = page.next
      // While there is more, the store need not move for the next look.
      version = page.more ? Number.NaN : now
      if (page.changes.length > 0) {
        lastSentMs = clock.monotonicMs()
        yield page.changes.map((one) => `event: change\nid: ${one.cursor}\ndata: ${stringifyJson(one)}\n\n`).join('')
      }
    }
    if (clock.monotonicMs() - lastSentMs >= heartbeatMs) {
      lastSentMs = clock.monotonicMs()
      yield `: still here\n${cursorEvent(after)}`
    }
    await (page?.more ? yieldInOrder() : clock.sleep(pollEveryMs, signal))
  }
}
