// Extension: streams changes as server-sent events (behaviour/markets.md#change-stream). Changes committed by any process
// are sent.
//
// 1. A caller gets every change after its cursor once, in order. The id of an event is the cursor to continue from.
// 2. The first event and every heartbeat contain the current cursor, so that a caller can continue even if it was
//    disconnected before any change. They have data, because some browsers ignore the id of an event without data.
// 3. At most `markets.streamsMax` streams run at a time, and `markets.streamsPerCaller` per caller, each with at most one
//    batch in memory. A slot is taken when sending starts and released when it ends. Streams that catch up take turns:
//    one of them reads in each turn of the event loop.
import { extensions } from '#api/contract/extensions.ts'
import { createHandler } from '#http/handler.ts'
import { yieldInOrder } from '#runtime/event-loop-yielder.ts'
import type { MarketsContext } from '../../context.ts'
import { readHistoryHead } from '../../read/versions.ts'
import type { VersionFilter } from '../../read/versions-after.ts'
import { callerName, runOnThread } from '../../threads/thread-query.ts'
import { changesBatchQuery } from './change-queries.ts'
import { findMarketIds, resolveCursor } from './changes.ts'
import type { ChangesContext } from './context.ts'
import { slotRetryMs } from './stream-slots.ts'

/** Changes of one batch. */
const limit = 100
const pollEveryMs = 250
/** Heartbeats keep proxies from closing the connection and let the caller detect a broken one. */
const heartbeatMs = 15_000
const retryMs = 2000

export const changeStream = createHandler(
  extensions['markets.changeStream'],
  async (input, context: ChangesContext, request) => {
    const { ingest, settings } = context
    const slots = context.changeStreams
    const caller = callerName(request.caller)
    const full = slots.refusal(caller, settings.markets)
    if (full) throw full
    const cursor = input.lastEventId ?? input.after
    const after = cursor === undefined ? (await readHistoryHead(ingest)).seq : await resolveCursor(ingest, cursor)
    const filter: VersionFilter = {
      kinds: input.kinds,
      marketIds: input.slugs && (await findMarketIds(ingest, input.slugs)),
    }
    return {
      is: 'stream',
      type: 'text/event-stream; charset=utf-8',
      async *chunks(signal, streamContext: ChangesContext) {
        // Other streams may have started in the meantime.
        if (slots.refusal(caller, settings.markets)) return yield `retry: ${slotRetryMs}\n\n`
        slots.take(caller)
        try {
          yield* streamEvents(streamContext, after, filter, signal)
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
  filter: VersionFilter,
  signal: AbortSignal,
): AsyncGenerator<string> {
  const { ingest, clock } = context
  yield `retry: ${retryMs}\n\n${cursorEvent(start)}`
  let after = start
  let version = Number.NaN
  let lastSentMs = clock.monotonicMs()
  while (!signal.aborted) {
    const now = ingest.version('markets')
    const page = now === version ? undefined : await runOnThread(context, changesBatchQuery, { after, limit, filter })
    if (page) {
      after = page.next
      // If there is more, read again even if the store has not changed.
      version = page.more ? Number.NaN : now
      if (page.text !== '') {
        lastSentMs = clock.monotonicMs()
        yield page.text
      }
    }
    if (clock.monotonicMs() - lastSentMs >= heartbeatMs) {
      lastSentMs = clock.monotonicMs()
      yield `: heartbeat\n${cursorEvent(after)}`
    }
    await (page?.more ? yieldInOrder() : clock.sleep(pollEveryMs, signal))
  }
}
