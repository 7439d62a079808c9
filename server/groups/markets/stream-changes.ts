// Beyond the specification (decision 0049): changes as server-sent events, as they are committed by whichever process.
//
// 1. A caller sees every change after its cursor once, in order; the id of an event is the cursor to go on from.
// 2. The first event and every sign of life carry the cursor reached, so that whoever is cut off before a change was told
//    goes on there too. It is an event with data, because not every browser keeps the id of one without (decision 0194).
// 3. At most `markets.streamsMax` streams at a time and `markets.streamsPerCaller` of one caller, each with at most one batch
//    in memory. A slot is taken when sending begins and given back when it ends, however it ends. Of those that catch up,
//    one reads in each turn of the event loop.
import { extensions } from '#api/extensions.ts'
import { stringifyJson } from '#api/json.ts'
import { answer, type Caller } from '#serve/answer.ts'
import { anonymousId } from '#store/keys.ts'
import { inLine } from './breath.ts'
import { changesAfter, type Filter, marketIdsOf, startOf } from './changes.ts'
import type { MarketsContext } from './context.ts'
import { shape } from './shape.ts'
import { slotRetryMs } from './stream-slots.ts'
import { logHead } from './versions.ts'

const batchMax = 100
/** How soon a commit is noticed. */
const lookEveryMs = 250
/** A sign of life, so that proxies keep the line and the other side notices when it breaks. */
const heartbeatMs = 15_000
const retryMs = 2000

/** A key, or where somebody without one comes from. */
const nameOf = ({ keyId, network }: Caller): string => (keyId === anonymousId ? `from ${network}` : `key ${keyId}`)

export const changeStream = answer(
  extensions['markets.changeStream'],
  shape,
  async (input, context: MarketsContext, visit) => {
    const { state, settings } = context
    const slots = context.markets.streamSlots
    const caller = nameOf(visit.caller)
    const full = slots.refusal(caller, settings.markets)
    if (full) throw full
    const cursor = input.lastEventId ?? input.after
    const after = cursor === undefined ? (await logHead(state)).seq : await startOf(state, cursor)
    const filter: Filter = { kinds: input.kinds, marketIds: input.slugs && (await marketIdsOf(state, input.slugs)) }
    return {
      is: 'stream',
      type: 'text/event-stream; charset=utf-8',
      async *chunks(signal) {
        // Others may have begun in the meantime.
        if (slots.refusal(caller, settings.markets)) return yield `retry: ${slotRetryMs}\n\n`
        slots.take(caller)
        try {
          yield* events(context, after, filter, signal)
        } finally {
          slots.release(caller)
        }
      },
    }
  },
)

const cursorEvent = (after: number): string => `event: cursor\nid: ${after}\ndata: {"cursor":"${after}"}\n\n`

async function* events(
  context: MarketsContext,
  start: number,
  filter: Filter,
  signal: AbortSignal,
): AsyncGenerator<string> {
  const { state, clock } = context
  yield `retry: ${retryMs}\n\n${cursorEvent(start)}`
  let after = start
  let version = Number.NaN
  let saidMs = clock.monotonicMs()
  while (!signal.aborted) {
    const now = state.version()
    const page = now === version ? undefined : await changesAfter(state, after, batchMax, filter)
    if (page) {
      after = page.next
      // While there is more, the store need not move for the next look.
      version = page.more ? Number.NaN : now
      if (page.changes.length > 0) {
        saidMs = clock.monotonicMs()
        yield page.changes.map((one) => `event: change\nid: ${one.cursor}\ndata: ${stringifyJson(one)}\n\n`).join('')
      }
    }
    if (clock.monotonicMs() - saidMs >= heartbeatMs) {
      saidMs = clock.monotonicMs()
      yield `: still here\n${cursorEvent(after)}`
    }
    await (page?.more ? inLine() : clock.sleep(lookEveryMs, signal))
  }
}
