// Beyond the specification (decision 0049): changes as server-sent events, as they are committed by whichever process.
//
// 1. A caller sees every change after its cursor once, in order; the id of an event is the cursor to go on from.
// 2. At most `markets.streamsMax` callers at a time, each with at most one batch in memory. Of those that catch up, one reads in each
//    turn of the event loop.
import { extensions } from '#api/extensions.ts'
import { stringifyJson } from '#api/json.ts'
import { Fault } from '#core/fault.ts'
import { answer, type Desk } from '#serve/answer.ts'
import type { State } from '#store/state.ts'
import { inLine } from './breath.ts'
import { changesAfter, type Filter, marketIdsOf, startOf } from './changes.ts'
import { shape } from './shape.ts'
import { logHead } from './versions.ts'

const batchMax = 100
/** How soon a commit is noticed. */
const lookEveryMs = 250
/** A sign of life, so that proxies keep the line and the other side notices when it breaks. */
const heartbeatMs = 15_000
const retryMs = 2000

const open = new WeakMap<State, { count: number }>()

export const changeStream = answer(extensions['markets.changeStream'], shape, async (input, desk) => {
  const { state, settings } = desk
  const streams = open.get(state) ?? { count: 0 }
  open.set(state, streams)
  const isFull = () => streams.count >= settings.markets.streamsMax
  if (isFull()) throw new Fault('markets.streams_full', { retryAfterMs: 10_000 })
  const cursor = input.lastEventId ?? input.after
  const after = cursor === undefined ? (await logHead(state)).seq : await startOf(state, cursor)
  const filter: Filter = { kinds: input.kinds, marketIds: input.slugs && (await marketIdsOf(state, input.slugs)) }
  return {
    is: 'stream',
    type: 'text/event-stream; charset=utf-8',
    async *chunks(signal) {
      if (isFull()) return
      streams.count += 1
      try {
        yield* events(desk, after, filter, signal)
      } finally {
        streams.count -= 1
      }
    },
  }
})

async function* events(desk: Desk, start: number, filter: Filter, signal: AbortSignal): AsyncGenerator<string> {
  const { state, clock } = desk
  yield `retry: ${retryMs}\n\n`
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
      yield ': still here\n\n'
    }
    await (page?.more ? inLine() : clock.sleep(lookEveryMs, signal))
  }
}
